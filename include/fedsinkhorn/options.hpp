// How to solve a problem. The defaults suit most problems. Every field except the last three has a flag in
// `fedsinkhorn solve` (docs/cli.md) and, except scenario and keys, an entry in src/options.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "fedsinkhorn/result.hpp"
#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

/// float64: everything. mixed: the kernel is stored in float32, everything else is float64. float32: kernel, scalings
/// and products in float32, sums in float64 except for parts of them on devices. digits50: 50 decimal digits, for small
/// problems. Only on devices: bfloat16 (kernel stored as bfloat16, products in float32) and tf32 (kernel computed from
/// points whose coordinates are multiplied to eleven bits, the rest as float32).
enum class Precision { float64, float32, mixed, digits50, bfloat16, tf32 };

/// Whether the kernel has less precision than float64.
[[nodiscard]] constexpr bool is_reduced(Precision precision) {
  return precision != Precision::float64 && precision != Precision::digits50;
}

/// dense: the kernel exp((phi + psi - C) / epsilon) is stored. online: it is computed whenever it is needed.
enum class KernelKind { dense, online };

/// The name of a kernel: of one of those two, or of any other that this build knows.
class KernelName {
 public:
  KernelName(KernelKind kind) {
    switch (kind) {
      case KernelKind::dense: name_ = "dense"; break;
      case KernelKind::online: name_ = "online"; break;
    }
  }
  KernelName(std::string name) : name_(std::move(name)) {}
  KernelName(const char* name) : name_(name) {}

  [[nodiscard]] const std::string& text() const { return name_; }
  friend bool operator==(const KernelName&, const KernelName&) = default;

 private:
  std::string name_;
};

/// absorption: matrix-vector products on a kernel into which large potentials are absorbed. log: every half-step by
/// log-sum-exp; slow, the reference for tests.
enum class Stabilization { absorption, log };

/// check: before solving, check that the allowed pairs can carry the masses. skip: do not check (for large problems
/// with many forbidden pairs).
enum class Feasibility { check, skip };

/// How an update is damped by eta. arithmetic: (1 - eta) old + eta new. geometric: old^(1 - eta) new^eta.
enum class DampingKind { arithmetic, geometric };

/// policy sums: who adds up. none: the clients. sums: a server, which is one process more than there are clients, the
/// last one, and sees masked numbers alone.
enum class Server { none, sums };

/// Mechanism scalings: what is clipped to the norm Options::clip. rows: every row of a slice (one number per target).
/// slice: the slice as a whole. none: nothing, and nothing is guaranteed.
enum class ClipKind { rows, slice, none };

/// Files by which clients recognise each other, so that nobody in the middle can pose as one: a secret key, made by
/// 'fedsinkhorn privacy key', and a list of the fingerprints of all clients' keys, in the order of the clients. Empty:
/// none; keys are made for the solve alone, and whoever passes them on must be trusted not to change them.
struct KeyFiles {
  std::string own;
  std::string fingerprints;
};

/// 0 x 0: as square as the number of clients allows.
struct GridShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// What a progress display needs; passed to Options::on_check after every check of the error.
struct Progress {
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  double seconds = 0;  ///< since the iterations began
  double error_a = 0;
  double error_b = 0;
  double tolerance = 0;  ///< in units of the mass, like the errors
  std::size_t targets_left = 1;
  double epsilon = 0;          ///< of the current level
  bool is_on_the_way = false;  ///< epsilon is above the requested one: the errors are those of another problem
};

/// What one client has done so far; passed to Options::on_client_check.
struct ClientProgress {
  std::size_t client = 0;
  std::int64_t iteration = 0;        ///< topology async: of its own, which the others need not have made
  double compute_seconds = 0;        ///< transport simulated: virtual, like the next
  double communication_seconds = 0;  ///< waiting for others included
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

/// The largest Options::history.
inline constexpr std::size_t kMostHistory = 64;

struct Options {
  /// Limit on the norm of the marginal errors, relative to the total mass; 0 runs all max_iterations.
  double tolerance = 1e-9;
  Norm norm = Norm::l1;
  std::int64_t max_iterations = 10000;
  std::int64_t check_every = 1;

