// The way through: agree on options, check, predict memory, build, iterate, evaluate, gather.
#include "solve/client_solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/counting.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/processors.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/solve.hpp"
#include "kernel/kernel.hpp"
#include "problem/checked_problem.hpp"
#include "registry.hpp"
#include "solve/absorbed_sinkhorn.hpp"
#include "solve/agreement.hpp"
#include "solve/evaluate.hpp"
#include "solve/gather_result.hpp"
#include "solve/high_precision.hpp"
#include "solve/log_sinkhorn.hpp"
#include "solve/memory_needs.hpp"

namespace fedsinkhorn {
namespace {

/// Clients of one process share the processors it may use. Ranks share those of the machine, and each may have been
/// bound to some of them.
int threads_to_use(const Options& options, const ClientPlace& place) {
  if (options.threads > 0) return options.threads;
  const auto clients = static_cast<int>(place.clients_on_machine);
  const int share = place.shares_process ? processors_allowed() / clients
                                         : std::min(processors_allowed(), processors_online() / clients);
  return std::max(1, share);
}

std::string resolved_topology(const Options& options, std::size_t clients) {
  if (options.topology != "auto") return options.topology;
  return clients == 1 ? "centralized" : "all-to-all";
}

void check_clients(const Options& options, std::size_t clients) {
  if (options.clients != 0 && options.clients != clients) {
    throw InputError("--clients", fmt::format("{} were asked for", options.clients),
                     fmt::format("there are {}", clients));
  }
  const TopologyEntry& topology = find_entry(topologies(), resolved_topology(options, clients), "--topology");
  if (clients > 1 && !topology.several_clients) {
    throw InputError("--topology", fmt::format("'{}' is for one client, and there are {}", topology.name, clients),
                     "use all-to-all, star, grid or row-reduce");
  }
  if (options.precision == Precision::digits50 && clients > 1) {
    throw InputError("--precision", "50 digits are for one client", "use float64, or one client");
  }
  if (options.local_steps < 1) throw InputError("--local-steps", "must be at least 1");
  if (options.local_steps > 1 && !topology.takes_local_steps) {
    throw InputError("--local-steps", fmt::format("a {} has no rows of its own to take steps with", topology.name),
                     "use all-to-all, star or row-reduce");
  }
  if (options.local_steps > 1 && options.stabilization == Stabilization::log) {
    throw InputError("--local-steps", "is not for the iteration in logs", "use --stabilization absorption");
  }
  if (!options.row_weights.empty()) {
    if (options.row_weights.size() != clients) {
      throw InputError("--rows", fmt::format("has {} weights", options.row_weights.size()),
                       fmt::format("there are {} clients", clients));
    }
    double sum = 0;
    for (const double weight : options.row_weights) {
      if (!(weight >= 0) || std::isinf(weight)) {
        throw InputError("--rows", fmt::format("{} is not a weight", weight), "give numbers of 0 or more");
      }
      sum += weight;
    }
    if (!(sum > 0) || std::isinf(sum)) throw InputError("--rows", "the weights have no usable sum");
  }
  if (topology.name == "grid") {
    (void)grid_shape(clients, options.grid);
  } else if (options.grid.rows != 0) {
    throw InputError("--grid", fmt::format("the topology is {}", topology.name), "add --topology grid");
  }
}

void check_options(const Options& options, std::size_t clients) {
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
  find_available(backends(), options.backend, "--backend", "use cpu or auto");
  check_clients(options, clients);
}

/// What must be the same on every client, a flag a line.
std::string common_options(const Problem& problem, const Options& options, std::size_t clients) {
  std::string weights;
  for (const double weight : options.row_weights) weights += fmt::format("{},", weight);
  return fmt::format(
      "--epsilon {}\n--tolerance {}\n--norm {}\n--max-iterations {}\n--check-every {}\n--method {}\n--topology {}\n"
      "--passes {}\n--kernel {}\n--precision {}\n--stabilization {}\n--feasibility {}\n--local-steps {}\n"
      "--grid {}x{}\n--rows {}\n--keep-local {}\n",
      problem.epsilon, options.tolerance, name_of(options.norm), options.max_iterations, options.check_every,
      options.method, resolved_topology(options, clients), name_of(options.passes), name_of(options.kernel),
      name_of(options.precision), name_of(options.stabilization), name_of(options.feasibility), options.local_steps,
      options.grid.rows, options.grid.columns, weights, options.keep_local);
}

/// Ranks started with different options would wait for each other for ever, or solve different problems.
void require_common_options(const Collectives& clients, const std::string& own) {
  const std::vector<std::string> all = clients.allgather_text(own);
  agree(clients, [&] {
    const std::string& first = all.front();
    if (own == first) return;
    std::size_t begin = 0;
    std::size_t line_end = 0;
    for (std::size_t k = 0; k < own.size() && k < first.size() && own[k] == first[k]; ++k) {
      if (own[k] == '\n') begin = k + 1;
    }
    const auto line = [&](const std::string& text) {
      line_end = text.find('\n', begin);
      return text.substr(begin, line_end - begin);
    };
    const std::string mine = line(own);
    const std::size_t blank = mine.find(' ');
    throw InputError(mine.substr(0, blank), fmt::format("is {} on client {}", mine.substr(blank + 1), clients.rank()),
                     fmt::format("client 0 has {}", line(first).substr(blank + 1)));
  });
}

/// Unit roundoff of the arithmetic times what it acts on.
double floor_of(const Collectives& clients, const CheckedProblem& problem, Precision precision,
                std::span<const Outcome> outcomes) {
  switch (precision) {
    case Precision::digits50: return 1e-48 * problem.mass;
    case Precision::float32:
    case Precision::mixed: return std::numeric_limits<float>::epsilon() / 2 * problem.mass;
    case Precision::float64: break;
  }
  // Potentials written as float64 are off by half a unit in their last place.
  double largest_f = 0;
  double largest_g = 0;
  for (const Outcome& outcome : outcomes) {
    largest_f = std::max(largest_f, largest_magnitude(outcome.f.value));
    largest_g = std::max(largest_g, largest_magnitude(outcome.g.value));
  }
  const double largest = greatest_of_all(clients, largest_f) + greatest_of_all(clients, largest_g);
  return std::numeric_limits<double>::epsilon() / 2 * problem.mass * (4 + largest / problem.epsilon);
}

/// The worst over the targets: what a user must know before anything else.
Status overall(std::span<const TargetResult> targets) {
  for (const Status status : {Status::interrupted, Status::diverged, Status::iteration_limit}) {
    if (std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.status == status; })) return status;
  }
  return Status::converged;
}

