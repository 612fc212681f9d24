// Worst-case risk: how bad a loss can be under any distribution near the observed one (Blanchet and Murthy, 2019).
//
//   maximise  sum_ij P_ij l_j  -  epsilon * sum_ij P_ij log(P_ij / a_i)   over P >= 0, P 1 = a, <P, c> <= radius
//
// a: masses of the n observed returns x_i (days). l_j: loss in scenario y_j. c_ij = c(x_i, y_j): cost of moving a day.
// Only the row marginal is fixed. For a multiplier lambda of the constraint, P_ij = a_i softmax_j((l_j - lambda c_ij) /
// epsilon), so clients that each hold some of the days exchange sums alone. docs/risk.md explains the idea.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/matrix.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

/// sqeuclidean, euclidean, cosine: as Metric. mahalanobis: (x - y)' S^-1 (x - y), S the covariance of the returns.
enum class RiskCost { sqeuclidean, euclidean, cosine, mahalanobis };

/// The names of the inputs in error messages; the command line puts file names here.
struct RiskNames {
  std::string returns = "returns";
  std::string scenarios = "scenarios";
  std::string weights = "weights";
  std::string a = "a";
  std::string covariance = "covariance";
  std::string costs = "costs";
  std::string scenario_losses = "scenario losses";
  std::string return_losses = "return losses";
  std::string stress_marginal = "stress marginal";
};

/// Views only: the caller keeps the data alive until the call returns. All clients have the same scenarios, weights,
/// covariance and losses of scenarios.
struct RiskProblem {
  // Either returns, scenarios and a cost between them ...
  AnyMatrix returns{};    ///< n x d, one day per row; with is_part, this client's days alone
  AnyMatrix scenarios{};  ///< m x d
  RiskCost cost = RiskCost::sqeuclidean;
  MatrixView<double> covariance{};  ///< of mahalanobis, d x d; empty: that of the returns of all clients
  // ... or the costs themselves; +inf forbids a move.
  AnyMatrix costs{};  ///< n x m; with is_part, this client's rows alone

  // Either weights: the loss at x is w.x (with are_gains, -w.x) ...
  std::span<const double> weights{};  ///< d
  bool are_gains = false;
  // ... or the losses themselves.
  std::span<const double> scenario_losses{};  ///< m
  std::span<const double> return_losses{};    ///< n, like the rows; empty: not known, nor is the loss before

  std::span<const double> a{};  ///< n masses, like the rows; scaled to total 1; empty means uniform
  bool is_part = false;         ///< rows (returns or costs, return_losses, a) are this client's part of the whole

  double radius = 0;      ///< largest <P, c>, in units of the cost; 0 or more
  double epsilon = 0;     ///< in units of the loss; must be positive
  double cvar_level = 0;  ///< 0: the expected loss; else the conditional value at risk at this level, such as 0.95
  /// Each day may also stay where it is, at no cost. (Otherwise it must move to some scenario.) Needs the losses of the
  /// days.
  bool may_stay = false;
  RiskNames names{};
};

/// What a progress display needs.
struct RiskProgress {
  std::int64_t passes = 0;  ///< over all pairs of days and scenarios, so far
  std::size_t radii_done = 0;
  std::size_t radii = 1;
  double radius = 0;          ///< the one being worked on
  double transport_cost = 0;  ///< by the last pass
  double lambda = 0;
};

/// Of Options, these are used: clients, threads, simd, transport, scenario, policy (open or sums), share_matrices
/// (for the covariance of the returns), most_sums, server, keys, timeout, tolerance (of the transport cost, relative to
/// the radius), max_iterations (of a search for lambda), interrupt. stressed_plan uses all of them.
struct RiskOptions {
  Options options{};
  std::vector<double> radii{};     ///< solves for these, too (RiskResult::sweep)
  bool skips_unreachable = false;  ///< leaves out radii below RiskResult::least_radius instead of refusing them
  /// Called by client 0 after every pass.
  std::function<void(const RiskProgress&)> on_pass{};
};

