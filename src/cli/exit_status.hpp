// What the shell gets back; part of the command-line contract.
#pragma once

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

inline constexpr int kConverged = 0;
inline constexpr int kInternalError = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kNotConverged = 3;
inline constexpr int kClientLost = 4;
inline constexpr int kInterrupted = 130;

[[nodiscard]] constexpr int exit_status(Status status) {
  switch (status) {
    case Status::converged: return kConverged;
    case Status::interrupted: return kInterrupted;
    case Status::client_lost: return kClientLost;
    case Status::iteration_limit:
    case Status::diverged: break;
  }
  return kNotConverged;
}

}  // namespace fedsinkhorn
