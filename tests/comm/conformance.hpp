// What every transport must do, whatever carries its messages. The same checks run on threads and under mpirun.
#pragma once

#include <span>

#include "comm/communicator.hpp"

namespace fedsinkhorn::test {

/// Run by all clients together. Throws std::runtime_error where something is not as it should be.
struct Check {
  const char* name;
  void (*run)(Communicator& communicator);
};

[[nodiscard]] std::span<const Check> all_checks();

}  // namespace fedsinkhorn::test
