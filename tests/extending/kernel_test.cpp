// A kernel in one file: K as a plain matrix, an entry at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_block.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

class PlainKernel final : public Kernel {
 public:
  PlainKernel(double epsilon, const CostSource& cost)
      : cost_(cost), epsilon_(epsilon), k_(cost.rows() * cost.columns()) {
    ++made;
  }
  static inline std::atomic<int> made{0};  // by several clients at once

  [[nodiscard]] std::size_t rows() const override { return cost_.rows(); }
  [[nodiscard]] std::size_t columns() const override { return cost_.columns(); }
  void set_epsilon(double epsilon) override { epsilon_ = epsilon; }
  // K_ij = exp((phi_i + psi_j - C_ij) / epsilon)
  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    RowReader row(cost_);
    for (std::size_t i = 0; i < rows(); ++i) {
      const double* costs = row(i);
      for (std::size_t j = 0; j < columns(); ++j) {
        k_[i * columns() + j] = std::exp((phi[i] + psi[j] - costs[j]) / epsilon_);
      }
    }
  }
  void apply(std::size_t targets, const double* v, double* q) override {
    std::fill_n(q, targets * rows(), 0.0);
    for_each(targets, [&](std::size_t i, std::size_t j, double k) { q[i] += k * v[j]; });
  }
  void apply_transposed(std::size_t targets, const double* u, double* r) override {
    std::fill_n(r, targets * columns(), 0.0);
    for_each(targets, [&](std::size_t i, std::size_t j, double k) { r[j] += k * u[i]; });
  }

 private:
  template <class Body>
  void for_each(std::size_t targets, const Body& body) const {
    for (std::size_t t = 0; t < targets; ++t) {
      for (std::size_t at = 0; at < k_.size(); ++at) {
        body(t * rows() + at / columns(), t * columns() + at % columns(), k_[at]);
      }
    }
  }

  const CostSource& cost_;
  double epsilon_;
  std::vector<double> k_;
};

std::unique_ptr<Kernel> make_plain_kernel(const KernelSpec& spec, const CostBlock& /*block*/, const CostSource& cost,
                                          const cpu::Simd& /*simd*/) {
  return std::make_unique<PlainKernel>(spec.epsilon, cost);
}

TEST(AToyKernel, GivesWhatTheStoredOneGives) {
  kernels().add({.name = "plain",
                 .backends = {{.backend = "cpu",
                               .make = make_cpu_block<make_plain_kernel>,
                               .bytes =
                                   [](const KernelSpec&, const BlockShape& shape) {
                                     return static_cast<double>(shape.rows * shape.columns * sizeof(double));
                                   },
                               .precisions = {Precision::float64}}}});
  for (const std::size_t targets : {1, 2}) {
    const testing::OwnedProblem owned = testing::random_problem(23, 17, 0.05, 6, targets);
    for (const TopologyEntry& topology : topologies()) {
      if (topology.is_asynchronous) continue;
      for (const Passes passes : {Passes::fused, Passes::two}) {
        SCOPED_TRACE(topology.name);
        Options options;
        options.topology = topology.name;
        options.clients = topology.several_clients ? 4 : 1;
        options.passes = passes;
        const Result stored = solve(owned.view(), options);
        options.kernel = "plain";
        const int before = PlainKernel::made;
        const Result plain = solve(owned.view(), options);
        EXPECT_GT(PlainKernel::made, before);
        EXPECT_EQ(plain.status, Status::converged);
        for (std::size_t j = 0; j < plain.g.size(); ++j) EXPECT_NEAR(plain.g[j], stored.g[j], 1e-7);
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
