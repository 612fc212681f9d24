// What came out. Stopping without convergence is a status here, never an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fedsinkhorn {

enum class Norm { l1, l2, linf };

enum class Status { converged, iteration_limit, diverged, interrupted };

/// Norms of P 1 - a and P' 1 - b.
struct MarginalErrors {
  double a = 0;
  double b = 0;
};

/// All in cost units except the entropy.
struct Costs {
  double linear = 0;     ///< <P, C>
  double entropy = 0;    ///< -sum P (log P - 1)
  double objective = 0;  ///< linear - epsilon * entropy, what is minimised
  double dual = 0;       ///< <f, a> + <g, b> - epsilon * sum P, a lower bound of the least objective
};

struct TargetResult {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  MarginalErrors error;
  Costs cost;
};

/// Errors as the two half-steps of an iteration met them: a before u was updated, b before v was.
struct TraceRow {
  std::int64_t iteration = 0;
  double seconds = 0;
  double error_a = 0;
  double error_b = 0;
};

/// What one client held and spent.
struct ClientReport {
  std::size_t client = 0;
  std::size_t first_row = 0;
  std::size_t last_row = 0;  ///< one past the end
  double compute_seconds = 0;
  double communication_seconds = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

/// The potentials define the plan: P_ij = exp((f_i + g_j - C_ij) / epsilon). They are in cost units; the paper's
/// scalings are u = exp(f / epsilon), v = exp(g / epsilon). Where a_i = 0, f_i = -inf (likewise g).
struct Result {
  Status status = Status::iteration_limit;
  std::int64_t iterations = 0;
  std::uint64_t exchanges = 0;

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::vector<double> f;  ///< rows x targets, row-major
  std::vector<double> g;  ///< columns x targets, row-major
  /// What rounding the potentials to float64 left out: f + f_rest has about twice the digits, which the plan needs
  /// when epsilon is tiny beside the potentials.
  std::vector<double> f_rest;
  std::vector<double> g_rest;

  Norm norm = Norm::l1;
  /// Totals of b that differ from that of a within Problem::mass_tolerance are scaled to it; the largest |factor - 1|.
  /// Errors refer to the scaled b.
  double mass_rescaled = 0;
  MarginalErrors error;  ///< of the plan defined by f, g and the kernel at the chosen precision; worst target
  Costs cost;            ///< summed over the targets
  std::vector<TargetResult> per_target;  ///< always filled, one entry a target
  std::vector<TraceRow> trace;
  std::vector<ClientReport> clients;

  /// Marginal errors of f and g on the costs as given, evaluated in float64: differs from `error` only when the
  /// kernel is held in less than float64.
  MarginalErrors exact_error;
  /// Roughly the marginal error below which rounding in the chosen precision drowns the rest.
  double error_floor = 0;

  double solve_seconds = 0;              ///< iterations only
  double wall_seconds = 0;               ///< reading, checking and building included
  std::int64_t absorptions = 0;          ///< times the kernel was rebuilt around new potentials
  std::size_t targets_solved_alone = 0;  ///< targets too far from the others to share their kernel
  std::uint64_t kernel_bytes = 0;
  std::string simd;
  std::string backend;
  int threads = 1;
};

}  // namespace fedsinkhorn
