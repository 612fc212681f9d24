// What came out. Stopping without convergence is a status here, never an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedsinkhorn {

enum class Norm { l1, l2, linf };

/// fused: one read of the kernel an iteration. two: two products, each output element summed by one thread in a fixed
/// order. Both give the same bits for every number of threads (fused: up to three targets).
enum class Passes { fused, two };

/// client_lost: a client fell silent and the others ended without it (see ClientLost).
enum class Status { converged, iteration_limit, diverged, interrupted, client_lost };

/// Norms of P 1 - a and P' 1 - b.
struct MarginalErrors {
  double a = 0;
  double b = 0;
};

/// Of one plan P, whose total mass need not be 1. NaN or infinite where the number is not known or not representable.
struct Costs {
  double linear = 0;           ///< <P, C>
  double entropy = 0;          ///< -sum P (log P - 1): Shannon's and the total mass
  double objective = 0;        ///< linear - epsilon * entropy, what is minimised
  double dual = 0;             ///< <f, a> + <g, b> - epsilon * sum P, a lower bound of the least objective
  double shannon_entropy = 0;  ///< -sum P log P
  double kl_objective = 0;     ///< linear + epsilon * KL(P | a x b); KL(P | Q) = sum P log(P / Q) - sum P + sum Q
};

struct TargetResult {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  MarginalErrors error;
  Costs cost;
};

/// Errors as the two half-steps of an iteration met them: a before u was updated, b before v was; of the plan at that
/// level's epsilon, and with several targets of the worst.
struct TraceRow {
  std::int64_t iteration = 0;
  double seconds = 0;
  double error_a = 0;
  double error_b = 0;
  double epsilon = 0;         ///< of the level
  std::int64_t rejected = 0;  ///< rounds so far that did not count, of all targets
  std::size_t history = 0;    ///< differences the next point rests on
  double omega = 1;           ///< relaxation of the next round
};

/// Bytes by what they were for.
struct TrafficBytes {
  std::uint64_t setup = 0;     ///< agreeing on the problem
  std::uint64_t rounds = 0;    ///< the rounds of the iteration
  std::uint64_t rebuilds = 0;  ///< potentials for new kernels, measurements of marginals
  std::uint64_t results = 0;   ///< costs and potentials at the end

  [[nodiscard]] std::uint64_t total() const { return setup + rounds + rebuilds + results; }
};

/// How old slices of u or v were when a client first used them: in its own iterations begun since they were published,
/// 0 if that was during the iteration that used them.
struct DelayRow {
  char slice = 'u';
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<std::uint64_t> uses;  ///< by age: 0, 1, 2, ...
  std::uint64_t superseded = 0;     ///< came, and were replaced before they were used

  [[nodiscard]] bool operator==(const DelayRow&) const = default;
};

/// What one client held and spent.
struct ClientReport {
  std::size_t client = 0;
  std::size_t first_row = 0;
  std::size_t last_row = 0;  ///< one past the end
  std::size_t first_column = 0;
  std::size_t last_column = 0;
  double compute_seconds = 0;
  double communication_seconds = 0;
  TrafficBytes sent;
  TrafficBytes received;
  std::int64_t iterations = 0;          ///< it made; they differ between clients only in topology async
  std::uint64_t exchanges = 0;          ///< times it waited for slices of others during the rounds
  std::uint64_t kernel_bytes = 0;       ///< of the blocks of K it holds; on a device, of all it holds there
  std::uint64_t peak_memory_bytes = 0;  ///< largest resident set of its process; clients of one process share it
  int device = -1;                      ///< number of the device it computed with; -1: none
};

/// The potentials define the plan: P_ij = exp((f_i + g_j - C_ij) / epsilon), f and g with their rests. Errors and costs
/// are of that plan. They are in cost units; the paper's
/// scalings are u = exp(f / epsilon), v = exp(g / epsilon). Where a_i = 0, f_i = -inf (likewise g).
/// Client 0 gets all of it (of f its own rows alone with Options::keep_local); other MPI ranks get their own rows of f,
/// all of g, and of the reports and delays their own.
struct Result {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  std::uint64_t exchanges = 0;

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t first_row = 0;     ///< of those in f
  std::size_t first_column = 0;  ///< of those in g; another than 0 only where a client was lost
  std::vector<double> f;         ///< rows x targets, row-major
  std::vector<double> g;         ///< columns x targets, row-major
  /// What rounding the potentials to float64 left out: f + f_rest has about twice the digits, which the plan needs
  /// when epsilon is tiny beside the potentials.
  std::vector<double> f_rest;
  std::vector<double> g_rest;
  bool rests_matter = false;  ///< rounding f and g to float64 alone would cost more than a tenth of the tolerance
  /// At most so large is the L1 marginal error that leaving out the rests causes; worst target.
  double rounding_error = 0;

  Norm norm = Norm::l1;
  double mass = 1;  ///< total of a, and so of the plan; the tolerance is a share of it, the errors are not
  /// Totals of b that differ from that of a within Problem::mass_tolerance are scaled to it, and where forbidden pairs
  /// leave several connected components, so are those of every component; the largest |factor - 1|. Errors refer to the
  /// scaled b.
  double mass_rescaled = 0;
  MarginalErrors error;  ///< of the plan defined by f, g and the kernel at the chosen precision; worst target
  Costs cost;            ///< summed over the targets
  std::vector<TargetResult> per_target;  ///< always filled, one entry a target
  std::vector<TraceRow> trace;
  std::vector<ClientReport> clients;
  std::vector<std::size_t> lost_clients;  ///< those that fell silent (status client_lost)
  std::vector<DelayRow> delays;           ///< topology async: every ordered pair of clients, u and v

  /// Marginal errors of f and g on the costs as given, evaluated in float64: differs from `error` only when the
  /// kernel is held in less than float64.
  MarginalErrors exact_error;
  /// Roughly the marginal error below which rounding in the chosen precision drowns the rest, rests included.
  double error_floor = 0;

  double solve_seconds = 0;              ///< iterations only; virtual seconds with transport simulated
  double virtual_seconds = 0;            ///< transport simulated: when the last client had its result; else 0
  double wall_seconds = 0;               ///< reading, checking and building included
  std::int64_t absorptions = 0;          ///< times the kernel was rebuilt around new potentials
  std::int64_t rejected = 0;             ///< rounds that did not count, of all targets; they are among the iterations
  std::int64_t levels = 0;               ///< of epsilon before the last
  std::size_t targets_solved_alone = 0;  ///< targets too far from the others to share their kernel
  std::uint64_t kernel_bytes = 0;
  std::string simd;
  std::string backend;  ///< cpu or cuda
  std::string device;   ///< cuda: its name, that of this client
  std::string topology;
  std::string method;  ///< auto is what it came to
  std::string transport;
  bool clock_is_virtual = false;  ///< the transport simulates: all times but wall_seconds are virtual
  Passes passes = Passes::two;
  std::string pass_plan;  ///< how a pass goes over a stored kernel, chosen by this machine's caches and by trying
  std::size_t this_client = 0;
  int threads = 1;  ///< of each client
};

}  // namespace fedsinkhorn
