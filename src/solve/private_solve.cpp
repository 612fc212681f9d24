#include "solve/private_solve.hpp"

#include <limits>

#include "core/special_numbers.hpp"
#include "problem/private_problem.hpp"
#include "registry/registry.hpp"
#include "solve/choose_backend.hpp"
#include "solve/client_checks.hpp"
#include "solve/gather_result.hpp"
#include "solve/memory_needs.hpp"
#include "solve/summarize.hpp"

namespace fedsinkhorn {
namespace {

/// Values of active lines, targets x lines, in the order of the lines given: lines x targets.
std::vector<double> in_given_order(std::span<const double> values, std::span<const std::size_t> positions, Range given,
                                   std::size_t targets) {
  std::vector<double> ordered(given.size() * targets, -std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < targets; ++k) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      ordered[(positions[i] - given.first) * targets + k] = values[k * positions.size() + i];
    }
  }
  return ordered;
}

void take_potentials(const CheckedProblem& problem, const Released& released, Result& result) {
  const Range own_rows = problem.rows.given_slices[problem.client];
  const Range active = problem.own_rows();
  result.first_row = own_rows.first;
  result.f = in_given_order(released.f, std::span(problem.rows.active).subspan(active.first, active.size()), own_rows,
                            problem.targets);
  const bool knows_all = released.columns.size() == problem.columns.size();
  const Range given = knows_all ? Range{0, problem.columns.given} : problem.columns.given_slices[problem.client];
  result.first_column = given.first;
  result.g = in_given_order(released.g,
                            std::span(problem.columns.active).subspan(released.columns.first, released.columns.size()),
                            given, problem.targets);
  result.f_rest.assign(result.f.size(), 0.0);
  result.g_rest.assign(result.g.size(), 0.0);
}

Result summarize_released(const CheckedProblem& problem, const Options& options, const Released& released) {
  Result result;
  result.status = released.status;
  result.iterations = released.iterations;
  result.rows = problem.rows.given;
  result.columns = problem.columns.given;
  result.targets = problem.targets;
  describe_points(problem, result);
  result.norm = options.norm;
  result.error = {kUnknown, released.error_b};
  result.exact_error = {kUnknown, kUnknown};
  result.error_floor = kUnknown;
  result.cost = {released.report.released_cost, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
  const Costs unknown = {kUnknown, kUnknown, kUnknown, kUnknown, kUnknown, kUnknown};
  result.per_target.assign(problem.targets, {released.status, released.iterations, result.error, unknown});
  result.privacy = released.report;
  return result;
}

}  // namespace

Result solve_privately(const Problem& problem, const Options& options, const TopologyEntry& topology,
                       const Collectives& clients, CountingCommunicator& traffic, int threads) {
  const MechanismEntry& mechanism = mechanisms().find(options.mechanism, "`mechanism`");
  const LayoutOf layout_of = [&](std::size_t client) { return topology.layout(client, clients.size(), options); };
  const CheckedProblem checked =
      check_private_problem(problem, options, layout_of, clients, threads, mechanism.public_columns);
  // Sums in logs, from the costs: there is no kernel to store.
  Options effective = options;
  effective.kernel = KernelKind::online;
  effective.backend = "cpu";
  require_memory(clients, effective, checked, threads);
  const cpu::Simd& simd = cpu::simd(options.simd);
  const KernelOnBackend* kernel = kernels().find("online", "`kernel`").on("cpu");
  const BlockSettings blocks{KernelSpec{.threads = threads}, simd, kernel->make, kernel->make, -1, checked.targets};
  const TopologyContext context{checked, effective, clients, blocks};
  const auto exchanges = topology.exchanges != nullptr ? topology.exchanges : all_to_all_exchanges;
  Topology iteration(context, exchanges(context));
  iteration.set_epsilon(checked.epsilon);

  traffic.set_phase(Phase::rounds);
  std::vector<TraceRow> trace;
  const double begun = traffic.now();  // virtual, if the network is simulated
  const auto seconds = [&] { return traffic.now() - begun; };
  const StopRequest stop(options.interrupt);
  const std::unique_ptr<RandomBits> random = random_bits_for(options, clients.rank());
  const Options checking = with_client_checks(options, traffic, [&](const Progress& now) {
    return ClientProgress{checked.client, now.iteration, iteration.compute_seconds()};
  });
  const auto on_release = [&](std::int64_t number, std::int64_t last, double error) {
    trace.push_back(
        {.iteration = number, .seconds = seconds(), .error_a = kUnknown, .error_b = error, .epsilon = checked.epsilon});
    if (!checking.on_check) return;
    checking.on_check({.iteration = number,
                       .max_iterations = last,
                       .seconds = seconds(),
                       .error_a = kUnknown,
                       .error_b = error,
                       .tolerance = options.tolerance,
                       .targets_left = checked.targets,
                       .epsilon = checked.epsilon});
  };
  const Released released =
      mechanism.run({checked, options, iteration, topology.is_asynchronous, stop, *random, on_release, nullptr});
  traffic.set_phase(Phase::results);
  Result result = summarize_released(checked, options, released);
  take_potentials(checked, released, result);
  result.trace = std::move(trace);
  result.solve_seconds = seconds();
  result.simd = simd.name;
  result.threads = threads;
  result.passes = Passes::two;
  result.backend = "cpu";
  result.topology = topology.name;
  result.method = mechanism.name;
  result.transport = options.transport;
  result.clock_is_virtual = traffic.clock_is_virtual();
  if (result.clock_is_virtual) result.virtual_seconds = traffic.now();
  result.this_client = clients.rank();
  result.client_count = clients.size();
  ClientReport report;
  report.compute_seconds = iteration.compute_seconds();
  report.iterations = released.iterations;
  report.exchanges = clients.size() > 1 ? static_cast<std::uint64_t>(released.report.releases) : 0;
  result.exchanges = report.exchanges;
  result.clients = {complete_report(checked, traffic, report)};
  clients.barrier();  // a client that has left no longer answers and would count as lost
  return result;
}

void add_up_errors(std::span<const std::optional<Result>> results, Result& result) {
  for (std::size_t t = 0; t < result.trace.size(); ++t) {
    ErrorPart all{};
    for (const std::optional<Result>& own : results) {
      const std::vector<double>& parts =
          (own && own->this_client != result.this_client ? *own : result).privacy.own_errors;
      if (t >= parts.size()) return;
      all = combined(result.norm, all, {parts[t], 0});
    }
    result.trace[t].error_a = error_of(result.norm, all);
  }
}

}  // namespace fedsinkhorn
