// Pairs of days and scenarios that matter. For small epsilon nearly all weights w_ij are 0 to every digit, and stay so
// while lambda changes little: later passes leave them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "risk/days.hpp"
#include "risk/losses.hpp"

namespace fedsinkhorn {

/// A day's scenarios, or some of them.
struct DayRow {
  const double* costs = nullptr;
  const double* losses = nullptr;
  const std::uint32_t* scenarios = nullptr;  ///< numbers of these columns; null: all, in order
  std::size_t count = 0;

  [[nodiscard]] std::size_t scenario(std::size_t k) const { return scenarios == nullptr ? k : scenarios[k]; }
};

/// A list per day: the scenarios that matter while lambda is in some interval. Days with too many have none. All this
/// depends on the day and on what passes were asked for, not on how days are dealt to clients.
class ActivePairs {
 public:
  ActivePairs(const Days& days, const RiskComputing& computing, double epsilon);

  /// To be called before a pass. Lists made for other losses, or for a much larger budget, are dropped. What is left
  /// out changes the excess, as a share of the budget, by less than rounding does. Without a budget there are no lists.
  void prepare(const Losses& losses, double budget);

  /// The list of an own day, if it has one that is good for lambda. Valid until that day's next make().
  [[nodiscard]] std::optional<DayRow> row(std::size_t day, double lambda) const;

  /// Makes the list of an own day for lambdas near this one. maximum: max_j (l_j - lambda e_ij), the day's own place
  /// included if it may stay. room: for m numbers. Different days may be made at the same time.
  void make(std::size_t day, const double* costs, double lambda, double maximum, std::span<std::uint32_t> room);

 private:
  struct List {
    double lowest = 1;  // good for lambda in [lowest, highest]
    double highest = 0;
    double hopeless = 0;  // too many scenarios matter near this lambda; 0: none is known
    std::vector<double> costs;
    std::vector<double> losses;
    std::vector<std::uint32_t> scenarios;
  };

  const Days& days_;
  const RiskComputing& computing_;
  double epsilon_;
  std::size_t most_per_day_;
  double budget_ = 0;
  Losses losses_;
  double largest_loss_ = 0;  // of scenarios, its size
  std::vector<List> lists_;  // of own days; empty: none are made
};

}  // namespace fedsinkhorn
