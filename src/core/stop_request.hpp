// A stop that was asked for, as loops over many rows look for it.
#pragma once

#include <atomic>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Seconds that a user who asked for a stop can be made to wait for costs.
inline constexpr double kPatience = 1;

/// Once made it stays made. One client's thread may ignore it, between parallel loops; any thread may ask.
class StopRequest {
 public:
  /// flag: Options::interrupt, or null: nobody asks. It must outlive this.
  explicit StopRequest(const std::atomic<bool>* flag = nullptr) : flag_(flag) {}

  [[nodiscard]] bool is_made() const {
    return flag_ != nullptr && !is_ignored_ && flag_->load(std::memory_order_relaxed);
  }
  void throw_if_made() const {
    if (is_made()) throw Interrupted();
  }
  /// From now on: what is left to do is short, and wanted.
  void ignore() { is_ignored_ = true; }
  [[nodiscard]] bool is_ignored() const { return is_ignored_; }

 private:
  const std::atomic<bool>* flag_;
  bool is_ignored_ = false;
};

}  // namespace fedsinkhorn
