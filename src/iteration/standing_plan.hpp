// The current plan of one target, for methods that ask about it.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "method/acceleration.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// P_ij = u_i K_ij v_j, where u and v are this client's slices.
class StandingPlan final : public PlanAccess {
 public:
  StandingPlan(Topology& topology, std::span<const double> u, std::span<const double> v)
      : topology_(topology), u_(u), v_(v) {}

  void rows(std::span<const double> y, std::span<double> products) override {
    topology_.row_products(1, times(v_, y).data(), products.data());  // K (v y)
    std::ranges::transform(u_, products, products.begin(), std::multiplies<>());
  }
  void columns(std::span<const double> x, std::span<double> products) override {
    topology_.column_products(1, times(u_, x).data(), products.data());  // K' (u x)
    std::ranges::transform(v_, products, products.begin(), std::multiplies<>());
  }
  void add_up(std::span<double> values) override { topology_.clients().of(Payload::sum).allreduce(values); }

 private:
  [[nodiscard]] static std::vector<double> times(std::span<const double> x, std::span<const double> y) {
    std::vector<double> result(x.size());
    std::ranges::transform(x, y, result.begin(), std::multiplies<>());
    return result;
  }

  Topology& topology_;
  std::span<const double> u_, v_;
};

}  // namespace fedsinkhorn
