#include "stopping.hpp"

#include "fedsinkhorn/error.hpp"

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
  options.interrupt = &stop_;
  if (!has_callback()) return;
  options.on_check = [this](const Progress& progress) { call([&] { return py::cast(progress); }); };
}

void Follower::call(const std::function<py::object()>& argument) {
  const py::gil_scoped_acquire gil;
  if (failure_) return;
  try {
    const py::object answer = callback_(argument());
    if (answer.is(py::bool_(true))) stop_ = true;
  } catch (...) {
    failure_ = std::current_exception();
    stop_ = true;
  }
}

void Follower::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void run_without_gil(Follower& follower, bool is_interruptible, const std::function<void()>& work) {
  std::exception_ptr failure;
  {
    const InterruptScope scope(follower.stop(), is_interruptible);
    const py::gil_scoped_release no_gil;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  }
  follower.rethrow();  // the reason why the solve ended
  if (failure) std::rethrow_exception(failure);
}

void raise_interrupt(const py::object& result) {
  if (PyErr_CheckSignals() == 0) return;
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value != nullptr && PyObject_SetAttrString(value, "result", result.ptr()) != 0) PyErr_Clear();
  PyErr_Restore(type, value, trace);
  throw py::error_already_set();
}

}  // namespace fedsinkhorn::python
