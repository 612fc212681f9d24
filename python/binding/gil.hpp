// Python's lock, and what becomes of threads when Python ends. Daemon threads that ask for the lock after that are cut
// off by Python wherever they are, which C++ does not survive; nor may they use the library while it is being taken
// apart. So solves of such threads are stopped before, and the threads stay where they are.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <functional>

namespace fedsinkhorn::python {

namespace py = pybind11;

/// The thread does not have the lock while this lives.
class WithoutGil {
 public:
  // Neither returns on a thread that Python no longer wants.
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Work of one thread that may be stopped by a flag. To be made and destroyed with the lock held.
class StoppableWork {
 public:
  StoppableWork();
  ~StoppableWork();
  StoppableWork(const StoppableWork&) = delete;
  StoppableWork& operator=(const StoppableWork&) = delete;

  [[nodiscard]] std::atomic<bool>& stop() { return stop_; }
  /// Runs body with the lock, on any thread. Only stops the work if Python is ending.
  void with_gil(const std::function<void()>& body);

 private:
  friend void stop_other_threads();
  unsigned long thread_;
  std::atomic<bool> stop_{false};
};

/// To be called when Python ends, and by nobody else afterwards: stops all work of other threads, and waits for them,
/// for some seconds at most.
void stop_other_threads();

void bind_gil(py::module_& module);

}  // namespace fedsinkhorn::python
