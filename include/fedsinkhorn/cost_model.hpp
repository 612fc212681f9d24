// How long an iteration takes, what it sends and what memory it needs, before anything is run: the alpha-beta model of
// the paper's section 4, from measured times of passes and exchanges (a Profile). See docs/cost-model.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// One pass over a block of the kernel, as measured.
struct PassTime {
  std::string kernel = "dense";
  Precision precision = Precision::float64;
  std::string verb = "fused";  ///< fused, apply, apply-transposed, or build: to compute and store it
  std::size_t dimension = 0;   ///< of points, kernel online
  std::size_t targets = 1;
  std::size_t clients = 1;    ///< on the machine
  std::size_t computing = 1;  ///< of them at the same time; the others wait
  int threads = 1;            ///< of each
  std::size_t rows = 0;       ///< of each one's block
  std::size_t columns = 0;
  double seconds = 0;  ///< of the slowest client; median
  double spread = 0;   ///< interquartile range over median
};

/// An exchange of a vector of B bytes among that many clients takes alpha + beta B seconds.
struct ExchangeTime {
  std::string exchange;  ///< gather, sum, collect, deal, broadcast, secure-sum, served-sum
  std::size_t clients = 2;
  double alpha = 0;  ///< seconds
  double beta = 0;   ///< seconds per byte
  double r_squared = 1;
  double alpha_error = 0;  ///< half of the 95 % confidence interval
  double beta_error = 0;
  std::size_t samples = 0;
  double largest_bytes = 0;  ///< measured; 0: not known
};

/// A network by its links, for exchanges that were not measured.
struct LinkModel {
  double latency = 0;         ///< seconds
  double bandwidth = 1e9;     ///< bytes per second
  double overhead = 0;        ///< seconds that every message costs its sender and its receiver
  bool shares_ports = false;  ///< messages of one client share its bandwidth; else every pair of clients has its own
  /// Of collectives: direct (ours), tree or ring (of other MPI programs, such as the paper's).
  std::string algorithm = "direct";
};

/// Passes by two constants, where none were measured: entries x max(seconds_per_entry, N x seconds_per_product).
struct PassRate {
  std::string kernel = "dense";
  Precision precision = Precision::float64;
  double seconds_per_entry = 0;
  double seconds_per_product = 0;  ///< of an entry, for every target
};

struct ProfileMachine {
  std::string processor;
  std::string simd;
  int cores = 1;  ///< that the program may use
  std::uint64_t memory_bytes = 0;
  std::uint64_t cache_bytes = 0;  ///< the largest cache

  [[nodiscard]] bool operator==(const ProfileMachine&) const = default;
};

struct Profile {
  std::string name;
  std::string description;
  std::string source = "measured";  ///< measured, example or paper
  std::string transport;            ///< threads, mpi or simulated; empty: none in particular
  ProfileMachine machine;
  std::size_t clients_per_machine = 0;  ///< 0: all clients are on one
  std::vector<PassTime> passes;
  std::vector<PassRate> rates;
  std::vector<ExchangeTime> exchanges;
  std::optional<LinkModel> links;
  double seconds_per_row = 0;  ///< of an iteration, beside passes and exchanges, for every row a client owns
  double seconds_per_column = 0;
  double process_bytes = 0;  ///< of a client's process before it has read a problem
};

/// Reads a JSON file that `fedsinkhorn calibrate` has written, or a shipped profile by its name (shipped_profiles).
/// Throws InputError naming the file and the key if something is missing, unknown, impossible or of another version.
[[nodiscard]] Profile read_profile(const std::filesystem::path& path);
void write_profile(const Profile& profile, const std::filesystem::path& path);
/// "paper", "cluster", "office", "wan".
[[nodiscard]] std::vector<std::string> shipped_profiles();
/// What is suspicious about using it for runs of this machine and build; empty: nothing.
[[nodiscard]] std::vector<std::string> doubts_about(const Profile& profile);

