// The state of a run while it goes on: fed by the threads that solve, read by those that show it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/stopwatch.hpp"
#include "fedsinkhorn/options.hpp"
#include "io/progress.hpp"
#include "report/page.hpp"
#include "report/run_record.hpp"

namespace fedsinkhorn {

/// What is known before a run begins.
struct RunDescription {
  std::string title;
  std::size_t clients = 1;
  bool sees_all_clients = true;                              ///< false: only client 0 is in this process
  bool clock_is_virtual = false;                             ///< the times of checks are those of a simulation
  std::string norm = "l1";                                   ///< of the errors
  std::vector<std::pair<std::string, std::string>> facts{};  ///< about the problem, such as "rows" and "2,000"
};

/// A run at one moment.
struct LiveState {
  std::uint64_t version = 0;  ///< grows with every change
  bool is_finished = false;
  std::string outcome{};  ///< how it ended, once it has
  double seconds = 0;     ///< real ones, since the run was announced
  std::optional<Progress> progress{};
  std::optional<double> seconds_left{};
  std::vector<report::TracePoint> trace{};               ///< the last one is the newest; earlier ones may be left out
  std::vector<std::optional<ClientProgress>> clients{};  ///< one for each; none: has not reported yet
};

/// Every function may be called by any thread. Updates take a lock and copy a few numbers; what is shown is made by
/// those who look.
class LiveRun {
 public:
  explicit LiveRun(RunDescription description);

  /// For Options::on_check.
  void update(const Progress& progress);
  /// For Options::on_client_check. Clients that were not described are left out.
  void update(const ClientProgress& progress);
  /// outcome: how the run ended, in a few words. Only the first call counts.
  void finish(const std::string& outcome);

  [[nodiscard]] const RunDescription& description() const { return description_; }
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  [[nodiscard]] LiveState state() const;
  /// Returns when the run is finished, or after that time. True if it is finished.
  bool wait_for_end(std::chrono::milliseconds most) const;

 private:
  void add_to_trace(const Progress& progress);

  const RunDescription description_;
  const Timer timer_;
  std::atomic<std::uint64_t> version_ = 1;
  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  LiveState state_;  // trace: every trace_stride_-th check
  TimeLeft time_left_;
  report::TracePoint newest_;
  std::uint64_t points_seen_ = 0;
  std::uint64_t trace_stride_ = 1;
};

}  // namespace fedsinkhorn
