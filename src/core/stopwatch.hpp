// Time spent, added up over many short stretches.
#pragma once

#include <chrono>

namespace fedsinkhorn {

class Stopwatch {
  using Clock = std::chrono::steady_clock;

 public:
  /// Runs the watch while it lives.
  class Scope {
   public:
    explicit Scope(Stopwatch& watch) : watch_(watch), start_(Clock::now()) {}
    ~Scope() { watch_.total_ += Clock::now() - start_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopwatch& watch_;
    Clock::time_point start_;
  };

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(total_).count(); }

 private:
  Clock::duration total_{};
};

/// Seconds since it was made.
class Timer {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace fedsinkhorn
