// How many threads a client computes with.
#pragma once

#include "comm/communicator.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// As asked for, or this client's share of the processors. Clients of one process share those it may use. Ranks share
/// those of the machine; each may be bound to some.
[[nodiscard]] int threads_to_use(const Options& options, std::size_t clients_on_machine, bool share_process);
[[nodiscard]] int threads_of_client(const Options& options, const Communicator& communicator);

}  // namespace fedsinkhorn
