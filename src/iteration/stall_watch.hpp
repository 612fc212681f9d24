// Whether an accelerated target makes too little progress at its level of epsilon.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>

namespace fedsinkhorn {

/// Decides by counts of rounds and by errors that all clients share, never by the clock: a run can be repeated.
class StallWatch {
 public:
  /// Another level begins.
  void begin(std::int64_t iteration) {
    begun_ = iteration;
    best_.clear();
    left_ = 0;
  }

  /// Call after a round of the last level, with its error. Returns whether the level would take more than `patience`
  /// rounds at the rate of the last kWindow.
  [[nodiscard]] bool is_slow_to(double goal, std::int64_t iteration, double error, double patience) {
    best_.push_back(std::min(error, best_.empty() ? error : best_.back()));
    if (best_.size() > kWindow + 1) best_.pop_front();
    if (iteration - begun_ < kGrace || best_.size() <= kWindow) return false;
    const double fallen = std::log(best_.front() / best_.back());
    left_ = best_.back() > goal ? kWindow * std::log(best_.back() / goal) / fallen : 0;
    return !(static_cast<double>(iteration - begun_) + left_ <= patience);
  }
  /// The same for a level on the way, where a rough result is enough and should not take long.
  [[nodiscard]] bool is_long_on_the_way(std::int64_t iteration) const { return iteration - begun_ > kLongOnTheWay; }

  /// Rounds that the last look found to be left; infinite if the error did not fall.
  [[nodiscard]] double left() const { return left_; }

 private:
  static constexpr std::size_t kWindow = 16;
  static constexpr std::int64_t kGrace = 24;
  static constexpr std::int64_t kLongOnTheWay = 40;

  std::int64_t begun_ = 0;
  std::deque<double> best_;  // smallest error so far, of the last rounds
  double left_ = 0;
};

}  // namespace fedsinkhorn
