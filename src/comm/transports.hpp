// Transports: how messages travel.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "comm/communicator.hpp"
#include "core/stop_request.hpp"
#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

using Seconds = std::chrono::duration<double>;
/// What a client runs.
using ClientBody = std::function<void(Communicator&)>;

/// Settings for a transport that runs all clients in this process.
struct RunSettings {
  Seconds timeout;           ///< to wait for another client
  const Scenario& scenario;  ///< for a simulated network; has passed check_scenario()
};

/// A transport by name. Either `run` or `join` is set.
struct TransportEntry {
  std::string_view name;
  std::string_view missing{};  ///< why this build lacks it, if it does
  /// Runs the body for every client in this process and returns when all have ended (like run_on_threads).
  std::function<void(std::size_t clients, const RunSettings& settings, const ClientBody& body)> run{};
  /// Makes this process one client among others. Destroying the communicator takes it out again. Throws Interrupted if
  /// a stop is requested while it waits for them.
  std::function<std::unique_ptr<Communicator>(Seconds timeout, const StopRequest& stop)> join{};
  bool simulates = false;  ///< a network described by a scenario, in virtual time
};

/// A single client needs no thread and no messages; otherwise run_on_threads.
void run_threads(std::size_t clients, const RunSettings& settings, const ClientBody& body);

/// Runs body(communicator) for every client on its own thread, client 0 on the calling thread, and returns when all
/// have ended. If a client throws, the others are told and end too, and the first exception is rethrown (the cause, not
/// its consequences at other clients).
void run_on_threads(std::size_t clients, Seconds timeout, const ClientBody& body);

/// The same on a simulated network: one client runs at a time, and only virtual time passes, so every run of a scenario
/// is the same. Data that clients share outside of messages needs no locks.
///   Time          passes only in wait_any and worked() (others run during worked()). A loop that only calls done()
///                 never ends. The clock starts at 0 and also measures the time limit.
///   Lost clients  What they throw to leave their threads when the run is over does not count: if all others end
///                 without an exception, so does this. Their bodies then go on from worked() up to the next use of the
///                 communicator, so they should leave no result on the way.
///   Deadlock      If all wait without a limit for messages that cannot come any more, all throw std::logic_error.
/// The scenario has passed check_scenario().
void run_simulated(std::size_t clients, Seconds timeout, const Scenario& scenario, const ClientBody& body);

/// Whether this process was started by mpirun (or another MPI launcher). Does not initialise MPI.
[[nodiscard]] bool started_by_mpi();
/// The rank mpirun gave this process; 0 if there is none. Does not initialise MPI.
[[nodiscard]] std::size_t rank_given_by_mpi();
/// The number of processes mpirun started, according to the environment; 1 if there is none.
[[nodiscard]] std::size_t ranks_given_by_mpi();

/// Initialises MPI (funneled: only the calling thread may use it; errors are returned, not fatal) and uses
/// MPI_COMM_WORLD. One object at a time. Its destructor finalises MPI within the time limit, but not after a failure.
/// MPI itself waits for all clients without a limit when it starts and ends: if one does not come, the process ends
/// with one line and status 4.
/// If somebody else has initialised MPI, they finalise it, and this uses a duplicate of MPI_COMM_WORLD. Throws
/// InputError if they did not allow threads beside MPI (MPI_THREAD_FUNNELED for the calling thread, or a higher level),
/// or "built without MPI" if the build has none.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator(Seconds timeout,
                                                                  const StopRequest& stop = StopRequest());

}  // namespace fedsinkhorn
