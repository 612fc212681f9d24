#include "cli/stop_on_signal.hpp"

namespace fedsinkhorn {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void request_stop(int) { stop_requested = true; }

// A signal that was ignored from the start (nohup, a background job) stays ignored.
void install(int signal, const struct sigaction& action, struct sigaction& old) {
  sigaction(signal, &action, &old);
  if (old.sa_handler == SIG_IGN) sigaction(signal, &old, nullptr);
}

}  // namespace

StopOnSignal::StopOnSignal() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  install(SIGINT, action, old_interrupt_);
  install(SIGTERM, action, old_terminate_);
}

StopOnSignal::~StopOnSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

const std::atomic<bool>& StopOnSignal::requested() { return stop_requested; }

}  // namespace fedsinkhorn
