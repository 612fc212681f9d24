// How a failing client ends a run whose clients are all threads of this process.
#pragma once

#include <exception>
#include <mutex>

#include "comm/communicator.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Another client refuses its input and keeps the reason to itself.
class RefusedElsewhere final : public InputError {
 public:
  using InputError::InputError;
};

/// This client refuses its input and keeps the reason, which is here, to itself.
class KeptReason final : public InputError {
 public:
  using InputError::InputError;
};

/// Keeps the first exception. Those it causes at other clients come later: they are told after it is kept. Clients that
/// find out together may be faster than the one that knows the reason.
class FirstCause {
 public:
  void keep(const std::exception_ptr& cause) {
    const std::lock_guard lock(mutex_);
    if (!cause_ || is_from_elsewhere_) {
      cause_ = cause;
      is_from_elsewhere_ = is_from_elsewhere(cause);
    }
  }
  void rethrow() const {
    if (cause_) std::rethrow_exception(cause_);
  }

 private:
  static bool is_from_elsewhere(const std::exception_ptr& cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const RefusedElsewhere&) {
      return true;
    } catch (...) {
      return false;
    }
  }

  std::mutex mutex_;
  std::exception_ptr cause_;
  bool is_from_elsewhere_ = false;
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