/// All but the potentials.
Result summarize(const CheckedProblem& problem, const Options& options, std::span<const Outcome> outcomes,
                 std::span<const Evaluation> evaluations) {
  Result result;
  result.rows = problem.rows.given;
  result.columns = problem.columns.given;
  result.targets = problem.targets;
  result.mass_rescaled = problem.mass_rescaled;
  result.norm = options.norm;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const Outcome& outcome = outcomes[k];
    const Evaluation& evaluation = evaluations[k];
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
  return result;
}

/// What a solve hands over before results are gathered.
struct Solved {
  Result result;
  std::vector<Outcome> outcomes;
  ClientReport report;
};

Solved solve_precisely(const CheckedProblem& problem, const Options& options, Communicator& clock) {
  Monitor monitor(options, clock);
  Solved solved;
  std::vector<Evaluation> evaluations;
  for (PreciseOutcome& precise : precise_sinkhorn(problem, monitor)) {
    evaluations.push_back({precise.cost, precise.outcome.error});
    solved.outcomes.push_back(std::move(precise.outcome));
  }
  solved.result = summarize(problem, options, solved.outcomes, evaluations);
  solved.result.trace = monitor.take_trace();
  solved.result.solve_seconds = monitor.iterating().seconds();
  solved.result.simd = "none";
  solved.result.threads = 1;
  solved.report.compute_seconds = solved.result.solve_seconds;
  solved.report.kernel_bytes = whole_bytes(precise_bytes(problem.n(), problem.m()));
  return solved;
}

