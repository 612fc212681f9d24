// The days that one client holds, checked: their masses, their losses, and what it costs to move them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "core/range.hpp"
#include "core/stop_request.hpp"
#include "cost/cost_source.hpp"
#include "fedsinkhorn/risk.hpp"
#include "risk/whitening.hpp"

namespace fedsinkhorn {

/// How to compute on this client.
struct RiskComputing {
  const cpu::Simd& simd;
  int threads;
  const StopRequest& stop;
};

/// Days without mass have been dropped. What is not marked as own is the same on all clients.
struct Days {
  std::size_t all = 0;                  ///< given, on all clients
  std::vector<Range> slices;            ///< of each client, as given
  std::vector<std::size_t> numbers;     ///< own: of each day with mass, among all
  std::vector<double> a;                ///< own: masses; those of all clients have total 1
  std::vector<double> losses;           ///< own; empty if they are not known
  std::vector<double> scenario_losses;  ///< m
  std::unique_ptr<CostSource> costs;    ///< own days x scenarios; null without own days
  std::vector<double> least;            ///< own: the least cost of each day; 0 if it may stay where it is
  std::vector<double> nearest_loss;     ///< own: the largest loss at this cost
  double least_radius = 0;              ///< sum_i a_i least_i
  double most_gain = 0;                 ///< sum_i a_i (largest loss of all scenarios - nearest_loss_i)
  bool may_stay = false;
  WhitePoints white;  ///< what costs refers to, for mahalanobis

  [[nodiscard]] std::size_t scenarios() const { return scenario_losses.size(); }
  [[nodiscard]] std::size_t own() const { return a.size(); }
};

/// Checks everything that is given, here and between clients. Collective; throws the same InputError on all clients.
[[nodiscard]] Days check_days(const RiskProblem& problem, std::span<const double> radii, const Collectives& clients,
                              const RiskComputing& computing);

/// Reads the costs of up to cpu::kRowBlock days at a time. For one thread.
class DayCosts {
 public:
  explicit DayCosts(const CostSource& costs);
  /// The costs of these days, one pointer each. Valid until the next call.
  [[nodiscard]] const double* const* at(std::size_t day, std::size_t count);

 private:
  const CostSource& costs_;
  std::size_t stride_;
  Buffer<double> copies_;
  std::vector<const double*> rows_;
};

}  // namespace fedsinkhorn