  /// sinkhorn: plain. anderson: accelerated. newton: Newton's method, with epsilon scaling. overrelaxed. auto:
  /// anderson, with epsilon scaling and then Newton's method where that is slow; plain where acceleration is not
  /// available (local steps, async, log-domain, 50 digits).
  std::string method = "auto";
  std::size_t history = 0;        ///< differences that anderson and auto keep; 0: 24, fewer for many targets
  std::string topology = "auto";  ///< auto: centralized for one client, row-reduce for several
  std::string backend = "auto";   ///< cpu, cuda; auto: cuda for large problems where there is a device
  std::vector<int> devices;       ///< numbers of the devices cuda may use, assigned to clients in turn; empty: all
  Passes passes = Passes::fused;
  KernelName kernel = KernelKind::dense;
  Precision precision = Precision::float64;
  Stabilization stabilization = Stabilization::absorption;
  Feasibility feasibility = Feasibility::check;
  bool normalize = false;  ///< first scale a and each target of b to total 1; their totals need not agree then

  int threads = 0;            ///< per client; 0: this machine's cores, shared among its clients
  std::string simd = "auto";  ///< instruction set: auto, avx512, avx2, sse4, baseline

  std::size_t clients = 0;            ///< 0: one, or the number of problems or MPI ranks
  std::string transport = "threads";  ///< between clients in one process: threads or simulated
  /// What may leave a client. open: everything, in plain. sums (row-reduce): only masked sums over all clients; every
  /// client's result has only its own rows of f, unless all clients are in one process. private: nothing but releases
  /// with noise, see the options below and docs/privacy.md.
  std::string policy = "open";
  /// Policy sums: the run ends before a client has seen more summed numbers than this; 0: no limit. The smallest of all
  /// clients' limits holds.
  std::size_t most_sums = 0;
  Server server = Server::none;
  /// Policy sums: Newton's method may add up matrices over all clients, not only vectors. Two such matrices give every
  /// client the others' rows and masses.
  bool share_matrices = false;
  KeyFiles keys;                    ///< policy sums: how clients recognise each other
  Scenario scenario;                ///< the simulated network
  double timeout = 60;              ///< seconds to wait for another client
  std::int64_t local_steps = 1;     ///< most iterations from one exchange to the next
  std::int64_t max_staleness = 16;  ///< topology async: oldest slice a client uses, in its own iterations
  double damping = 1;               ///< topology async: eta, in (0, 1]; 1 is no damping
  DampingKind damping_kind = DampingKind::geometric;
  GridShape grid;                   ///< shape of topology grid
  std::vector<double> row_weights;  ///< shares of the rows (and columns) the clients own; empty: even
  bool keep_local = false;          ///< f is not gathered: every MPI rank's result has only its own rows

  // Policy private.
  bool centre = false;                  ///< scalings: clips the distance from the mean released before
  ClipKind clip_kind = ClipKind::rows;  ///< scalings: what is clipped
  /// marginal: the columns' plan mass (row-reduce). scalings: the paper's, u and v (all-to-all, star, async).
  std::string mechanism = "marginal";
  double noise = 0;            ///< standard deviation of a release; 0: calibrated to the budget
  std::vector<double> budget;  ///< epsilon, delta; empty: none
  double delta = 1e-6;         ///< at which epsilon is reported where there is no budget
  std::size_t releases = 0;    ///< iterations with a release; 0: chosen (mechanism marginal, with a budget)
  std::size_t colluding = 0;   ///< marginal: clients assumed to pool what they know; each adds noise accordingly
  double record_mass = 0;      ///< marginal: the largest mass of a record; 0: of a, which is public then
  double cost_bound = 0;       ///< marginal: releases <P, min(C, this)> as well; 0: no cost is released
  double clip = 0;             ///< scalings: S
  std::string rows_moved =
      "all";  ///< scalings: rows that one record can move: all (of a slice), a number, or paper (1)
  std::int64_t release_every = 1;  ///< scalings: iterations from one release to the next
  double private_up_to = 10;       ///< a run that guarantees no smaller epsilon is not called private
  std::size_t noise_seed = 0;      ///< for experiments: noise anybody can repeat, so the run is not private; 0: none

  /// To stop, set it to true (from a signal handler or another thread) and leave it so. The current iteration is
  /// abandoned, and the result is that of the last finished one. Costs that would take more than about a second to
  /// evaluate are left out (NaN). Before the first iteration is finished, solve() throws Interrupted.
  const std::atomic<bool>* interrupt = nullptr;
  /// Called from the solving thread after each check. Must not throw.
  std::function<void(const Progress&)> on_check;
  /// Called by every client of this process after each of its checks, by its own thread: several calls may run at the
  /// same time. With clients in processes of their own, each process sees its client alone. Must not throw.
  std::function<void(const ClientProgress&)> on_client_check;
};

}  // namespace fedsinkhorn
