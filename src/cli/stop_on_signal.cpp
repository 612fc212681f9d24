#include "cli/stop_on_signal.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "cli/exit_status.hpp"
#include "comm/transports.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::int64_t kSameRequest = 100'000'000;  // nanoseconds

std::atomic<bool> stop_requested = false;
std::atomic<bool> a_second_one_ends = true;
std::atomic<bool> has_begun = false;  // a StopOnSignal exists or existed: there may be results
std::atomic<std::int64_t> first_came = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

// Does what the signal would do without a handler.
void end_as_usual(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // delivered when the handler has returned
}

extern "C" void request_stop(int signal) {
  const int error = errno;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  std::int64_t never = 0;
  const bool is_first = first_came.compare_exchange_strong(never, now);
  stop_requested = true;
  if (!is_first && signal != SIGUSR1 && a_second_one_ends && now - first_came > kSameRequest) end_as_usual(signal);
  errno = error;
}

extern "C" void end_quietly(int signal) {
  if (has_begun) return end_as_usual(signal);
  _exit(kInterrupted);
}

extern "C" void end_with_a_line(int signal) {
  if (has_begun) return end_as_usual(signal);
  constexpr std::string_view line =
      "fedsinkhorn: interrupted before the first iteration was finished; nothing written\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  _exit(kInterrupted);
}

}  // namespace

SignalHandlers::SignalHandlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (std::size_t k = 0; k < kSignals.size(); ++k) {
    sigaction(kSignals[k], &action, &old_[k]);
    // A signal ignored from the start (nohup, a background job) stays ignored.
    if (old_[k].sa_handler == SIG_IGN) sigaction(kSignals[k], &old_[k], nullptr);
  }
}

SignalHandlers::~SignalHandlers() {
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &old_[k], nullptr);
}

EndOnSignal::EndOnSignal() : handlers_(started_by_mpi() ? end_quietly : end_with_a_line) {}

StopOnSignal::StopOnSignal() : handlers_(request_stop) {
  has_begun = true;
  a_second_one_ends = !started_by_mpi();
}

const std::atomic<bool>& StopOnSignal::requested() { return stop_requested; }

}  // namespace fedsinkhorn
