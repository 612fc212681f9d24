// Whether the system grants threads, found out before they are needed.
#pragma once

#include <cstddef>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Refused threads are the user's business.
[[noreturn]] inline void refuse_threads(const std::string& flag, std::size_t wanted) {
  throw InputError(flag, "the system grants too few threads, " + std::to_string(wanted) + " are wanted",
                   "use fewer --clients or --threads, or raise its limit (ulimit -u)");
}

/// Threads that do nothing. As long as it lives they are there: clients that hold one each know that all of them get
/// what they want. OpenMP itself would end the process where a thread is refused.
class SpareThreads {
 public:
  /// Throws InputError if there are not as many.
  explicit SpareThreads(std::size_t count) {
    threads_.reserve(count);
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { end_.wait(); });
    } catch (const std::system_error&) {
      end_.count_down();
      threads_.clear();
      refuse_threads("--threads", count + 1);
    }
  }
  ~SpareThreads() {
    if (!end_.try_wait()) end_.count_down();
  }
  SpareThreads(const SpareThreads&) = delete;
  SpareThreads& operator=(const SpareThreads&) = delete;

 private:
  std::latch end_{1};
  std::vector<std::jthread> threads_;  // last: they use it
};

}  // namespace fedsinkhorn
