// What messages are for, as the counting communicator is told.
#pragma once

#include "comm/counting.hpp"

namespace fedsinkhorn {

/// While it lives, messages count as being for building kernels and measuring, not for rounds.
class Rebuilding {
 public:
  explicit Rebuilding(CountingCommunicator& traffic) : traffic_(traffic), before_(traffic.phase()) {
    traffic_.set_phase(Phase::rebuilds);
  }
  ~Rebuilding() { traffic_.set_phase(before_); }
  Rebuilding(const Rebuilding&) = delete;
  Rebuilding& operator=(const Rebuilding&) = delete;

 private:
  CountingCommunicator& traffic_;
  Phase before_;
};

}  // namespace fedsinkhorn
