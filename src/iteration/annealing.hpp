// Epsilon on its way down: problems with a large epsilon are easy, and the solution of one is a good start for the
// next.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fedsinkhorn {

/// Whether levels are needed, which, and when to leave one. Everything follows from numbers that all clients share.
class Annealing {
 public:
  /// Stays at `last`.
  explicit Annealing(double last) : last_(last), epsilon_(last) {}
  /// Stays there as long as that goes well, else comes down from a tenth of the costs. budget: rounds that may be spent
  /// before it is reached (again).
  Annealing(double last, double largest_cost, double mass, std::int64_t budget)
      : last_(last), epsilon_(last), first_(kFirst * largest_cost), mass_(mass), budget_(budget) {
    is_trying_ = needs_levels();
  }

  [[nodiscard]] double epsilon() const { return epsilon_; }
  [[nodiscard]] bool is_last() const { return epsilon_ == last_; }

  /// To be told after every round at the last level. gain: KL(b || columns), of the worst target. Returns whether it is
  /// slow: the error has not halved for a while and is still large.
  bool watch(std::int64_t iteration, double gain) {
    if (!is_trying_) return false;
    best_ = std::min(best_, gain);
    if (iteration < look_again_) return is_slow_;
    is_slow_ = best_ > goal() && best_ > kHalved * best_before_ && iteration < budget_;
    best_before_ = best_;
    best_ = std::numeric_limits<double>::infinity();
    look_again_ = iteration + kPatience;
    return is_slow_;
  }
  /// Whether levels begin, since it was slow; epsilon is then that of the first.
  [[nodiscard]] bool begins(std::int64_t iteration) {
    if (!is_trying_ || !is_slow_) return false;
    resume(first_, iteration);
    return true;
  }
  /// Rounds after which it wants to be told.
  [[nodiscard]] std::int64_t patience() const { return is_trying_ ? kPatience : kNoHurry; }
  /// The gain at which a level has served its purpose.
  [[nodiscard]] double goal() const { return kGoodEnough * mass_; }

  /// To be asked after every round at another level, and after the one that opens it.
  [[nodiscard]] bool is_done(std::int64_t iteration, double gain) const {
    return gain <= goal() || iteration >= budget_;
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
  /// Goes on from a level; at the last one, for good.
  void resume(double epsilon, std::int64_t iteration) {
    epsilon_ = epsilon;
    entered_ = iteration;
    jump_ = 1;
    is_trying_ = is_slow_ = false;
  }
  /// With another target, which has come to that level by itself.
  void begin_again(double epsilon, std::int64_t iteration) {
    resume(epsilon, iteration);
    is_trying_ = is_last() && needs_levels();
    look_again_ = iteration + kPatience;
    best_ = best_before_ = std::numeric_limits<double>::infinity();
  }

 private:
  [[nodiscard]] bool needs_levels() const { return last_ < first_ / 2; }

  static constexpr double kFirst = 0.1;
  static constexpr double kRatio = 0.25;
  /// An L1 error of about 0.002: KL is at least half its square.
  static constexpr double kGoodEnough = 2e-6;
  /// Rounds in which the error is to halve, and KL with its square.
  static constexpr std::int64_t kPatience = 8;
  static constexpr std::int64_t kNoHurry = 64;
  static constexpr double kHalved = 0.25;
  static constexpr std::int64_t kEasy = 3;

  double last_;
  double epsilon_;
  double first_ = 0;
  double mass_ = 1;
  std::int64_t budget_ = 0;

  bool is_trying_ = false;  // to do without levels
  bool is_slow_ = false;
  std::int64_t look_again_ = kPatience;
  double best_ = std::numeric_limits<double>::infinity();  // gain since the last look
  double best_before_ = std::numeric_limits<double>::infinity();

  std::int64_t entered_ = 0;
  double jump_ = 1;
};

}  // namespace fedsinkhorn
