#include "stopping.hpp"

#include <utility>

#include "fedsinkhorn/error.hpp"
#include "numbers.hpp"

namespace fedsinkhorn::python {
namespace {

// A signal handler reaches nothing but globals.
std::atomic<std::atomic<bool>*> running_flag{nullptr};
struct sigaction pythons_action = {};  // written before the handler is set

extern "C" void on_interrupt(int signal) {
  if (std::atomic<bool>* flag = running_flag.load()) flag->store(true);
  const bool is_function = pythons_action.sa_handler != SIG_DFL && pythons_action.sa_handler != SIG_IGN;
  if (is_function) pythons_action.sa_handler(signal);
}

bool is_ours(const struct sigaction& action) { return action.sa_handler == on_interrupt; }

void attach(const py::object& result, const py::object& error) {
  if (PyObject_SetAttrString(error.ptr(), "result", result.ptr()) != 0) PyErr_Clear();
}

}  // namespace

InterruptScope::InterruptScope(std::atomic<bool>& flag, bool is_wanted) : is_wanted_(is_wanted) {
  if (!is_wanted_) return;
  outer_ = running_flag.exchange(&flag);
  if (outer_ != nullptr) return;  // a solve in a callback of a solve: the handler is set
  struct sigaction current = {};
  sigaction(SIGINT, nullptr, &current);
  if (is_ours(current) || (current.sa_flags & SA_SIGINFO) != 0) return;
  pythons_action = current;
  struct sigaction ours = current;
  ours.sa_handler = on_interrupt;
  sigaction(SIGINT, &ours, nullptr);
}

InterruptScope::~InterruptScope() {
  if (!is_wanted_) return;
  running_flag.store(outer_);
  if (outer_ != nullptr) return;
  struct sigaction current = {};
  sigaction(SIGINT, nullptr, &current);
  if (is_ours(current)) sigaction(SIGINT, &pythons_action, nullptr);  // else a callback has set another one
}

void Follower::follow(Options& options) {
  options.interrupt = &work_.stop();
  if (callback_.is_none()) return;
  options.on_check = [this](const Progress& progress) { work_.with_gil([&] { call(progress); }); };
}

void Follower::call(const Progress& progress) {
  if (failure_) return;
  try {
    const py::object answer = callback_(py::cast(progress));
    if (is_truth(answer) && answer.cast<bool>()) work_.stop() = true;
  } catch (const std::exception&) {
    failure_ = std::current_exception();
    work_.stop() = true;
  }
}

void Follower::run(bool is_interruptible, const std::function<void()>& work) {
  std::exception_ptr failure;
  {
    const InterruptScope scope(work_.stop(), is_interruptible);
    const WithoutGil no_gil;
    try {
      work();
    } catch (const std::exception&) {
      failure = std::current_exception();
    }
  }
  if (!failure) return;
  finish(py::none());
  try {
    std::rethrow_exception(failure);
  } catch (const Interrupted&) {  // it was not this client
    throw ClientFailed("another client was interrupted before the first iteration was finished");
  }
}

void Follower::finish(const py::object& result) {
  if (!failure_ && PyErr_CheckSignals() == 0) return;
  try {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    throw py::error_already_set();
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) attach(result, error.value());
    throw;
  }
}

}  // namespace fedsinkhorn::python