/// The worst case at one radius.
struct WorstCase {
  double radius = 0;
  double loss = 0;            ///< sum_ij P_ij l_j, or the conditional value at risk of P
  double lambda = 0;          ///< the multiplier: how fast the worst case grows with the radius; 0: it no longer does
  double transport_cost = 0;  ///< <P, c>
  /// An upper bound on the worst case without entropy, lambda * radius + sum_i a_i max_j(l_j - lambda c_ij). The loss
  /// is a lower bound. They differ by epsilon log m at most (log(m + 1) if days may stay), once the search has
  /// converged.
  double dual = 0;
  /// What is maximised, with entropy, and its dual; they agree once the search has converged.
  double entropic_primal = 0;
  double entropic_dual = 0;
  double value_at_risk = 0;  ///< with cvar_level: of P, at that level; else NaN
  bool is_binding = true;    ///< false: the radius is more than the worst case needs; lambda is 0
  Status status = Status::iteration_limit;
  std::int64_t passes = 0;

  [[nodiscard]] double duality_gap() const { return dual - loss; }
};

/// Where the mass of one day goes.
struct DayMove {
  std::size_t day = 0;       ///< row among those of all clients
  double mass = 0;           ///< a_i
  double loss_before = 0;    ///< NaN if not known
  double loss_after = 0;     ///< expected
  double cost = 0;           ///< expected c_ij
  std::size_t scenario = 0;  ///< the likeliest; the number of scenarios if the day most likely stays
  double share = 0;          ///< of the day's mass that goes there
  double stays = 0;          ///< share that stays where it is (RiskProblem::may_stay)
};

/// Mass by loss: bins of equal width from `first` to `last`.
struct LossHistogram {
  double first = 0;
  double last = 0;
  std::vector<double> before;  ///< empty if losses of days are not known
  std::vector<double> after;
};

struct RiskResult {
  Status status = Status::iteration_limit;
  double expected_loss = 0;        ///< of the observed days (or their CVaR); NaN if their losses are not known
  double value_at_risk = 0;        ///< of the observed days; NaN without cvar_level
  WorstCase worst;                 ///< at RiskProblem::radius
  std::vector<WorstCase> sweep;    ///< at RiskOptions::radii, in that order; losses to about 1e-6, lambda to 1e-3
  std::vector<WorstCase> visited;  ///< every pass is the worst case at some radius: these, by radius; no CVaR
  double least_radius = 0;    ///< sum_i a_i min_j c_ij: below it, no distribution over the scenarios is near enough
  double largest_radius = 0;  ///< above it, a larger radius changes nothing; NaN for CVaR

  std::vector<double> scenario_weights;  ///< m: the worst-case distribution, mass that stays left out
  std::vector<double> scenario_losses;   ///< m
  double stays = 0;                      ///< mass that stays where it is
  /// Days of this client (of all clients if they are in one process, or at client 0 if the policy is open), in order.
  std::vector<DayMove> moves;
  LossHistogram histogram;

  /// stressed_plan: the Sinkhorn solve at lambda, with potentials in units of the loss: P = exp((f + g - lambda c) /
  /// epsilon). The loss is then fixed by the stress marginal, and passes are solves.
  std::optional<Result> coupling;

  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t dimension = 0;  ///< 0: costs were given
  std::int64_t passes = 0;
  double seconds = 0;
  std::size_t client_count = 1;
  std::size_t this_client = 0;
  std::vector<ClientReport> clients;  ///< as in Result
  std::string policy;
  SumsReport sums;
  std::string simd;
  int threads = 1;
};

/// Solves with Options::clients clients in this process; with one problem per client, each has its part. Throws like
/// solve(): InputError also if radius is below RiskResult::least_radius.
[[nodiscard]] RiskResult worst_case(const RiskProblem& problem, const RiskOptions& options = {});
[[nodiscard]] RiskResult worst_case(std::span<const RiskProblem> clients, const RiskOptions& options = {});
[[nodiscard]] RiskResult worst_case(const RiskProblem& problem, const RiskOptions& options, Session& session);

/// The paper's variant: the distribution over scenarios is given, too (P' 1 = b), so the expected loss is sum_j b_j l_j
/// whatever P is. What remains is to couple days and scenarios at <P, c> = radius. lambda: solves at this multiplier
/// instead of searching for one, radius being ignored.
struct StressMarginal {
  std::span<const double> b{};  ///< m masses; scaled to total 1
  std::optional<double> lambda{};
};
[[nodiscard]] RiskResult stressed_plan(const RiskProblem& problem, const StressMarginal& stress,
                                       const RiskOptions& options = {});
[[nodiscard]] RiskResult stressed_plan(std::span<const RiskProblem> clients, const StressMarginal& stress,
                                       const RiskOptions& options = {});
[[nodiscard]] RiskResult stressed_plan(const RiskProblem& problem, const StressMarginal& stress,
                                       const RiskOptions& options, Session& session);

}  // namespace fedsinkhorn
