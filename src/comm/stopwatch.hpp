// Total time of many short stretches on the clients' clock, which is virtual in a simulation.
#pragma once

#include "comm/communicator.hpp"

namespace fedsinkhorn {

class Stopwatch {
 public:
  /// The communicator must outlive it.
  explicit Stopwatch(Communicator& clock) : clock_(clock) {}

  /// Runs the watch while it lives.
  class Scope {
   public:
    /// entries: matrix entries processed meanwhile (see Communicator::worked).
    explicit Scope(Stopwatch& watch, double entries = 0)
        : watch_(watch), entries_(entries), start_(watch.clock_.now()) {}
    ~Scope() {
      if (entries_ > 0) watch_.clock_.worked(entries_);
      watch_.total_ += watch_.clock_.now() - start_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Stopwatch& watch_;
    double entries_;
    double start_;
  };

  [[nodiscard]] double seconds() const { return total_; }

 private:
  Communicator& clock_;
  double total_ = 0;
};

}  // namespace fedsinkhorn
