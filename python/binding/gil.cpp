#include "gil.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

namespace fedsinkhorn::python {
namespace {

std::atomic<int> threads_outside{0};          // without the lock, waiting for it, or in a callback from there
thread_local int scopes = 0;                  // of this thread: a callback may leave the lock again
std::atomic<unsigned long> ending_thread{0};  // the one that ends Python; 0: none yet
std::set<StoppableWork*> running;             // guarded by the lock

bool is_unwanted(unsigned long thread) {
  const unsigned long ending = ending_thread.load();
  return ending != 0 && ending != thread;
}

/// As Python itself does from 3.14 on.
[[noreturn]] void stay_here() {
  for (;;) pause();
}

/// Of a thread outside.
void stay_if_unwanted() {
  if (!is_unwanted(PyThread_get_thread_ident())) return;
  --threads_outside;
  stay_here();
}

/// In the child of a fork there is one thread.
void forget_threads() {
  threads_outside = 0;
  running.clear();
}

}  // namespace

WithoutGil::WithoutGil() {
  if (scopes++ == 0) ++threads_outside;
  state_ = PyEval_SaveThread();
  stay_if_unwanted();
}
WithoutGil::~WithoutGil() {
  stay_if_unwanted();
  // Python may begin to end now, but stop_other_threads() waits for this one.
  PyEval_RestoreThread(state_);
  if (--scopes == 0) --threads_outside;
}

StoppableWork::StoppableWork() : thread_(PyThread_get_thread_ident()) { running.insert(this); }
StoppableWork::~StoppableWork() { running.erase(this); }

void StoppableWork::with_gil(const std::function<void()>& body) {
  if (is_unwanted(thread_)) {
    stop_ = true;
    return;
  }
  const py::gil_scoped_acquire gil;
  try {
    body();
  } catch (const abi::__forced_unwind&) {  // it took longer than stop_other_threads() waits
    stay_here();
  }
}

void stop_other_threads() {
  using namespace std::chrono_literals;
  ending_thread = PyThread_get_thread_ident();
  for (StoppableWork* work : running) {
    if (is_unwanted(work->thread_)) work->stop_ = true;
  }
  PyThreadState* state = PyEval_SaveThread();
  const auto limit = std::chrono::steady_clock::now() + 5s;
  while (threads_outside > 0 && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  PyEval_RestoreThread(state);
}

void bind_gil(py::module_& module) {
  module.def("stop_other_threads", &stop_other_threads);
  module.def("forget_threads", &forget_threads);
}

}  // namespace fedsinkhorn::python
