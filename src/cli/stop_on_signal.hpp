// Stopping on request.
#pragma once

#include <array>
#include <atomic>
#include <csignal>

namespace fedsinkhorn {

/// SIGINT, SIGTERM and SIGUSR1 ask for a stop with results. A second SIGINT or SIGTERM ends the process as usual,
/// except within a tenth of a second (one Ctrl-C may arrive by two ways) and under mpirun, which sends several of its
/// own and kills who does not end.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  /// Whether a signal came, ever.
  [[nodiscard]] static const std::atomic<bool>& requested();

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> old_{};
};

}  // namespace fedsinkhorn
