// The ways messages travel.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

using Seconds = std::chrono::duration<double>;

/// Runs body(communicator) for every client on a thread of its own, client 0 on the calling thread, and returns when
/// all have ended. If a client throws, the others are told, end too, and what the first of them threw is thrown again
/// (the cause, not what it brought about at the others).
void run_on_threads(std::size_t clients, Seconds timeout, const std::function<void(Communicator&)>& body);

/// Whether this process was started by mpirun (or another MPI launcher), found without initialising MPI.
[[nodiscard]] bool started_by_mpi();
/// The rank mpirun gave this process; 0 if there is none. Found without initialising MPI.
[[nodiscard]] std::size_t rank_given_by_mpi();
/// How many it started, as far as its environment tells; 1 if there is none.
[[nodiscard]] std::size_t ranks_given_by_mpi();

/// Initialises MPI (funneled: only the thread that made it may use it; errors are returned, not fatal) and speaks for
/// MPI_COMM_WORLD. One object at a time. Its end finalises MPI, within the time limit; after a failure it does not try.
/// Throws InputError("built without MPI") where the build has none.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator(Seconds timeout);
/// Clients that share this machine with this one (itself included); 1 without MPI, or before make_mpi_communicator.
[[nodiscard]] std::size_t mpi_clients_on_this_machine();

}  // namespace fedsinkhorn
