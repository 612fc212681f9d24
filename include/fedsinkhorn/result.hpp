// The result of a solve. Stopping without convergence is a status here, never an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedsinkhorn {

enum class Norm { l1, l2, linf };

/// fused: the kernel is read once per iteration. two: two products, each output element summed by one thread in a fixed
/// order. Both give the same bits for every number of threads (fused: up to three targets).
enum class Passes { fused, two };

/// converged: the plan of f and g has both marginals on the costs as given, to the tolerance and a few times
/// Result::error_floor (GPUs, kernels from points in float32 and tf32: on the costs as rounded).
/// diverged: potentials grow without bound, or only the kernel as stored has converged.
/// client_lost: a client stopped answering and the others ended without it (see ClientLost).
/// budget_spent: a private run has made its releases (see PrivacyReport).
/// sums_limit: going on would have shown more sums than Options::most_sums (see SumsReport).
enum class Status { converged, iteration_limit, diverged, interrupted, client_lost, budget_spent, sums_limit };

/// Norms of P 1 - a and P' 1 - b.
struct MarginalErrors {
  double a = 0;
  double b = 0;
};

/// Costs of one plan P, whose total mass need not be 1. NaN or infinite where not known or not representable.
struct Costs {
  double linear = 0;           ///< <P, C>
  double entropy = 0;          ///< -sum P (log P - 1): Shannon entropy plus total mass
  double objective = 0;        ///< linear - epsilon * entropy, which is minimised
  double dual = 0;             ///< <f, a> + <g, b> - epsilon * sum P, a lower bound on the least objective
  double shannon_entropy = 0;  ///< -sum P log P
  double kl_objective = 0;     ///< linear + epsilon * KL(P | a x b); KL(P | Q) = sum P log(P / Q) - sum P + sum Q
};

struct TargetResult {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  MarginalErrors error;
  Costs cost;
};

/// One check of the error. Errors are those before each half-step: a before u was updated, b before v was. They are of
/// the plan at the epsilon of the level, and with several targets of the worst.
struct TraceRow {
  std::int64_t iteration = 0;
  double seconds = 0;
  double error_a = 0;
  double error_b = 0;
  double epsilon = 0;         ///< of the level
  std::int64_t rejected = 0;  ///< iterations rejected so far, summed over targets
  std::size_t history = 0;    ///< differences used for the next point
  double omega = 1;           ///< relaxation of the next iteration
  std::int64_t newton = 0;    ///< Newton steps tried so far, summed over targets
};

/// What Newton's method did, if it was used.
struct NewtonReport {
  std::int64_t steps = 0;     ///< tried, summed over targets; each is an iteration
  std::int64_t products = 0;  ///< with the Hessian, in conjugate gradients; they count as iterations
  std::int64_t from = 0;      ///< method auto: the iteration after which the first target switched to it; 0: none did
  std::size_t targets = 0;    ///< method auto: targets that did
  std::string reason;         ///< method auto: why the first one did
};

/// Bytes by purpose.
struct TrafficBytes {
  std::uint64_t setup = 0;     ///< agreeing on the problem
  std::uint64_t rounds = 0;    ///< exchanges during the iterations
  std::uint64_t rebuilds = 0;  ///< potentials for rebuilt kernels, measuring marginals
  std::uint64_t results = 0;   ///< costs and potentials at the end

  [[nodiscard]] std::uint64_t total() const { return setup + rounds + rebuilds + results; }
};

/// Ages of slices of u or v when a client first used them. The age is the number of iterations the client had begun
/// since the slice was published: 0 if it was published during the iteration that used it.
struct DelayRow {
  char slice = 'u';
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<std::uint64_t> uses;  ///< number of slices by age: 0, 1, 2, ...
  std::uint64_t superseded = 0;     ///< slices received and replaced before they were used

  [[nodiscard]] bool operator==(const DelayRow&) const = default;
};

