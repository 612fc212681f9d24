// The newest event of a run, shared by those who watch it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "watch/live_run.hpp"
#include "watch/live_view.hpp"

namespace fedsinkhorn {

/// Makes it at most once in a while, however many ask: that takes processors' time, which is the run's. For any thread.
class NewestEvent {
 public:
  /// The run must outlive this.
  NewestEvent(const LiveRun& run, std::chrono::milliseconds keep) : run_(run), keep_(keep) {}

  struct Event {
    std::uint64_t version = 0;  ///< of the state in it
    bool is_last = false;
    std::string text;  ///< as it is sent
  };
  /// is_over: the run is finished, and the event must say so.
  [[nodiscard]] std::shared_ptr<const Event> get(bool is_over) {
    const std::lock_guard lock(mutex_);
    const bool is_recent = event_ && Clock::now() < made_ + keep_;
    const bool will_do = event_ && (event_->is_last || event_->version == run_.version() || (is_recent && !is_over));
    if (!will_do) {
      const LiveState state = run_.state();
      const std::string json = live_event(run_.description(), state);
      event_ = std::make_shared<const Event>(Event{state.version, state.is_finished, "data: " + json + "\n\n"});
      made_ = Clock::now();
    }
    return event_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  const LiveRun& run_;
  std::chrono::milliseconds keep_;
  std::mutex mutex_;
  std::shared_ptr<const Event> event_;
  Clock::time_point made_;
};

}  // namespace fedsinkhorn
