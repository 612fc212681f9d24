// Whether an accelerated target makes too little progress at its level of epsilon.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>

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

  /// Call after every round that counts, with its error. Returns whether the level would take more than `patience`
  /// rounds at the rate of the last kWindow. The first `grace` rounds are not judged.
  [[nodiscard]] bool is_slow_to(double goal, std::int64_t iteration, double error, double patience, double grace) {
    best_.push_back(std::min(error, best_.empty() ? error : best_.back()));
    window_ = static_cast<std::size_t>(std::clamp(2 * grace, kLeastWindow, kMostWindow));
    if (best_.size() > window_ + 1) best_.pop_front();
    rounds_ = iteration - begun_;
    const auto rounds = static_cast<double>(rounds_);
    if (rounds < grace || best_.size() <= window_) return false;
    const double fallen = std::log(best_.front() / best_.back());
    left_ = best_.back() > goal ? static_cast<double>(window_) * std::log(best_.back() / goal) / fallen : 0;
    return !(rounds + left_ <= patience);
  }
  /// Whether a rate can be told.
  [[nodiscard]] bool has_seen_enough() const { return best_.size() > window_; }
  /// In words, after is_slow_to() has returned true.
  [[nodiscard]] std::string reason(double epsilon) const {
    const double error = best_.back();
    if (!(left_ < 1e6)) return fmt::format("at epsilon {:g} the error stayed at {:.1e}", epsilon, error);
    std::string text =
        fmt::format("at epsilon {:g} the error was {:.1e} after {} rounds of acceleration", epsilon, error, rounds_);
    // A level may go on, for another reason, with an error that is small enough.
    if (left_ >= 1.5) text += fmt::format(", and about {:.0f} more were expected", left_);
    return text;
  }

 private:
  static constexpr double kLeastWindow = 8, kMostWindow = 16;

  std::int64_t begun_ = 0;
  std::int64_t rounds_ = 0;
  std::deque<double> best_;  // smallest error so far, of the last rounds
  std::size_t window_ = 0;   // rounds that the rate is taken from
  double left_ = 0;
};

}  // namespace fedsinkhorn
