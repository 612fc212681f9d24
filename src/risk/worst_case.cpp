// The worst case over all distributions near the observed one: only the row marginal is fixed.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "comm/counting.hpp"
#include "core/range.hpp"
#include "core/stopwatch.hpp"
#include "risk/client_risk.hpp"
#include "risk/given.hpp"
#include "risk/meeting.hpp"
#include "risk/outlook.hpp"
#include "risk/worst_cases.hpp"

namespace fedsinkhorn {
namespace {

/// Ascending radii in an order that has the ends first, then what is halfway between those before: the curve is then
/// known on both sides of most radii before they are solved for.
std::vector<std::size_t> halving_order(const std::vector<double>& radii) {
  std::vector<std::size_t> ascending(radii.size());
  for (std::size_t k = 0; k < ascending.size(); ++k) ascending[k] = k;
  std::ranges::stable_sort(ascending, {}, [&](std::size_t k) { return radii[k]; });
  std::vector<std::size_t> order;
  if (ascending.empty()) return order;
  order.push_back(ascending.front());
  if (ascending.size() > 1) order.push_back(ascending.back());
  std::vector<Range> between = {{0, ascending.size() - 1}};
  for (std::size_t next = 0; next < between.size(); ++next) {
    const Range range = between[next];
    const std::size_t middle = (range.first + range.last) / 2;
    if (middle == range.first) continue;
    order.push_back(ascending[middle]);
    between.push_back({range.first, middle});
    between.push_back({middle, range.last});
  }
  return order;
}

/// Solves for the radii one by one; stops where asked to. Those of a CVaR start from the one before, in order.
void sweep(const RiskOptions& options, bool in_order, WorstCases& worst_cases, RiskProgress& progress,
           RiskResult& result) {
  const std::vector<double>& radii = options.radii;
  std::vector<std::size_t> order = halving_order(radii);
  if (in_order) std::ranges::stable_sort(order, {}, [&](std::size_t k) { return radii[k]; });
  std::vector<std::optional<WorstCase>> solved(radii.size());
  try {
    for (const std::size_t k : order) {
      if (options.skips_unreachable && radii[k] < result.least_radius) continue;
      if (worst_cases.are_sums_spent()) {
        result.status = Status::sums_limit;
        break;
      }
      progress.radius = radii[k];
      solved[k] = worst_cases.near(radii[k]);
      ++progress.radii_done;
      if (solved[k]->status != Status::converged) result.status = solved[k]->status;
    }
  } catch (const Interrupted&) {
    result.status = Status::interrupted;
  }
  for (const std::optional<WorstCase>& one : solved) {
    if (one) result.sweep.push_back(*one);
  }
}

}  // namespace

RiskResult worst_case_as_client(const RiskProblem& problem, const RiskOptions& options, Communicator& communicator) {
  const Timer wall;
  RiskMeeting meeting(problem, options, communicator);
  const Collectives& clients = meeting.clients;
  CountingCommunicator& traffic = meeting.link.traffic();
  RiskProgress progress;
  progress.radii = 1 + options.radii.size();
  progress.radius = problem.radius;
  TiltedPass pass(meeting.days, problem.epsilon, clients, meeting.computing, [&](const TiltedTotals& at) {
    ++progress.passes;
    progress.lambda = at.lambda;
    progress.transport_cost = meeting.days.least_radius + at.excess;
    if (options.on_pass && clients.rank() == 0) options.on_pass(progress);
  });
  RiskResult result;
  describe_before(meeting.days, clients, problem.cvar_level, result);
  traffic.set_phase(Phase::rounds);
  const std::optional<double> threshold =
      std::isnan(result.value_at_risk) ? std::nullopt : std::optional(result.value_at_risk);
  WorstCases worst_cases(pass, problem.cvar_level, threshold, meeting.options.max_iterations, meeting.most_sums);
  result.worst = worst_cases.at(problem.radius, meeting.options.tolerance);
  result.status = result.worst.status;
  ++progress.radii_done;
  const TiltedPlan plan = worst_cases.plan();
  result.least_radius = meeting.days.least_radius;
  result.largest_radius = problem.cvar_level > 0 ? std::numeric_limits<double>::quiet_NaN()
                                                 : result.least_radius + worst_cases.free_plan().excess;
  sweep(options, problem.cvar_level > 0, worst_cases, progress, result);
  result.visited = worst_cases.visited();
  traffic.set_phase(Phase::results);
  result.scenario_weights = plan.columns;
  result.scenario_losses = meeting.days.scenario_losses;
  result.stays = plan.stays;
  describe_losses(meeting.days, clients, plan, result);
  gather_outlook(meeting.days, clients, traffic, pass.compute_seconds(), plan.moves, result);
  result.dimension = has_points(problem) ? columns_of(problem.scenarios) : 0;
  result.passes = pass.passes();
  result.policy = meeting.options.policy;
  report_sums(problem, meeting, result);
  result.simd = meeting.computing.simd.name;
  result.threads = meeting.threads;
  clients.barrier();  // a client that has left no longer answers and would count as lost
  result.seconds = wall.seconds();
  return result;
}

}  // namespace fedsinkhorn
