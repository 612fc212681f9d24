// One client's way through a solve, whatever transport connects it to the others.
#pragma once

#include "comm/communicator.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Where this client runs.
struct ClientPlace {
  const char* transport = "threads";
  std::size_t clients_on_machine = 1;
  bool shares_process = true;  ///< with the other clients on this machine
  bool clock_is_virtual = false;
};

/// Every client calls it. Throws alike on all of them (see fedsinkhorn/solve.hpp).
[[nodiscard]] Result solve_as_client(const Problem& problem, const Options& options, Communicator& communicator,
                                     const ClientPlace& place);

}  // namespace fedsinkhorn
