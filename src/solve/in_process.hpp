// Work that all clients of this process, or this process as one client of a session, do together.
#pragma once

#include <cstddef>
#include <functional>

#include "comm/communicator.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

/// Throws InputError naming the field.
[[nodiscard]] double checked_timeout(double seconds);

/// The number of clients that the options ask for. Throws InputError if they are too many for one process.
[[nodiscard]] std::size_t clients_in_process(const Options& options);

/// Runs body on each of that many clients, on the transport of the options, and a server if they ask for one. Throws
/// what the clients throw.
void run_in_process(std::size_t clients, const Options& options, const std::function<void(Communicator&)>& body);

/// Runs body as a client of the session; body gets the options with the session's transport. Others learn if it fails.
void run_in_session(const Options& options, Session& session,
                    const std::function<void(const Options&, Communicator&)>& body);

}  // namespace fedsinkhorn
