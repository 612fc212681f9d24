// The way through: check, predict memory, build, iterate, evaluate.
#include "fedsinkhorn/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "core/checked_problem.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "kernel/kernel.hpp"
#include "registry.hpp"
#include "solve/absorbed_sinkhorn.hpp"
#include "solve/evaluate.hpp"
#include "solve/high_precision.hpp"
#include "solve/log_sinkhorn.hpp"

namespace fedsinkhorn {
namespace {

int threads_to_use(const Options& options) {
  if (options.threads > 0) return options.threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void check_options(const Options& options) {
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance)) {
    throw InputError("--tolerance", fmt::format("{} is not a tolerance", options.tolerance),
                     "give 0 (run the whole budget) or a positive number");
  }
  if (options.max_iterations < 1) throw InputError("--max-iterations", "must be at least 1");
  if (options.check_every < 1) throw InputError("--check-every", "must be at least 1");
  if (options.threads < 0 || options.threads > 4096) {
    throw InputError("--threads", fmt::format("{} is out of range", options.threads),
                     "give 1 to 4096, or 0 for all cores");
  }
  (void)cpu::simd(options.simd);
  find_entry(methods(), options.method, "--method");
  find_entry(topologies(), options.topology, "--topology");
  const BackendEntry& backend = find_entry(backends(), options.backend, "--backend");
  if (!backend.missing.empty()) {
    throw InputError("--backend", fmt::format("'{}' was asked for but this is {}", backend.name, backend.missing),
                     "use cpu or auto");
  }
}

KernelSpec kernel_spec(const Options& options, double epsilon, int threads) {
  return {options.kernel, options.precision, epsilon, threads};
}

// As float64, which no shape can make wrap.
double bytes_for(const Problem& problem, const Options& options, std::size_t n, std::size_t m, std::size_t targets) {
  if (options.precision == Precision::digits50) return precise_bytes(n, m);
  const int threads = threads_to_use(options);
  const auto lines = static_cast<double>(n) + static_cast<double>(m);
  const auto stride = static_cast<double>(cpu::padded<double>(m));
  double bytes = static_cast<double>(targets) * lines * sizeof(double) * 14;  // scalings, products, potentials, results
  bytes += static_cast<double>(threads) * cpu::kRowBlock * stride * 3 * sizeof(double);
  bytes += 4 * static_cast<double>(targets) * stride * sizeof(double);  // partial sums of the evaluation
  if (const auto* points = std::get_if<PointClouds>(&problem.cost)) {
    bytes += 2 * lines * static_cast<double>(columns_of(points->x)) * sizeof(double);
  }
  if (options.stabilization == Stabilization::log) return bytes;
  return bytes + kernel_bytes(kernel_spec(options, 1, threads), n, m, targets);
}

std::uint64_t whole_bytes(double bytes) {
  constexpr double most = 9e18;
  return static_cast<std::uint64_t>(std::min(bytes, most));
}

void require_memory(const Problem& problem, const Options& options, const CheckedProblem& checked) {
  const std::uint64_t needed = whole_bytes(bytes_for(problem, options, checked.n(), checked.m(), checked.targets));
  const std::uint64_t available = available_memory();
  if (needed <= available) return;
  std::string remedy;
  const auto suggest = [&](const std::string& flag, const Options& changed) {
    const std::uint64_t bytes = whole_bytes(bytes_for(problem, changed, checked.n(), checked.m(), checked.targets));
    if (bytes <= available)
      remedy += fmt::format("{}{} needs {}", remedy.empty() ? "" : ", ", flag, human_bytes(bytes));
  };
  Options changed = options;
  if (options.precision == Precision::digits50) {
    changed.precision = Precision::float64;
    suggest("--precision float64", changed);
  } else if (options.kernel == KernelKind::dense) {
    changed.kernel = KernelKind::online;
    suggest("--kernel online", changed);
    changed = options;
    changed.precision = Precision::mixed;
    if (options.precision == Precision::float64) suggest("--precision mixed", changed);
  }
  throw InputError("memory",
                   fmt::format("this solve needs {} ({} bytes) but {} is available", human_bytes(needed), needed,
                               human_bytes(available)),
                   remedy.empty() ? "use fewer rows, columns or targets" : remedy);
}

/// Unit roundoff of the arithmetic times what it acts on.
double floor_of(const CheckedProblem& problem, Precision precision, std::span<const Outcome> outcomes) {
  switch (precision) {
    case Precision::digits50: return 1e-48 * problem.mass;
    case Precision::float32:
    case Precision::mixed: return std::numeric_limits<float>::epsilon() / 2 * problem.mass;
    case Precision::float64: break;
  }
  // Potentials written as float64 are off by half a unit in their last place.
  double largest = 0;
  for (const Outcome& outcome : outcomes) {
    largest = std::max(largest, largest_magnitude(outcome.f.value) + largest_magnitude(outcome.g.value));
  }
  return std::numeric_limits<double>::epsilon() / 2 * problem.mass * (4 + largest / problem.epsilon);
}

/// Potentials of active rows or columns, spread out over all of them: -inf where there is no mass.
void scatter(const Potential& potential, const std::vector<std::size_t>& active, std::size_t target,
             std::size_t targets, std::vector<double>& values, std::vector<double>& rests) {
  for (std::size_t i = 0; i < active.size(); ++i) {
    values[active[i] * targets + target] = potential.value[i];
    rests[active[i] * targets + target] = potential.rest[i];
  }
}

/// The worst over the targets: what a user must know before anything else.
Status overall(std::span<const TargetResult> targets) {
  for (const Status status : {Status::interrupted, Status::diverged, Status::iteration_limit}) {
    if (std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.status == status; })) return status;
  }
  return Status::converged;
}

