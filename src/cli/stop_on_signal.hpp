// Stopping on request.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace fedsinkhorn {

/// Handles SIGINT, SIGTERM and SIGUSR1 as long as it lives.
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

/// Before there is anything to keep, SIGINT, SIGTERM and SIGUSR1 end the process with the status of an interruption. It
/// says so, except under mpirun, where all processes would.
class EndOnSignal {
 public:
  EndOnSignal();

 private:
  SignalHandlers handlers_;
};

/// SIGINT, SIGTERM and SIGUSR1 ask for a stop with results. A second SIGINT or SIGTERM ends the process as usual,
/// except within a tenth of a second (one Ctrl-C may arrive by two ways) and under mpirun, which sends several of its
/// own and kills who does not end.
class StopOnSignal {
 public:
  StopOnSignal();

  /// Whether a signal came, ever.
  [[nodiscard]] static const std::atomic<bool>& requested();

 private:
  SignalHandlers handlers_;
};

}  // namespace fedsinkhorn
