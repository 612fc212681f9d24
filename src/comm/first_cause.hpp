// How a failing client ends a run whose clients are all threads of this process.
#pragma once

#include <exception>
#include <mutex>

#include "comm/communicator.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Keeps the first exception. Those it causes at other clients come later: they are told after it is kept.
class FirstCause {
 public:
  void keep(const std::exception_ptr& cause) {
    const std::lock_guard lock(mutex_);
    if (!cause_) cause_ = cause;
  }
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr cause_;
};

/// Runs body(communicator). If it throws, the exception is kept, then the others are told.
template <class Body>
void run_and_tell(Communicator& communicator, FirstCause& first, const Body& body) {
  try {
    body(communicator);
  } catch (const InputError& error) {
    first.keep(std::current_exception());
    communicator.give_up(true, error.marked().c_str());
  } catch (const std::exception& error) {
    first.keep(std::current_exception());
    communicator.give_up(false, error.what());
  } catch (...) {
    first.keep(std::current_exception());
    communicator.give_up(false, "an unknown failure");
  }
}

}  // namespace fedsinkhorn
