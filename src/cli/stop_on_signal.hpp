// Stopping on request.
#pragma once

#include <atomic>
#include <csignal>

namespace fedsinkhorn {

/// SIGINT and SIGTERM ask for a stop after the current iteration; a second one ends the process as usual.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// Whether a signal came, ever.
  [[nodiscard]] static const std::atomic<bool>& requested();

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace fedsinkhorn
