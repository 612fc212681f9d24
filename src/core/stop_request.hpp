// A stop request, as checked by loops over many rows.
#pragma once

#include <atomic>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Seconds a user may have to wait for costs after requesting a stop.
inline constexpr double kPatience = 1;

/// A request stays made. One client's thread may ignore it, between parallel loops; any thread may query it.
class StopRequest {
 public:
  /// flag: Options::interrupt, or null if nobody can request a stop. Must outlive this.
  explicit StopRequest(const std::atomic<bool>* flag = nullptr) : flag_(flag) {}

  [[nodiscard]] bool is_made() const {
    return flag_ != nullptr && !is_ignored_ && flag_->load(std::memory_order_relaxed);
  }
  void throw_if_made() const {
    if (is_made()) throw Interrupted();
  }
  /// Ignores the request from now on: the remaining work is short and needed.
  void ignore() { is_ignored_ = true; }
  [[nodiscard]] bool is_ignored() const { return is_ignored_; }

 private:
  const std::atomic<bool>* flag_;
  bool is_ignored_ = false;
};

}  // namespace fedsinkhorn
