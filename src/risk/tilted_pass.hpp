// One pass over all pairs of days and scenarios for a multiplier lambda:
//   P_ij = a_i w_ij / sum_j w_ij,   w_ij = exp((l_j - lambda e_ij) / epsilon),   e_ij = c_ij - min_j c_ij.
// Subtracting each day's least cost changes no P, and keeps the digits of small radii.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "core/stopwatch.hpp"
#include "risk/active_pairs.hpp"
#include "risk/days.hpp"
#include "risk/losses.hpp"

namespace fedsinkhorn {

/// Which plan: that at lambda, or a mixture of it with that at another multiplier.
struct Tilt {
  double lambda = 0;
  double other = 0;
  double share = 0;  ///< of the plan at `other`

  [[nodiscard]] bool operator==(const Tilt&) const = default;
};

/// Sums over the days of all clients. Of a mixture, `hard` and `soft` are those at lambda.
struct TiltedTotals {
  double lambda = 0;
  double excess = 0;      ///< sum_ij P_ij e_ij
  double variance = 0;    ///< sum_i a_i Var_i(e): the slope of `excess` in lambda is -variance / epsilon
  double covariance = 0;  ///< sum_i a_i Cov_i(l, e): that of `loss` is -covariance / epsilon
  double loss = 0;        ///< sum_ij P_ij l_j
  double hard = 0;        ///< sum_i a_i max_j (l_j - lambda e_ij)
  double soft = 0;        ///< sum_i a_i epsilon log sum_j exp((l_j - lambda e_ij) / epsilon)
};

/// P, as one client knows it.
struct TiltedPlan {
  std::vector<double> columns;  ///< sum_i P_ij over the days of all clients
  double stays = 0;             ///< mass of all clients' days that stays where it is
  double stays_above = 0;       ///< of it, on days with a loss above the threshold
  double stays_at = 0;          ///< and at the threshold
  std::vector<DayMove> moves;   ///< own days
};

class TiltedPass {
 public:
  /// All must outlive it. on_pass is called after every pass.
  TiltedPass(const Days& days, double epsilon, const Collectives& clients, const RiskComputing& computing,
             std::function<void(const TiltedTotals&)> on_pass = {});

  [[nodiscard]] const Days& days() const { return days_; }
  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] const Collectives& clients() const { return clients_; }

  /// The excess that passes look for. From now on they leave out pairs that change it by less than rounding does.
  void look_for(double budget) { budget_ = budget; }
  /// Exchanges seven sums. Bits do not depend on how days are dealt to clients, except by secure sums. Collective.
  /// Throws Interrupted on all clients if one is to stop.
  [[nodiscard]] TiltedTotals totals(const Tilt& tilt, const Losses& losses);
  /// From now on, passes also form the plan (which takes a little longer), or no longer do.
  void form_plans(bool forms) { forms_plans_ = forms; }
  /// The plan of the last pass, which must have formed one. Exchanges the m column sums. Collective.
  [[nodiscard]] TiltedPlan last_plan(double threshold) const;
  [[nodiscard]] const Tilt& last_tilt() const { return last_tilt_; }

  [[nodiscard]] std::int64_t passes() const { return passes_; }
  [[nodiscard]] double compute_seconds() const { return compute_seconds_; }

 private:
  /// Of one day.
  struct DaySums {
    double maximum = 0;  // max_j (l_j - lambda e_ij)
    double weight = 0;   // sum_j w_ij, relative to the maximum
    double excess = 0;   // means over P_i., likewise the next ones
    double variance = 0;
    double covariance = 0;
    double loss = 0;
    double stays = 0;  // share
    // Of plans:
    double given_loss = 0;  // the mean of Days::scenario_losses
    std::size_t likeliest = 0;
    double share = 0;  // of the likeliest
  };

  /// The weights of one day, relative to the largest.
  struct DayWeights {
    double maximum = 0;
    double stays = 0;
    cpu::TiltedSums scenarios;
    [[nodiscard]] double sum() const { return scenarios.weight + stays; }
  };

  void compute(const Tilt& tilt, const Losses& losses);
  [[nodiscard]] DayWeights weigh(std::size_t i, const DayRow& row, double lambda, const Losses& losses,
                                 double* w) const;
  /// w: room for the weights of two plans.
  void compute_day(std::size_t i, const DayRow& row, const Tilt& tilt, const Losses& losses, std::span<double> w,
                   std::vector<double>* column_part);

  const Days& days_;
  double epsilon_;
  const Collectives& clients_;
  const RiskComputing& computing_;
  std::function<void(const TiltedTotals&)> on_pass_;
  std::int64_t passes_ = 0;
  double compute_seconds_ = 0;
  bool forms_plans_ = false;
  double budget_ = 0;
  ActivePairs active_;
  // Of the last pass:
  Tilt last_tilt_;
  std::vector<DaySums> sums_;
  std::vector<double> columns_;  // sums over own days
};

}  // namespace fedsinkhorn
