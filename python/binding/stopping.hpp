// What may end a solve that Python started: Ctrl-C, an exception in a callback, a callback that says so.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <functional>

#include "fedsinkhorn/options.hpp"
#include "gil.hpp"

namespace fedsinkhorn::python {

namespace py = pybind11;

/// While it lives, SIGINT also sets a flag; then Python's own handler runs, which makes a KeyboardInterrupt of it.
/// Waiting for Python to run that handler would not do: it only runs between bytecodes of the main thread, which waits
/// for the solve. For the main thread alone; may be nested.
class InterruptScope {
 public:
  /// is_wanted: false does nothing, for other threads and where somebody else handles the signal.
  InterruptScope(std::atomic<bool>& flag, bool is_wanted);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  bool is_wanted_;
  std::atomic<bool>* outer_ = nullptr;
};

/// Passes progress on to a Python callback, and keeps what it throws until the solve has ended.
class Follower {
 public:
  /// callback: a function, or None. To be made and destroyed with the GIL held.
  explicit Follower(py::object callback) : callback_(std::move(callback)) {}
  ~Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Sets interrupt, and on_check if there is a callback.
  void follow(Options& options);

  /// Runs work() without the GIL, under an InterruptScope. If that throws, what the callback threw comes first, or a
  /// KeyboardInterrupt whose attribute `result` is None.
  void run(bool is_interruptible, const std::function<void()>& work);

  /// After run(): throws what the callback threw, or KeyboardInterrupt if a signal asks for it. `result` becomes the
  /// attribute of that name of a KeyboardInterrupt.
  void finish(const py::object& result);

 private:
  void call(const Progress& progress);

  py::object callback_;
  StoppableWork work_;
  std::exception_ptr failure_;
};

}  // namespace fedsinkhorn::python
