// The steps of a solve: agree on options, check, predict memory, build, iterate, evaluate, gather.
#include "solve/client_solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "comm/counting.hpp"
#include "comm/secure_sums.hpp"
#include "core/marginal_error.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/parallel.hpp"
#include "core/processors.hpp"
#include "core/stop_request.hpp"
#include "core/stopwatch.hpp"
#include "device/device_matrix.hpp"
#include "fedsinkhorn/solve.hpp"
#include "iteration/absorbed_sinkhorn.hpp"
#include "iteration/high_precision.hpp"
#include "iteration/log_sinkhorn.hpp"
#include "kernel/kernel.hpp"
#include "method/newton_system.hpp"
#include "problem/checked_problem.hpp"
#include "problem/sums_account.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "solve/choose_backend.hpp"
#include "solve/client_checks.hpp"
#include "solve/gather_result.hpp"
#include "solve/given_units.hpp"
#include "solve/link.hpp"
#include "solve/memory_needs.hpp"
#include "solve/private_solve.hpp"
#include "solve/rounding.hpp"
#include "solve/summarize.hpp"
#include "solve/threads_of_client.hpp"

namespace fedsinkhorn {
namespace {

/// Whether a problem is so small that a single client solves it on one thread by default: waking others would take
/// longer than they save.
bool is_for_one_thread(const Problem& problem, const CostShape& costs, const Options& options, std::size_t clients) {
  constexpr double kFewEntries = 1 << 16;
  if (clients > 1 || options.threads > 0) return false;
  const double targets = problem.b.empty() ? 1 : static_cast<double>(problem.b.columns);
  return static_cast<double>(costs.rows) * static_cast<double>(costs.columns) * targets < kFewEntries;
}

/// A tolerance of 0 asks for the smallest possible error; the default tolerance is the measure then.
void set_rounding_error(const CheckedProblem& problem, const Options& options, const RestSizes& sizes, Result& result) {
  const double tolerance = options.tolerance > 0 ? options.tolerance : Options{}.tolerance;
  result.rounding_error = rounding_error(problem, sizes);
  result.rests_matter = result.rounding_error > problem.as_given(problem.mass * tolerance / 10);
}

/// What a solve produces before results are gathered.
struct Solved {
  Result result;
  std::vector<Outcome> outcomes;
  ClientReport report;
};

Solved solve_precisely(const CheckedProblem& problem, const Options& options, CountingCommunicator& traffic) {
  const auto own = [&, begun = traffic.now()](const Progress& now) {
    return ClientProgress{problem.client, now.iteration, traffic.now() - begun};
  };
  const Options checking = with_client_checks(options, traffic, own);
  Monitor monitor(checking, problem, traffic);
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
  solved.report.iterations = solved.result.iterations;
  solved.report.kernel_bytes = whole_bytes(precise_bytes(problem.n(), problem.m()));
  return solved;
}

/// The outcomes' costs and exact errors; NaN if the run was interrupted and they would take too long.
std::vector<Evaluation> evaluated(const CheckedProblem& problem, Topology& topology, const Options& options,
                                  bool is_cut_short, std::vector<Outcome>& outcomes) {
  const auto is_interrupted = [](const Outcome& outcome) { return outcome.status == Status::interrupted; };
  if (std::ranges::any_of(outcomes, is_interrupted) && is_cut_short) return unknown_evaluations(outcomes.size());
  std::vector<Evaluation> evaluations = evaluate(problem, topology, options.norm, outcomes);
  // An iteration that was interrupted, or is void for its sums, measures nothing.
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    const bool is_out_of_sums = outcomes[k].status == Status::sums_limit;
    if (!is_interrupted(outcomes[k]) && !is_out_of_sums) continue;
    outcomes[k].error = evaluations[k].error;
    const bool is_enough = worse(outcomes[k].error.a, outcomes[k].error.b) <= options.tolerance * problem.mass;
    if (is_out_of_sums && is_enough && options.tolerance > 0) outcomes[k].status = Status::converged;
  }
  return evaluations;
}

/// What the outcomes amount to, evaluated on the costs as given.
Result concluded(const CheckedProblem& problem, Topology& topology, const Options& options, bool is_cut_short,
                 std::vector<Outcome>& outcomes) {
  const std::vector<Evaluation> evaluations = evaluated(problem, topology, options, is_cut_short, outcomes);
  const double floor = error_floor(topology.clients(), problem, options, outcomes);
  require_exact_errors(problem, options, floor, evaluations, outcomes);
  Result result = summarize(problem, options, outcomes, evaluations);
  result.error_floor = floor;
  return result;
}

/// Rounds that open a level count as iterations, however they were made; the first round does not.
std::uint64_t exchanges_of(const Topology& topology, const AbsorbedSinkhorn& sinkhorn) {
  const auto levels = static_cast<std::uint64_t>(sinkhorn.levels());
  const auto opened = static_cast<std::uint64_t>(sinkhorn.openings());
  return topology.exchanges() + levels * topology.exchanges_each_round() - opened * topology.exchanges_each_round();
}

BlockSettings settings_of_blocks(const KernelEntry& kernel, const KernelSpec& spec, const cpu::Simd& simd,
                                 const Computing& computing, std::size_t targets) {
  const KernelOnBackend* there = kernel.on(computing.backend->name);
  const KernelOnBackend* empty = kernels().find("online", "`kernel`").on("cpu");
  return {spec, simd, there->make, empty->make, computing.device, targets};
}

/// What a client's progress is read from.
struct OwnSources {
  std::size_t client;
  const Topology& topology;
  const AbsorbedSinkhorn* own_pace = nullptr;  ///< counts its iterations, if they are not those of all
};

/// The sources must outlive the result.
OwnProgress progress_of(const OwnSources& own) {
  return [&own](const Progress& now) {
    const std::int64_t made = own.own_pace != nullptr ? own.own_pace->iterations_made(now.iteration) : now.iteration;
    return ClientProgress{own.client, made, own.topology.compute_seconds()};
  };
}

/// If a client is lost, `solved` has what is known.
void solve_fast(const CheckedProblem& problem, const Options& options, const TopologyEntry& entry,
                const Collectives& clients, CountingCommunicator& traffic, int threads, const Computing& computing,
                Solved& solved) {
  const cpu::Simd& simd = cpu::simd(options.simd);
  const bool is_in_logs = options.stabilization == Stabilization::log;
  Options effective = options;
  // The log iteration never multiplies by K: no need to store one.
  if (is_in_logs) effective.kernel = KernelKind::online;
  const MethodEntry& method = methods().find(options.method, "`method`");
  if (method.relaxes) effective.passes = Passes::two;
  const auto with_least = with_least_masses(problem, is_in_logs ? 0 : least_share(options.precision));
  const CheckedProblem& iterated = with_least ? *with_least : problem;
  StopRequest stop(options.interrupt);
  std::unique_ptr<Topology> topology;
  agree(clients, [&] {
    stop.throw_if_made();
    const KernelEntry& kernel = kernels().find(effective.kernel.text(), "`kernel`");
    if (!problem.layout.row_slices.empty()) check_costs(kernel, computing.backend->name, *problem.costs);
    const KernelSpec spec{effective.precision, problem.epsilon, threads, &stop};
    const BlockSettings blocks = settings_of_blocks(kernel, spec, simd, computing, problem.targets);
    topology = make_topology(entry, {iterated, effective, clients, blocks});
  });
  OwnSources own{problem.client, *topology};
  const Options checking = with_client_checks(options, traffic, progress_of(own));
  Monitor monitor(checking, problem, traffic);
  std::vector<Outcome>& outcomes = solved.outcomes;
  const Pacing pacing{method, differences_kept(options, problem.targets),
                      most_differences_kept(options, problem.targets), simd.sums,
                      clients.size() == 1 && computing.device >= 0};
  AbsorbedSinkhorn sinkhorn(iterated, *topology, traffic, monitor, pacing, safe_scaling(options.precision), threads,
                            stop);
  if (entry.is_asynchronous) own.own_pace = &sinkhorn;
  // Describes the run, whether it finished or lost a client.
  const auto describe = [&](Result& result) {
    result.trace = monitor.take_trace();
    result.solve_seconds = monitor.iterating().seconds();
    result.absorptions = sinkhorn.absorptions();
    result.rejected = sinkhorn.rejected();
    result.levels = sinkhorn.levels();
    result.newton = sinkhorn.newton();
    result.sums.matrices = sinkhorn.matrices_added_up();
    result.targets_solved_alone = sinkhorn.targets_solved_alone();
    result.simd = simd.name;
    result.threads = threads;
    result.passes = topology->passes();
    result.pass_plan = topology->pass_plan();
    result.delays = delays_seen(problem, topology->delays());
    solved.report.device = computing.device;
    solved.report.compute_seconds = topology->compute_seconds();
    solved.report.exchanges = exchanges_of(*topology, sinkhorn);
    solved.report.kernel_bytes = whole_bytes(kernel_bytes_for(effective, shape_of(problem), threads));
    solved.report.iterations = entry.is_asynchronous ? sinkhorn.iterations_made() : result.iterations;
  };
  try {
    if (is_in_logs) {
      traffic.set_phase(Phase::rounds);
      outcomes = log_sinkhorn(problem, *topology, monitor, stop);
    } else {
      outcomes = sinkhorn.run();
    }
    to_true_masses(iterated, problem, outcomes);
    traffic.set_phase(Phase::results);
    const bool is_cut_short = is_in_logs ? !stop.is_ignored() : sinkhorn.is_cut_short();
    solved.result = concluded(problem, *topology, options, is_cut_short, outcomes);
    describe(solved.result);
    if (entry.is_asynchronous) {
      gather_delays(clients, problem, static_cast<std::size_t>(options.max_staleness), *topology->delays(),
                    solved.result);
    }
  } catch (const ClientLost&) {
    if (outcomes.empty()) {
      outcomes = sinkhorn.so_far();
      to_true_masses(iterated, problem, outcomes);
    }
    if (solved.result.rows == 0) {
      solved.result = summarize(problem, options, outcomes, unknown_evaluations(outcomes.size()));
      solved.result.error_floor = std::numeric_limits<double>::quiet_NaN();
      describe(solved.result);
    }
    throw;
  }
}

/// What all clients have seen of sums, and what each does not know.
void count_sums(const SecureSums& sums, const CheckedProblem& problem, Result& result) {
  result.sums.seen = sums.shown();
  result.sums.limit = problem.most_sums;
  result.sums.unknown = least_unknown(problem, problem.clients);
  for (ClientReport& report : result.clients) report.unknown = numbers_unknown(problem, report.client);
}

}  // namespace

