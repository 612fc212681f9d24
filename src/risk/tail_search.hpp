// The conditional value at risk at level alpha as a search for a threshold t (Rockafellar and Uryasev, 2000):
//   CVaR(P) = min_t  t + E_P[max(L - t, 0)] / (1 - alpha),
// so the worst CVaR is the least, over t, of the worst expected loss l_t = t + max(L - t, 0) / (1 - alpha).
// It is convex in t; t is right where P(L > t) <= 1 - alpha <= P(L >= t): the value at risk.
#pragma once

#include <optional>
#include <vector>

#include "risk/multiplier_search.hpp"

namespace fedsinkhorn {

[[nodiscard]] Losses losses_above(const Days& days, double threshold, double level);

struct Tail {
  double threshold = 0;
  Multiplier multiplier;
};

class TailSearch {
 public:
  /// Both must outlive it.
  TailSearch(TiltedPass& pass, MultiplierSearch& multipliers, double level);

  /// guess: a threshold to start from. Collective.
  [[nodiscard]] Tail find(const MultiplierGoal& goal, std::optional<double> guess, std::optional<double> lambda);

 private:
  struct Trial;
  Trial at(double threshold, const MultiplierGoal& goal);
  /// Too much mass lies above `low`, not too much above high.threshold: the least threshold of that kind.
  [[nodiscard]] Trial between(double low, Trial high, const MultiplierGoal& goal);
  [[nodiscard]] bool is_too_much(double above) const;
  /// At least the largest |loss| of any client's days.
  [[nodiscard]] double reach_of_days() const;

  TiltedPass& pass_;
  MultiplierSearch& multipliers_;
  double level_;
  std::vector<double> losses_;    // distinct losses of scenarios, ascending
  std::optional<double> lambda_;  // of the last trial
  bool are_all_found_ = true;     // the multipliers of all trials
};

/// The value at risk and the CVaR of the days as they are. Collective: sums of masses above thresholds are exchanged.
struct ObservedTail {
  double value_at_risk = 0;
  double cvar = 0;
};
[[nodiscard]] ObservedTail observed_tail(const Days& days, const Collectives& clients, double level);

}  // namespace fedsinkhorn
