// The ways messages travel.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "comm/communicator.hpp"
#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

using Seconds = std::chrono::duration<double>;

/// Runs body(communicator) for every client on a thread of its own, client 0 on the calling thread, and returns when
/// all have ended. If a client throws, the others are told, end too, and what the first of them threw is thrown again
/// (the cause, not what it brought about at the others).
void run_on_threads(std::size_t clients, Seconds timeout, const std::function<void(Communicator&)>& body);

/// The same on a simulated network: one client runs at a time, and only virtual time passes, so that every run of a
/// scenario is the same. What the clients share outside of their messages needs no locks.
///   Time          passes in wait_any and worked() alone (in worked() others run). A loop that merely asks done() would
///                 never end. The clock starts at 0; the time limit is on it, too.
///   Lost clients  What they throw when the run is over, to leave their threads, does not count: if all others end
///                 without an exception, this does. Their bodies go on from worked() then, up to the next use of the
///                 communicator, so they should leave no result on the way.
///   Waiting       without a limit for what cannot come any more, because all wait: std::logic_error at all clients.
/// The scenario has passed check_scenario().
void run_simulated(std::size_t clients, Seconds timeout, const Scenario& scenario,
                   const std::function<void(Communicator&)>& body);

/// Whether this process was started by mpirun (or another MPI launcher), found without initialising MPI.
[[nodiscard]] bool started_by_mpi();
/// The rank mpirun gave this process; 0 if there is none. Found without initialising MPI.
[[nodiscard]] std::size_t rank_given_by_mpi();
/// How many it started, as far as its environment tells; 1 if there is none.
[[nodiscard]] std::size_t ranks_given_by_mpi();

/// Initialises MPI (funneled: only the thread that made it may use it; errors are returned, not fatal) and speaks for
/// MPI_COMM_WORLD. One object at a time. Its end finalises MPI, within the time limit; after a failure it does not try.
/// MPI itself waits for all clients without a limit when it starts and when it ends: if one does not come, the process
/// ends, with one line and status 4.
/// Throws InputError("built without MPI") where the build has none.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator(Seconds timeout);
/// Clients that share this machine with this one (itself included); 1 without MPI, or before make_mpi_communicator.
[[nodiscard]] std::size_t mpi_clients_on_this_machine();

}  // namespace fedsinkhorn