/// Messages of one kind that a client has sent for one purpose (docs/privacy.md).
struct SentMessages {
  std::string phase;  ///< setup, rounds, rebuilds or results, as in TrafficBytes
  std::string kind;   ///< options, shape, slice, sum, note, potential, result, text, control, keys or release
  bool is_masked = false;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

/// What one client held, computed and sent.
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
  std::vector<SentMessages> left;       ///< what left it, kind by kind; known to itself and within one process
  std::int64_t iterations = 0;          ///< made by this client; they differ between clients only in topology async
  std::uint64_t exchanges = 0;          ///< times it waited for slices of others during the iterations
  std::uint64_t kernel_bytes = 0;       ///< of its blocks of K; on a device, of everything it holds there
  std::uint64_t peak_memory_bytes = 0;  ///< largest resident set of its process; clients of one process share it
  int device = -1;                      ///< number of the device it used; -1: none
  std::uint64_t unknown = 0;            ///< policy sums: numbers in the others' data, see SumsReport. Of another client
                                        ///< at least: how many of its rows have mass is its secret
};

/// Policy sums: what every client has seen. Each sum is an equation about the data of all clients. A client does not
/// know the others' rows: their costs, or their coordinates where the columns' points are known, and their masses
/// (ClientReport::unknown). Once it has seen as many numbers, they are determined in principle; fewer may be enough
/// (docs/privacy.md).
struct SumsReport {
  std::uint64_t seen = 0;      ///< numbers summed over all clients; 64 flags count as one
  std::uint64_t limit = 0;     ///< on them, the smallest of all clients; 0: none
  std::uint64_t matrices = 0;  ///< sums of matrices among them (Options::share_matrices)
  std::uint64_t unknown = 0;   ///< least ClientReport::unknown of a client that does not have all rows itself
};

/// Releases of one kind that a client has made: numbers that neighbouring data move by at most `sensitivity` (L2), plus
/// noise of standard deviation `sigma`.
struct LedgerLine {
  std::string who;
  std::string what;
  double sensitivity = 0;
  double sigma = 0;
  std::int64_t count = 0;
};

/// What somebody who knows part of the noise can tell: clients know what they have added themselves.
struct PrivacyView {
  std::string who;
  double sigma = 0;  ///< of the noise that is left
  double epsilon_exact = 0;
};

/// What a private run (policy private) has released and what that guarantees; see docs/differential-privacy.md.
struct PrivacyReport {
  std::string mechanism;  ///< empty: the run was not of that policy
  bool is_private = false;
  std::string why_not;    ///< if it is not
  std::string adjacency;  ///< which data sets are neighbours
  std::string unit;       ///< what a record is
  std::string collusion;  ///< who is assumed not to pool what they know
  std::string protects;
  std::string does_not_protect;
  double clip = 0;             ///< S; 0: nothing is clipped
  std::string clip_kind;       ///< of mechanism scalings
  std::size_t rows_moved = 0;  ///< k: rows of a release that one record can move; 0: has no meaning here
  double sensitivity = 0;      ///< the largest of any release
  double sigma = 0;            ///< the least of any release
  std::int64_t releases = 0;   ///< made, by the client that made most
  double delta = 0;
  double mu = 0;                 ///< of all releases together, see epsilon_exact
  double epsilon_exact = 0;      ///< exact composition of Gaussians
  double epsilon_rdp = 0;        ///< by Renyi's divergences, with the tighter conversion
  double epsilon_rdp_paper = 0;  ///< with the paper's
  double rdp_order = 0;
  bool is_order_at_end = false;  ///< of the grid of orders: another one would give less
  double epsilon_budget = 0;     ///< that was set; 0: none
  std::size_t colluding = 0;
  std::vector<LedgerLine> ledger;
  std::vector<PrivacyView> views;
  double released_cost = 0;   ///< <P, C> with noise; NaN: not released
  double released_total = 0;  ///< the mass released last, over the columns; NaN: there is none
  /// Of experiments with seeded noise alone: this client's part of the error of the rows after every iteration, as
  /// error_a of the trace adds up.
  std::vector<double> own_errors;
};

/// A figure of a run that was predicted (`solve --explain`, docs/cost-model.md).
struct PredictedAndMeasured {
  std::string what;  ///< seconds_per_iteration, bytes_per_iteration, memory_bytes or total_seconds
  double predicted = 0;
  double measured = 0;
};

