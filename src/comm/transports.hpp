// The ways messages travel.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "comm/communicator.hpp"
#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

using Seconds = std::chrono::duration<double>;
/// What a client does.
using ClientBody = std::function<void(Communicator&)>;

/// What a transport that runs all clients in this process is told.
struct RunSettings {
  Seconds timeout;           ///< to wait for another client
  const Scenario& scenario;  ///< for one that simulates a network; it has passed check_scenario()
};

/// A way by its name. One of the two functions is there.
struct TransportEntry {
  std::string_view name;
  std::string_view missing{};  ///< why it is not in this build, if it is not
  /// Runs the body for every client in this process, and returns when all have ended (like run_on_threads).
  std::function<void(std::size_t clients, const RunSettings& settings, const ClientBody& body)> run{};
  /// Makes this process one client among others. The end of the communicator takes leave of them.
  std::function<std::unique_ptr<Communicator>(Seconds timeout)> join{};
  bool simulates = false;  ///< a network, which a scenario describes, in virtual time
};

/// Who is alone needs no thread and no messages; otherwise run_on_threads.
void run_threads(std::size_t clients, const RunSettings& settings, const ClientBody& body);

/// Runs body(communicator) for every client on a thread of its own, client 0 on the calling thread, and returns when
/// all have ended. If a client throws, the others are told, end too, and what the first of them threw is thrown again
/// (the cause, not what it brought about at the others).
void run_on_threads(std::size_t clients, Seconds timeout, const ClientBody& body);

/// The same on a simulated network: one client runs at a time, and only virtual time passes, so that every run of a
/// scenario is the same. What the clients share outside of their messages needs no locks.
///   Time          passes in wait_any and worked() alone (in worked() others run). A loop that merely asks done() would
///                 never end. The clock starts at 0; the time limit is on it, too.
///   Lost clients  What they throw when the run is over, to leave their threads, does not count: if all others end
///                 without an exception, this does. Their bodies go on from worked() then, up to the next use of the
///                 communicator, so they should leave no result on the way.
///   Waiting       without a limit for what cannot come any more, because all wait: std::logic_error at all clients.
/// The scenario has passed check_scenario().
void run_simulated(std::size_t clients, Seconds timeout, const Scenario& scenario, const ClientBody& body);

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
/// Where somebody else has initialised MPI it is left to them to finalise it: this speaks on a communicator of its own,
/// a duplicate of MPI_COMM_WORLD. Throws InputError if they did not ask for threads beside MPI (MPI_THREAD_FUNNELED, of
/// the thread that calls this), or "built without MPI" where the build has none.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator(Seconds timeout);

}  // namespace fedsinkhorn
