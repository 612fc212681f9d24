#include "iteration/log_sinkhorn.hpp"

#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "comm/secure_sums.hpp"
#include "core/half_step.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/sums_account.hpp"

namespace fedsinkhorn {
namespace {

/// Of exp((f + g - C) / epsilon) on the side of this potential, given the log sums over the other side.
double marginal_error(const Collectives& clients, Norm norm, double epsilon, const std::vector<double>& potential,
                      const std::vector<double>& log_sums, const double* mass) {
  std::vector<double> sums(potential.size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = std::exp(potential[i] / epsilon + log_sums[i]);
  ErrorPart part = error_part(norm, sums.data(), mass, sums.size());
  combine_of_all(clients, norm, {&part, 1});
  return error_of(norm, part);
}

Outcome solve_target(const CheckedProblem& problem, Topology& topology, Monitor& monitor, StopRequest& stop,
                     std::size_t target) {
  const Options& options = monitor.options();
  const double epsilon = problem.epsilon;
  const ScalingRule& rule = problem.rule;
  const std::size_t n = problem.n();
  const std::size_t m = problem.m();
  const double* b = problem.target(target);
  std::vector<double> f(n, 0.0);
  std::vector<double> g(m, 0.0);
  if (problem.has_initial_g) g.assign(problem.initial_g(target), problem.initial_g(target) + m);
  std::vector<double> row_sums(n);
  std::vector<double> column_sums(m);
  const std::vector<double> no_weights(n, 0.0);

  const auto error = [&](const std::vector<double>& potential, const std::vector<double>& log_sums,
                         const double* mass) {
    return marginal_error(topology.clients(), options.norm, epsilon, potential, log_sums, mass);
  };

  Outcome outcome;
  outcome.target = target;
  topology.row_log_sums(g, row_sums);
  std::vector<double> f_before;
  std::vector<double> g_before;
  double longest = 0;  // longest iteration, in seconds
  try {
    for (std::int64_t iteration = 1;; ++iteration) {
      const Stopwatch::Scope timed(monitor.iterating());
      const Timer timer;
      f_before = f;
      g_before = g;
      const double error_a = error(f, row_sums, problem.a.data());
      for (std::size_t i = 0; i < n; ++i) f[i] = rule.potential(epsilon, problem.a[i], row_sums[i]);
      topology.column_log_sums(f, no_weights, column_sums);
      const double error_b = error(g, column_sums, b);
      for (std::size_t j = 0; j < m; ++j) g[j] = rule.potential(epsilon, b[j], column_sums[j]);
      topology.row_log_sums(g, row_sums);  // for the next iteration and for the error of this one

      longest = std::max(longest, timer.seconds());
      std::vector<double> of_all = {monitor.interrupted() ? 1.0 : 0.0, longest};
      greatest_of_all(topology.clients(), of_all);
      if (of_all[0] > 0) {  // some client may have skipped part of it
        if (iteration == 1 && target == 0) throw Interrupted();
        if (of_all[1] <= kPatience) stop.ignore();
        f = f_before;
        g = g_before;
        outcome.status = Status::interrupted;
        break;
      }

      outcome.iterations = iteration;
      outcome.error = {error(f, row_sums, problem.a.data()), error(g, column_sums, b)};
      if (monitor.is_check(iteration))
        monitor.record(iteration, {error_a, error_b}, problem.targets - target, {.epsilon = epsilon});
      if (!std::isfinite(outcome.error.a) || !std::isfinite(outcome.error.b)) {
        outcome.status = Status::diverged;
        break;
      }
      if (monitor.is_check(iteration) && monitor.small_enough(worse(outcome.error.a, outcome.error.b))) {
        outcome.status = Status::converged;
        for (std::size_t i = 0; i < n; ++i) {
          const bool is_behind = is_left_behind(std::exp(f[i] / epsilon + row_sums[i]), problem.a[i], problem.mass);
          if (is_behind) f[i] = rule.potential(epsilon, problem.a[i], row_sums[i]);
        }
        break;
      }
      if (iteration >= options.max_iterations) {
        outcome.status = Status::iteration_limit;
        break;
      }
    }
  } catch (const SumsSpent&) {  // the iteration is void
    f = f_before;
    g = g_before;
    outcome.status = Status::sums_limit;
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    if (outcome.iterations == 0) outcome.error = {unknown, unknown};
  }
  outcome.f = {f, std::vector<double>(n)};
  outcome.g = {g, std::vector<double>(m)};
  return outcome;
}

}  // namespace

std::vector<Outcome> log_sinkhorn(const CheckedProblem& problem, Topology& topology, Monitor& monitor,
                                  StopRequest& stop) {
  std::vector<Outcome> outcomes;
  SecureSums* const limited = problem.most_sums > 0 ? topology.clients().sums() : nullptr;
  if (limited != nullptr) limited->show_at_most(problem.most_sums - numbers_at_the_end(sums_shape(problem)));
  for (std::size_t k = 0; k < problem.targets; ++k) {
    outcomes.push_back(solve_target(problem, topology, monitor, stop, k));
  }
  if (limited != nullptr) limited->show_at_most(problem.most_sums);
  return outcomes;
}

}  // namespace fedsinkhorn