Solved solve_fast(const CheckedProblem& problem, const Options& options, const TopologyEntry& entry,
                  const Collectives& clients, CountingCommunicator& traffic, int threads) {
  const cpu::Simd& simd = cpu::simd(options.simd);
  Options effective = options;
  // The log iteration never multiplies by K: no need to store one.
  if (options.stabilization == Stabilization::log) effective.kernel = KernelKind::online;
  std::unique_ptr<Topology> topology;
  agree(clients, [&] {
    topology = entry.make({problem, effective, clients,
                           BlockSettings{{effective.kernel, effective.precision, problem.epsilon, threads}, simd}});
  });
  Monitor monitor(options, traffic);
  Solved solved;
  std::vector<Outcome>& outcomes = solved.outcomes;
  std::int64_t absorptions = 0;
  std::size_t alone = 0;
  if (options.stabilization == Stabilization::log) {
    traffic.set_phase(Phase::rounds);
    outcomes = log_sinkhorn(problem, *topology, monitor);
  } else {
    AbsorbedSinkhorn sinkhorn(problem, *topology, traffic, monitor, safe_scaling(options.precision), threads);
    outcomes = sinkhorn.run();
    absorptions = sinkhorn.absorptions();
    alone = sinkhorn.targets_solved_alone();
  }
  traffic.set_phase(Phase::results);
  solved.result = summarize(problem, options, outcomes, evaluate(problem, *topology, options.norm, outcomes));
  Result& result = solved.result;
  result.error_floor = floor_of(clients, problem, options.precision, outcomes);
  result.trace = monitor.take_trace();
  result.solve_seconds = monitor.iterating().seconds();
  result.absorptions = absorptions;
  result.targets_solved_alone = alone;
  result.simd = simd.name;
  result.threads = threads;
  result.passes = topology->passes();
  solved.report.compute_seconds = topology->compute_seconds();
  solved.report.exchanges = topology->exchanges();
  solved.report.kernel_bytes = whole_bytes(kernel_bytes_for(effective, shape_of(problem), threads));
  return solved;
}

}  // namespace

Result solve_as_client(const Problem& problem, const Options& given, Communicator& communicator,
                       const ClientPlace& place) {
  const Timer wall;
  Options options = given;
  if (communicator.rank() != 0) options.on_check = nullptr;
  CountingCommunicator traffic(communicator);
  {
    // Before the topology is agreed on, everybody talks to client 0 alone, which every topology allows.
    const Collectives everyone(traffic, Route::through_root);
    agree(everyone, [&] { check_options(options, communicator.size()); });
    require_common_options(everyone, common_options(problem, options, communicator.size()));
  }
  options.topology = resolved_topology(options, communicator.size());
  const TopologyEntry& entry = find_entry(topologies(), options.topology, "--topology");
  const Collectives clients(traffic, entry.route);
  const int threads = threads_to_use(options, place);
  std::vector<Layout> layouts;
  for (std::size_t k = 0; k < clients.size(); ++k) layouts.push_back(entry.layout(k, clients.size(), options));

  const CheckedProblem checked = check_problem(problem, options, layouts, clients, threads);
  require_memory(clients, options, checked, threads);
  Solved solved = options.precision == Precision::digits50
                      ? solve_precisely(checked, options, traffic)
                      : solve_fast(checked, options, entry, clients, traffic, threads);
  Result& result = solved.result;
  if (options.precision == Precision::digits50) {
    result.error_floor = floor_of(clients, checked, options.precision, solved.outcomes);
  }
  gather_potentials(clients, checked, options.keep_local && !place.shares_process, solved.outcomes, result);
  gather_reports(clients, checked, traffic, solved.report, result);
  clients.barrier();  // who has left does not answer any more and would be taken for lost
  result.backend = "cpu";
  result.topology = options.topology;
  result.transport = place.transport;
  result.this_client = clients.rank();
  result.wall_seconds = wall.seconds();
  return std::move(result);
}

std::uint64_t predicted_bytes(const Problem& problem, const Options& options) {
  ClientShape shape;
  if (const auto* points = std::get_if<PointClouds>(&problem.cost)) {
    shape.rows = rows_of(points->x);
    shape.columns = rows_of(points->y);
    shape.dimension = columns_of(points->x);
  } else {
    const auto& matrix = std::get<CostMatrix>(problem.cost).matrix;
    shape.rows = rows_of(matrix);
    shape.columns = columns_of(matrix);
  }
  shape.targets = problem.b.empty() ? 1 : problem.b.columns;
  const std::size_t clients = std::max<std::size_t>(1, options.clients);
  const TopologyEntry& entry = find_entry(topologies(), resolved_topology(options, clients), "--topology");
  double bytes = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    const Layout layout = entry.layout(k, clients, options);
    ClientShape own = shape;
    own.rows = chunk_range(shape.rows, clients, k).size();
    own.columns = chunk_range(shape.columns, clients, k).size();
    own.block_rows = shape.rows * layout.row_slices.size() / clients;
    own.block_columns = shape.columns * layout.column_slices.size() / clients;
    own.all_rows = shape.rows;
    own.whole_columns = layout.whole_columns;
    bytes += bytes_for(options, own, threads_to_use(options, {"threads", clients, true}));
  }
  return whole_bytes(bytes);
}

}  // namespace fedsinkhorn
