// Annealing of epsilon: a large epsilon is easy, and its solution is a good start for the next smaller one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace fedsinkhorn {

/// Decides whether levels are needed, which ones, and when to leave one, from numbers that all clients share.
class Annealing {
 public:
  /// Stays at `last`.
  explicit Annealing(double last) : last_(last), epsilon_(last) {}
  /// Stays at `last` while that goes well; otherwise starts again at a tenth of the largest cost. most: rounds in all.
  Annealing(double last, double largest_cost, double mass, std::int64_t most)
      : last_(last),
        epsilon_(last),
        first_(kFirst * largest_cost),
        mass_(mass),
        rough_budget_(most / 3),
        thorough_budget_(most - most / 10) {
    budget_ = rough_budget_;
    is_trying_ = needs_levels();
  }

  /// Products have the digits of float32: levels are not to be solved further than these can tell.
  void be_coarse() { is_coarse_ = true; }
  /// Stays at `last` until start_over().
  void stay() {
    stays_ = true;
    is_trying_ = false;
  }
  /// Begins with the first level, and is thorough with every target.
  void start_high() {
    is_always_thorough_ = true;
    be_thorough();
    if (needs_levels()) epsilon_ = first_;
  }

  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] bool is_last() const { return epsilon_ == last_; }

  /// Call after every round at the last level. gain: KL(b || columns) of the worst target. Returns whether progress is
  /// slow: the error has not halved for a while and is still large.
  bool watch(std::int64_t iteration, double gain) {
    if (!is_trying_ || has_started_over_) return false;
    best_ = std::min(best_, gain);
    if (iteration < look_again_) return is_slow_;
    is_slow_ = best_ > goal() && best_ > kHalved * best_before_ && iteration < budget_;
    best_before_ = best_;
    best_ = std::numeric_limits<double>::infinity();
    look_again_ = iteration + kPatience;
    return is_slow_;
  }
  /// Whether levels may still begin by themselves, given the gain of a target.
  [[nodiscard]] bool may_begin(double gain) const { return is_trying_ && gain > goal(); }
  /// Whether levels begin because progress was slow; if so, epsilon is that of the first level.
  [[nodiscard]] bool begins(std::int64_t iteration) {
    if (!is_trying_ || !is_slow_) return false;
    resume(first_, iteration);
    return true;
  }
  /// Levels shall begin (again): this one takes too long. Only once, and only if enough of the budget is left for them.
  void start_over(std::int64_t iteration) {
    if (3 * iteration >= 2 * thorough_budget_ || !needs_levels() || std::exchange(has_started_over_, true)) return;
    be_thorough();
    is_trying_ = is_slow_ = true;
  }
  /// Number of rounds between calls of watch().
  [[nodiscard]] std::int64_t patience() const { return is_trying_ ? kPatience : kNoHurry; }
  /// The gain at which a level has served its purpose.
  [[nodiscard]] double goal() const { return good_enough_ * mass_; }
  /// From now on, fewer levels that are solved almost to the end: for methods that converge fast at the end.
  [[nodiscard]] bool is_thorough() const { return ratio_ == kThoroughRatio; }
  void be_thorough() {
    is_trying_ = is_slow_ = false;
    budget_ = thorough_budget_;
    good_enough_ = is_coarse_ ? kAlmostSolvedCoarse : kAlmostSolved;
    ratio_ = kThoroughRatio;
  }

  /// Call after every round at another level, including the one that opens it.
  /// error: the L1 error, if it is known.
  /// products: iterations that were no rounds.
  [[nodiscard]] bool is_done(std::int64_t iteration, double gain, double error = 0, std::int64_t products = 0) const {
    return (gain <= goal() && error <= (is_coarse_ ? kThoroughErrorCoarse : kThoroughError) * mass_) ||
           iteration + products >= budget_;
  }
  /// Moves to the next level; `iteration` is the last one at this level. After each level that takes hardly any rounds,
  /// the jump doubles.
  void descend(std::int64_t iteration, std::int64_t products = 0) {
    jump_ = iteration - entered_ <= kEasy ? 2 * jump_ : 1;
    entered_ = iteration;
    const double factor = last_ / epsilon_;
    const double steps = std::max(1.0, std::ceil(std::log(factor) / std::log(ratio_) - 1e-9));
    const bool reaches_end = iteration + products >= budget_ || jump_ >= steps;
    epsilon_ = reaches_end ? last_ : epsilon_ * std::pow(factor, jump_ / steps);
  }
  /// Continues from a level. If that is the last one, it stays there for good.
  void resume(double epsilon, std::int64_t iteration) {
    epsilon_ = epsilon;
    entered_ = iteration;
    jump_ = 1;
    is_trying_ = is_slow_ = false;
  }
  /// Continues with another target, which has reached that level by itself.
  void begin_again(double epsilon, std::int64_t iteration) {
    resume(epsilon, iteration);
    has_started_over_ = false;
    if (!is_always_thorough_) {
      is_trying_ = is_last() && needs_levels() && !stays_;
      budget_ = rough_budget_;
      good_enough_ = kGoodEnough;
      ratio_ = kRatio;
    }
    look_again_ = iteration + kPatience;
    best_ = best_before_ = std::numeric_limits<double>::infinity();
  }

 private:
  [[nodiscard]] bool needs_levels() const { return last_ < first_ / 2; }

  static constexpr double kFirst = 0.1;
  static constexpr double kRatio = 0.25;
  static constexpr double kThoroughRatio = 1.0 / 3;
  /// Corresponds to an L1 error of about 0.002: KL is at least half its square.
  static constexpr double kGoodEnough = 2e-6;
  /// For methods that do not know their error, which is about 4e-6 then, and for those that do. Less mass than this may
  /// be on the wrong side of a gap that hardly any mass crosses.
  static constexpr double kAlmostSolved = 1e-11;
  static constexpr double kThoroughError = 1e-8;
  static constexpr double kAlmostSolvedCoarse = 2e-7;
  static constexpr double kThoroughErrorCoarse = 1e-6;
  /// Rounds within which the error should halve, and KL fall with its square.
  static constexpr std::int64_t kPatience = 8;
  static constexpr std::int64_t kNoHurry = 64;
  static constexpr double kHalved = 0.25;
  static constexpr std::int64_t kEasy = 3;

  double last_;
  double epsilon_;
  double first_ = 0;
  double mass_ = 1;
  std::int64_t budget_ = 0;  // rounds that may be spent before `last` is reached (again)
  std::int64_t rough_budget_ = 0, thorough_budget_ = 0;

  double good_enough_ = kGoodEnough;
  double ratio_ = kRatio;

  bool is_trying_ = false;  // still trying to do without levels
  bool is_slow_ = false;
  bool has_started_over_ = false;
  bool is_always_thorough_ = false;
  bool is_coarse_ = false;
  bool stays_ = false;
  std::int64_t look_again_ = kPatience;
  double best_ = std::numeric_limits<double>::infinity();  // smallest gain since the last look
  double best_before_ = std::numeric_limits<double>::infinity();

  std::int64_t entered_ = 0;
  double jump_ = 1;
};

}  // namespace fedsinkhorn