/// The potentials define the plan: P_ij = exp((f_i + g_j - C_ij) / epsilon), f and g including their rests. Errors and
/// costs are those of this plan. Potentials are in units of the cost; the paper's scalings are u = exp(f / epsilon) and
/// v = exp(g / epsilon). Where a_i = 0, f_i = -inf (likewise g).
/// Client 0 gets everything (with Options::keep_local only its own rows of f). Other MPI ranks get their own rows of f,
/// all of g, and their own reports and delays.
struct Result {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  std::uint64_t exchanges = 0;

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t dimension = 0;  ///< coordinates of a point; 0: costs do not come from points, or this client has none
  std::string metric;         ///< between points; empty likewise
  /// Of the finite ones, in absolute value; 0 where it is not known (policy private). With points it is that of a pair
  /// that is nearly the farthest.
  double largest_cost = 0;
  std::size_t first_row = 0;     ///< first row in f
  std::size_t first_column = 0;  ///< first column in g; not 0 only where a client was lost
  std::vector<double> f;         ///< rows x targets, row-major
  std::vector<double> g;         ///< columns x targets, row-major
  /// What rounding the potentials to float64 left out: f + f_rest has about twice the digits. The plan needs them when
  /// epsilon is tiny compared with the potentials.
  std::vector<double> f_rest;
  std::vector<double> g_rest;
  bool rests_matter = false;  ///< rounding f and g to float64 alone would cost more than a tenth of the tolerance
  bool largest_cost_is_bound = false;  ///< it may be several times too large: points in parts, or policy sums
  /// Upper bound on the L1 marginal error caused by leaving out the rests; worst target.
  double rounding_error = 0;

  Norm norm = Norm::l1;
  double mass = 1;  ///< total of a, and so of the plan; the tolerance is relative to it, the errors are not
  /// Totals of b that differ from the total of a within Problem::mass_tolerance are scaled to it. Where forbidden pairs
  /// leave several connected components, this is done in each. Here is the largest |factor - 1|. Errors refer to the
  /// scaled b.
  double mass_rescaled = 0;
  bool is_normalized = false;  ///< masses were scaled to a total of 1 first (Options::normalize)
  MarginalErrors error;        ///< of the plan defined by f, g and the kernel at the chosen precision; worst target
  Costs cost;                  ///< summed over the targets
  std::vector<TargetResult> per_target;  ///< always filled, one entry per target
  std::vector<TraceRow> trace;
  std::size_t client_count = 1;  ///< clients that took part; some may not have told what they held
  std::vector<ClientReport> clients;
  std::vector<std::size_t> lost_clients;  ///< those that stopped answering (status client_lost)
  std::vector<DelayRow> delays;           ///< topology async: every ordered pair of clients, u and v

  /// Marginal errors of f and g on the costs as given, evaluated in float64. They differ from `error` only when the
  /// kernel has less precision than float64.
  MarginalErrors exact_error;
  /// Roughly the marginal error below which rounding in the chosen precision dominates; f_rest and g_rest included.
  double error_floor = 0;

  double solve_seconds = 0;      ///< iterations only; virtual seconds with transport simulated
  double virtual_seconds = 0;    ///< transport simulated: time at which the last client had its result; else 0
  double wall_seconds = 0;       ///< including reading, checking and building
  std::int64_t absorptions = 0;  ///< rebuilds of the kernel around new potentials
  std::int64_t rejected = 0;     ///< rejected iterations, summed over targets; they count as iterations
  std::int64_t levels = 0;       ///< levels of epsilon before the last
  NewtonReport newton;
  SumsReport sums;
  PrivacyReport privacy;
  std::vector<PredictedAndMeasured> explanation;  ///< empty: none was asked for
  std::string explained_by;                       ///< the profile
  std::string explanation_formula;
  std::vector<std::string> explanation_notes;
  std::size_t targets_solved_alone = 0;  ///< targets too far from the others to share their kernel
  std::uint64_t kernel_bytes = 0;
  std::string simd;
  std::string backend;  ///< cpu or cuda
  std::string device;   ///< cuda: name of this client's device
  std::string topology;
  std::string method;  ///< the method that ran: auto becomes sinkhorn where it is plain
  std::string transport;
  bool clock_is_virtual = false;  ///< the transport simulates: all times but wall_seconds are virtual
  Passes passes = Passes::two;
  std::string pass_plan;  ///< how a pass reads a stored kernel; chosen by cache sizes and measurement
  std::size_t this_client = 0;
  int threads = 1;  ///< of each client
};

}  // namespace fedsinkhorn
