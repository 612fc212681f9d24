// Stopping on signals.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace fedsinkhorn {

/// Handles SIGINT, SIGTERM and SIGUSR1 during its lifetime.
class SignalHandlers {
 public:
  explicit SignalHandlers(void (*handler)(int));
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> old_{};
};

/// For use before there are results: SIGINT, SIGTERM and SIGUSR1 end the process with kInterrupted. It prints a line,
/// except under mpirun, where every process would.
class EndOnSignal {
 public:
  EndOnSignal();

 private:
  SignalHandlers handlers_;
};

/// SIGINT, SIGTERM and SIGUSR1 request a stop with results. A second SIGINT or SIGTERM ends the process as usual,
/// except within 0.1 s (one Ctrl-C may arrive twice) and under mpirun, which sends several of its own and kills
/// processes that do not end.
class StopOnSignal {
 public:
  StopOnSignal();

  /// Whether a signal has ever arrived.
  [[nodiscard]] static const std::atomic<bool>& requested();

 private:
  SignalHandlers handlers_;
};

}  // namespace fedsinkhorn