Result assemble(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                std::span<const Evaluation> evaluations) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Result result;
  result.rows = problem.rows;
  result.columns = problem.columns;
  result.targets = problem.targets;
  result.mass_rescaled = problem.mass_rescaled;
  result.norm = options.norm;
  result.f.assign(problem.rows * problem.targets, -infinity);
  result.g.assign(problem.columns * problem.targets, -infinity);
  result.f_rest.assign(result.f.size(), 0.0);
  result.g_rest.assign(result.g.size(), 0.0);
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const Outcome& outcome = outcomes[k];
    const Evaluation& evaluation = evaluations[k];
    scatter(outcome.f, problem.active_rows, outcome.target, problem.targets, result.f, result.f_rest);
    scatter(outcome.g, problem.active_columns, outcome.target, problem.targets, result.g, result.g_rest);
    result.per_target.push_back({outcome.status, outcome.iterations, outcome.error, evaluation.cost});
    result.iterations = std::max(result.iterations, outcome.iterations);
    result.error.a = worse(result.error.a, outcome.error.a);
    result.error.b = worse(result.error.b, outcome.error.b);
    result.exact_error.a = worse(result.exact_error.a, evaluation.error.a);
    result.exact_error.b = worse(result.exact_error.b, evaluation.error.b);
    result.cost.linear += evaluation.cost.linear;
    result.cost.entropy += evaluation.cost.entropy;
    result.cost.objective += evaluation.cost.objective;
    result.cost.dual += evaluation.cost.dual;
  }
  result.status = overall(result.per_target);
  result.error_floor = floor_of(problem, options.precision, outcomes);
  return result;
}

Result solve_precisely(const CheckedProblem& problem, const Options& options) {
  Monitor monitor(options);
  std::vector<Outcome> outcomes;
  std::vector<Evaluation> evaluations;
  for (PreciseOutcome& precise : precise_sinkhorn(problem, monitor)) {
    evaluations.push_back({precise.cost, precise.outcome.error});
    outcomes.push_back(std::move(precise.outcome));
  }
  Result result = assemble(problem, options, outcomes, evaluations);
  result.trace = monitor.take_trace();
  result.solve_seconds = monitor.iterating().seconds();
  result.clients = {{0, 0, problem.rows, result.solve_seconds, 0, 0, 0}};
  result.kernel_bytes = whole_bytes(precise_bytes(problem.n(), problem.m()));
  result.simd = "none";
  result.threads = 1;
  return result;
}

Result solve_fast(const CheckedProblem& problem, const Options& options) {
  const int threads = threads_to_use(options);
  const cpu::Simd& simd = cpu::simd(options.simd);
  const std::unique_ptr<CostSource> cost = make_cost_source(problem, simd);
  Options effective = options;
  // The log iteration never multiplies by K: no need to store one.
  if (options.stabilization == Stabilization::log) effective.kernel = KernelKind::online;
  const auto topology =
      find_entry(topologies(), options.topology, "--topology").make(problem, effective, threads, *cost, simd);
  Monitor monitor(options);
  std::vector<Outcome> outcomes;
  std::int64_t absorptions = 0;
  std::size_t alone = 0;
  if (options.stabilization == Stabilization::log) {
    outcomes = log_sinkhorn(problem, *topology, monitor);
  } else {
    AbsorbedSinkhorn sinkhorn(problem, *topology, monitor, safe_scaling(options.precision), threads);
    outcomes = sinkhorn.run();
    absorptions = sinkhorn.absorptions();
    alone = sinkhorn.targets_solved_alone();
  }
  Result result = assemble(problem, options, outcomes, evaluate(problem, *topology, options.norm, outcomes));
  result.trace = monitor.take_trace();
  result.clients = topology->reports();
  result.solve_seconds = monitor.iterating().seconds();
  result.absorptions = absorptions;
  result.targets_solved_alone = alone;
  result.kernel_bytes = whole_bytes(
      kernel_bytes(kernel_spec(effective, problem.epsilon, threads), problem.n(), problem.m(), problem.targets));
  result.simd = simd.name;
  result.threads = threads;
  return result;
}

}  // namespace

Result solve(const Problem& problem, const Options& options) {
  const Timer wall;
  check_options(options);
  const CheckedProblem checked = check_problem(problem, options.feasibility, threads_to_use(options));
  require_memory(problem, options, checked);
  Result result =
      options.precision == Precision::digits50 ? solve_precisely(checked, options) : solve_fast(checked, options);
  result.backend = "cpu";
  result.wall_seconds = wall.seconds();
  return result;
}

std::uint64_t predicted_bytes(const Problem& problem, const Options& options) {
  const auto [n, m] = std::visit(
      []<class C>(const C& cost) {
        if constexpr (std::is_same_v<C, CostMatrix>) {
          return std::pair{rows_of(cost.matrix), columns_of(cost.matrix)};
        } else {
          return std::pair{rows_of(cost.x), rows_of(cost.y)};
        }
      },
      problem.cost);
  return whole_bytes(bytes_for(problem, options, n, m, problem.b.empty() ? 1 : problem.b.columns));
}

}  // namespace fedsinkhorn
