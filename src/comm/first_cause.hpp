// How a failing client ends a run whose clients are all threads of this process.
#pragma once

#include <exception>
#include <mutex>

#include "comm/communicator.hpp"
#include "comm/kept_reason.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Keeps the first exception. Those it causes at other clients come later: they are told after it is kept. Clients that
/// find out together may be faster than the one that knows the reason.
class FirstCause {
 public:
  void keep(const std::exception_ptr& cause) {
    const std::lock_guard lock(mutex_);
    const int weight = weight_of(cause);
    if (cause_ && weight <= weight_) return;
    cause_ = cause;
    weight_ = weight;
  }
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
  }

 private:
  /// Who only knows that another client refuses comes last, who knows its reason first.
  static int weight_of(const std::exception_ptr& cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const RefusedElsewhere&) {
      return 0;
    } catch (const KeptReason&) {
      return 2;
    } catch (...) {
      return 1;
    }
  }

  std::mutex mutex_;
  std::exception_ptr cause_;
  int weight_ = 0;
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