Result solve_as_client(const Problem& problem, const Options& given, Communicator& communicator, GivenBy given_by) {
  const Timer wall;
  const cuda::KeepCurrentDevice restored;
  Options options = given;
  if (communicator.rank() != 0) options.on_check = nullptr;
  const std::shared_ptr<const CostInput> costs = make_cost_input(problem.cost);
  Link link(communicator, options);
  CountingCommunicator& traffic = link.traffic();
  const bool one_thread = is_for_one_thread(problem, costs->shape(), options, link.clients());
  const bool share_process = communicator.shares_process();
  const int threads = one_thread ? 1 : threads_of_client(options, communicator);
  link.agree_on_options(problem, options, threads);
  options.topology = resolved_topology(options, link.clients());
  options.method = resolved_method(options);
  const TopologyEntry& entry = topologies().find(options.topology, "`topology`");
  const Collectives clients = link.connect(entry, options);
  const LayoutOf layout_of = [&](std::size_t client) { return entry.layout(client, clients.size(), options); };
  if (is_private(options)) {
    Result result = solve_privately(problem, options, entry, clients, traffic, threads);
    result.wall_seconds = wall.seconds();
    return result;
  }
  const bool holds_costs = layout_of(clients.rank()).row_slices.size() > 0;
  require_devices(clients, *costs, options, holds_costs);
  const CheckedProblem checked = check_problem(problem, options, layout_of, clients, threads, given_by);
  const Computing computing = choose_backend(clients, options, checked);
  options.backend = computing.backend->name;
  require_memory(clients, options, checked, threads);
  Solved solved;
  Result& result = solved.result;
  const auto describe = [&] {
    result.backend = options.backend;
    result.device = computing.device_name;
    result.topology = options.topology;
    result.method = options.method;
    result.transport = options.transport;
    result.this_client = clients.rank();
    result.client_count = clients.size();
    result.clock_is_virtual = communicator.clock_is_virtual();
    if (result.clock_is_virtual) result.virtual_seconds = communicator.now();
    result.wall_seconds = wall.seconds();
    if (clients.sums() != nullptr) count_sums(*clients.sums(), checked, result);
  };
  const bool is_accelerated = methods().find(options.method, "`method`").make != nullptr;
  const Gauge gauge = is_accelerated ? Gauge::balanced : Gauge::from_start;
  bool is_in_given_units = false;
  try {
    if (options.precision == Precision::digits50) {
      solved = solve_precisely(checked, options, traffic);
      result.error_floor = error_floor(clients, checked, options, solved.outcomes);
    } else {
      solve_fast(checked, options, entry, clients, traffic, threads, computing, solved);
    }
    to_given_units(checked, gauge, solved.outcomes);
    is_in_given_units = true;
    set_rounding_error(checked, options, rest_sizes_of_all(clients, rest_sizes(checked, solved.outcomes)), result);
    const bool keeps_f = clients.sums() != nullptr || (options.keep_local && !share_process);
    gather_potentials(clients, checked, keeps_f, solved.outcomes, result);
    gather_reports(clients, checked, traffic, solved.report, result);
    clients.barrier();  // a client that has left no longer answers and would count as lost
  } catch (const ClientLost& lost) {
    const bool knows_all = know_all_slices(checked, solved.outcomes);
    const bool has_own = entry.is_asynchronous && !share_process && know_own_rows(checked, solved.outcomes);
    if (!knows_all && !has_own) throw;
    if (!is_in_given_units) to_given_units(checked, gauge, solved.outcomes);
    set_rounding_error(checked, options, rest_sizes(checked, solved.outcomes), result);
    if (knows_all) {
      spread_known_potentials(checked, solved.outcomes, result);
    } else {
      keep_own_potentials(clients, checked, solved.outcomes, result);
    }
    result.status = Status::client_lost;
    result.exchanges = solved.report.exchanges;
    result.kernel_bytes = solved.report.kernel_bytes;
    result.clients = {complete_report(checked, traffic, solved.report)};
    result.lost_clients = lost.lost();
    describe();
    throw ClientLost(lost.what(), lost.lost(), std::make_shared<const Result>(std::move(result)));
  }
  describe();
  return std::move(result);
}

std::uint64_t predicted_bytes(const Problem& problem, const Options& options) {
  const CostShape costs = make_cost_input(problem.cost)->shape();
  const std::size_t targets = problem.b.empty() ? 1 : problem.b.columns;
  const std::size_t clients = std::max<std::size_t>(1, options.clients);
  const TopologyEntry& entry = topologies().find(resolved_topology(options, clients), "`topology`");
  const int threads = threads_to_use(options, clients, true);
  double bytes = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    const Layout layout = entry.layout(k, clients, options);
    bytes += bytes_for(options, even_shape(costs, targets, layout, clients, k), threads);
  }
  return whole_bytes(bytes);
}

}  // namespace fedsinkhorn
