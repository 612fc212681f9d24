#include "solve/summarize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/names.hpp"
#include "cost/points_input.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

/// The worst status of all targets: what a user must know first.
Status overall(std::span<const TargetResult> targets) {
  for (const Status status :
       {Status::client_lost, Status::interrupted, Status::diverged, Status::sums_limit, Status::iteration_limit}) {
    if (std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.status == status; })) return status;
  }
  return Status::converged;
}

Costs sum(const Costs& x, const Costs& y) {
  return {x.linear + y.linear,
          x.entropy + y.entropy,
          x.objective + y.objective,
          x.dual + y.dual,
          x.shannon_entropy + y.shannon_entropy,
          x.kl_objective + y.kl_objective};
}

void describe_costs(const CheckedProblem& problem, const Options& options, Result& result) {
  describe_points(problem, result);
  const PointsInput* points = problem.costs->points();
  const CostShape here = problem.costs->shape();
  const bool has_all = here.rows == problem.rows.given && here.columns == problem.columns.given;
  const bool is_exact = !problem.costs_from_points && !policy_of(options).keeps_apart;
  result.largest_cost = points != nullptr && has_all ? points->far_cost() : problem.largest_cost;
  result.largest_cost_is_bound = !is_exact && !(points != nullptr && has_all);
}

}  // namespace

void describe_points(const CheckedProblem& problem, Result& result) {
  const PointsInput* points = problem.costs->points();
  if (points == nullptr) return;
  result.dimension = points->shape().dimension;
  result.metric = name_of(points->clouds().metric);
}

Result summarize(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                 std::span<const Evaluation> evaluations) {
  Result result;
  result.rows = problem.rows.given;
  result.columns = problem.columns.given;
  result.targets = problem.targets;
  describe_costs(problem, options, result);
  result.mass = problem.as_given(problem.mass);
  result.mass_rescaled = problem.mass_rescaled;
  result.is_normalized = options.normalize;
  result.norm = options.norm;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const Outcome& outcome = outcomes[k];
    const Evaluation& evaluation = evaluations[k];
    const bool was_measured = !std::isnan(worse(outcome.error.a, outcome.error.b));
    const MarginalErrors& measured = was_measured ? outcome.error : evaluation.error;
    const MarginalErrors error = {problem.as_given(measured.a), problem.as_given(measured.b)};
    result.per_target.push_back({outcome.status, outcome.iterations, error, evaluation.cost});
    result.iterations = std::max(result.iterations, outcome.iterations);
    result.error.a = worse(result.error.a, error.a);
    result.error.b = worse(result.error.b, error.b);
    result.exact_error.a = worse(result.exact_error.a, problem.as_given(evaluation.error.a));
    result.exact_error.b = worse(result.exact_error.b, problem.as_given(evaluation.error.b));
    result.cost = sum(result.cost, evaluation.cost);
  }
  result.status = overall(result.per_target);
  return result;
}

std::vector<Evaluation> unknown_evaluations(std::size_t count) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  return std::vector<Evaluation>(count, {{unknown, unknown, unknown, unknown, unknown, unknown}, {unknown, unknown}});
}

}  // namespace fedsinkhorn
