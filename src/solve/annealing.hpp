// Epsilon on its way down: problems with a large epsilon are easy, and the solution of one is a good start for the
// next.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fedsinkhorn {

/// The levels, and when to leave one. Everything follows from numbers that all clients share.
class Annealing {
 public:
  /// Ends at `last` at once.
  explicit Annealing(double last) : last_(last), epsilon_(last) {}
  /// From a tenth of the costs down to `last`. budget: rounds that may be spent before it is reached.
  Annealing(double last, double largest_cost, double mass, std::int64_t budget)
      : last_(last), epsilon_(last), mass_(mass), budget_(budget) {
    const double first = kFirst * largest_cost;
    if (last < first / 2 && budget > 0) epsilon_ = first;
  }

  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] bool is_last() const { return epsilon_ == last_; }
  /// iteration: made so far. gain: KL(b || columns), of the worst target.
  [[nodiscard]] bool is_done(std::int64_t iteration, double gain) const {
    return gain <= kGoodEnough * mass_ || iteration >= budget_;
  }

  /// Goes on from another level.
  void resume(double epsilon, std::int64_t iteration) {
    epsilon_ = epsilon;
    entered_ = iteration;
    jump_ = 1;
  }
  /// On to the next level, the iteration being the last at this one. Levels that take hardly any rounds are followed by
  /// twice as large a jump each.
  void descend(std::int64_t iteration) {
    jump_ = iteration - entered_ <= kEasy ? 2 * jump_ : 1;
    entered_ = iteration;
    const double factor = last_ / epsilon_;
    const double steps = std::max(1.0, std::ceil(std::log(factor) / std::log(kRatio) - 1e-9));
    const bool reaches_end = iteration >= budget_ || jump_ >= steps;
    epsilon_ = reaches_end ? last_ : epsilon_ * std::pow(factor, jump_ / steps);
  }

 private:
  static constexpr double kFirst = 0.1;
  static constexpr double kRatio = 0.25;
  /// An L1 error of about 0.002: KL is at least half its square.
  static constexpr double kGoodEnough = 2e-6;
  static constexpr std::int64_t kEasy = 3;

  double last_;
  double epsilon_;
  double mass_ = 1;
  std::int64_t budget_ = 0;
  std::int64_t entered_ = 0;
  double jump_ = 1;
};

}  // namespace fedsinkhorn
