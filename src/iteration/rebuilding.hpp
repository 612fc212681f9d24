// Marks messages with their phase for the counting communicator.
#pragma once

#include "comm/counting.hpp"

namespace fedsinkhorn {

/// During its lifetime, messages count as rebuilding and measuring, not as rounds.
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