/// A solve that is not run yet.
struct SolveShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t clients = 1;
  std::size_t dimension = 0;            ///< of points; 0: a cost matrix
  std::size_t held_bytes = 0;           ///< of a cost matrix that a process keeps in memory; 0: mapped row by row
  std::size_t clients_per_machine = 0;  ///< 0: as the profile says
  std::int64_t iterations = 0;          ///< 0: not known
  Options options;  ///< topology, grid, kernel, precision, passes, policy, server, mechanism, method, threads
};

struct Prediction {
  std::string topology;
  std::string kernel;
  std::string precision;
  std::string policy;
  std::size_t clients = 1;
  int threads = 1;
  double seconds_per_iteration = 0;
  double compute_seconds = 0;             ///< of an iteration
  double communication_seconds = 0;       ///< of an iteration
  std::uint64_t bytes_per_iteration = 0;  ///< sent by all clients together
  std::uint64_t messages_per_iteration = 0;
  std::uint64_t bytes_per_client = 0;  ///< sent in an iteration by the one that sends most
  double memory_bytes = 0;             ///< at most, of the client that needs most, as a process of its own
  double server_memory_bytes = 0;      ///< of a server, if there is one
  double process_memory_bytes = 0;     ///< of all clients together, as threads of one process
  double setup_seconds = 0;            ///< to build the kernel and to evaluate the costs, about
  double total_seconds = 0;            ///< with SolveShape::iterations; 0: not known
  std::string bottleneck;
  std::string formula;
  std::vector<std::string> notes;  ///< assumptions, extrapolations
};

/// Throws InputError if the shape or the options are impossible, or if the profile knows nothing of what they need.
[[nodiscard]] Prediction predict(const Profile& profile, const SolveShape& shape);

/// What a plan may choose from.
struct TopologyQuestion {
  SolveShape shape;              ///< clients: how many there are, or at most; topology, kernel and precision are chosen
  double memory_per_client = 0;  ///< bytes; 0: no limit
  double memory_of_server = 0;   ///< of a client or machine that may hold the kernel; 0: as the clients
  bool peers_may_talk = true;    ///< clients connect to each other; else to a server alone
  bool server_may_hold_kernel = true;
  bool any_block_layout = true;  ///< blocks may be dealt freely (grid); else each client keeps its own rows
  double tolerance = 1e-9;
  double relative_epsilon = 0.01;  ///< epsilon over the largest cost
};

struct TopologyOption {
  Prediction prediction;
  std::int64_t iterations = 0;
  double seconds = 0;       ///< to the tolerance
  std::string out_because;  ///< empty: feasible
};

struct TopologyCurve {
  std::string topology;
  std::vector<std::size_t> clients;
  std::vector<double> seconds;        ///< of an iteration
  std::vector<double> communication;  ///< of these seconds, those spent on communication
  std::size_t turns_at = 0;           ///< clients from which on communication takes longer than computing; 0: never
};

struct TopologyPlan {
  std::vector<TopologyOption> options;  ///< feasible ones first, the fastest first
  std::vector<TopologyCurve> curves;    ///< of the best kernel and precision, over numbers of clients
  std::int64_t iterations = 0;          ///< expected, of exact topologies
  std::vector<std::string> notes;
};

[[nodiscard]] TopologyPlan plan_topology(const Profile& profile, const TopologyQuestion& question);
/// Rounds to a tolerance, from what problems of several families took; off by a factor of 4 either way.
[[nodiscard]] std::int64_t expected_iterations(const std::string& method, double relative_epsilon, double tolerance);

/// The network of a profile, to simulate such a solve on. Virtual time of synchronous topologies agrees with what
/// predict says for Options::transport "simulated".
[[nodiscard]] Scenario scenario_of(const Profile& profile, const SolveShape& shape);

}  // namespace fedsinkhorn
