// A solve from input files to output files.
#include "cli/solve_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/clients.hpp"
#include "cli/delivery.hpp"
#include "cli/exit_status.hpp"
#include "cli/live_page.hpp"
#include "cli/run_with_clients.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/summary_table.hpp"
#include "comm/transports.hpp"
#include "core/memory.hpp"
#include "core/stopwatch.hpp"
#include "cost/cost_input.hpp"
#include "costmodel/calibrate.hpp"
#include "costmodel/explain.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/progress.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

/// Each client's inputs; one set for all if no file is a client's own.
std::vector<std::unique_ptr<Inputs>> open_all_inputs(const SolveArguments& arguments, const Options& options,
                                                     const Clients& clients) {
  std::vector<std::unique_ptr<Inputs>> inputs;
  const std::size_t sets = arguments.files.in_parts() ? clients.count : 1;
  for (std::size_t k = 0; k < sets; ++k) {
    const std::size_t client = clients.first + k;
    const bool with_cost = options.topology != "star" || clients.share_process() || client == 0;
    inputs.push_back(open_inputs(arguments.files, client, with_cost));
  }
  return inputs;
}

Result solve_with(const std::vector<std::unique_ptr<Inputs>>& inputs, const Options& options, const Clients& clients) {
  if (clients.session) return solve(inputs.front()->problem, options, *clients.session);
  if (inputs.size() == 1) return solve(inputs.front()->problem, options);
  std::vector<Problem> problems;
  problems.reserve(inputs.size());
  for (const auto& of_client : inputs) problems.push_back(of_client->problem);
  return solve(problems, options);
}

bool keeps_data_apart(const Options& options) { return policy_of(options).keeps_apart; }

void check_parts(const InputFiles& files, const Clients& clients) {
  if (!files.parts.empty() && clients.share_process()) {
    throw InputError("--parts", "is for clients that are processes of their own", "name their files with {client}");
  }
  require_others(files.in_parts(), files.parts.empty() ? "{client}" : "--parts", clients);
}

void check_plan(const SolveArguments& arguments, const Options& options, const Clients& clients) {
  const OutputPlan& output = arguments.output;
  const bool has_own_columns = arguments.files.is_own("Y");
  if (output.plan && has_own_columns && keeps_data_apart(options) && !clients.share_process()) {
    throw InputError(
        "--plan",
        fmt::format("needs all points of the columns, which policy {} keeps apart after a solve", options.policy),
        "give all clients the same file of them, or leave --plan out");
  }
  if (output.plan && output.keep_local && options.topology == "star" && !clients.share_process()) {
    throw InputError("--plan", "the clients of a star have no costs, and with --keep-local its server has no f",
                     "use --topology row-reduce, or leave one of them out");
  }
}

/// The solve, as far as this process knows: rows that other processes have are not counted.
SolveShape shape_known_here(const std::vector<std::unique_ptr<Inputs>>& inputs, const InputFiles& files,
                            const Options& options, const Clients& clients) {
  const Problem& first = inputs.front()->problem;
  const CostShape costs = make_cost_input(first.cost)->shape();
  const bool are_parts = files.is_own("C") || files.is_own("X");
  SolveShape shape;
  for (std::size_t k = 0; k < (are_parts ? inputs.size() : 1); ++k) {
    shape.rows += make_cost_input(inputs[k]->problem.cost)->shape().rows;
  }
  shape.rows = std::max<std::size_t>(1, shape.rows);
  shape.columns = std::max<std::size_t>(1, costs.columns);
  shape.targets = first.b.empty() ? 1 : std::max<std::size_t>(1, first.b.columns);
  shape.clients = clients.all;
  shape.dimension = costs.dimension;
  for (const auto& of_client : inputs) {
    if (costs.dimension > 0) break;
    for (const NumberTable& table : of_client->tables) shape.held_bytes += table.held_bytes();
  }
  shape.options = options;
  return shape;
}

/// What predictions are made from: a file, or a short calibration of what this solve needs.
Profile profile_of(const SolveArguments& arguments, const SolveShape& shape, const Clients& clients) {
  if (!arguments.profile.empty()) return read_profile(arguments.profile);
  CalibrationPlan plan = plan_for(shape);
  Profile profile =
      clients.session ? calibrate_as_client(*clients.session->state().communicator, plan) : calibrate_threads(plan);
  profile.name = "calibrated before the solve";
  forget_peak_memory();
  return profile;
}

/// Only client 0 knows the errors: its process serves the page.
void open_live_page(const SolveArguments& arguments, const std::vector<std::unique_ptr<Inputs>>& inputs,
                    const Options& options, const Clients& clients, LivePage& page) {
  if (arguments.watch.empty() || clients.first != 0) return;
  const SolveShape known = shape_known_here(inputs, arguments.files, options, clients);
  const bool knows_rows = clients.share_process() || !arguments.files.in_parts();
  const LiveShape shape{
      knows_rows ? known.rows : 0,    known.columns, known.targets, clients.all, clients.share_process(),
      inputs.front()->problem.epsilon};
  page.open(arguments.watch, describe_live(shape, options, arguments.output.folder));
}

/// The network of the profile, where one is simulated; checks what --explain needs.
std::optional<Profile> take_profile(const SolveArguments& arguments, const Clients& clients,
                                    const std::vector<std::unique_ptr<Inputs>>& inputs, Options& options) {
  const bool simulates = transports().find(options.transport, "--transport").simulates;
  if (simulates && !arguments.profile.empty()) {
    const std::uint64_t seed = options.scenario.seed;
    options.scenario =
        scenario_of(read_profile(arguments.profile), shape_known_here(inputs, arguments.files, options, clients));
    options.scenario.seed = seed;
  }
  if (arguments.explain && arguments.profile.empty() && (simulates || (clients.session && clients.sums))) {
    throw InputError("--explain", simulates ? "a simulated network is not measured" : "a server does not calibrate",
                     "give a --profile");
  }
  if (arguments.explain && !arguments.profile.empty()) return read_profile(arguments.profile);
  return std::nullopt;
}

int solve_files(SolveArguments arguments, Clients& clients) {
  Options options;
  std::vector<std::unique_ptr<Inputs>> inputs;
  LivePage page;
  clients.agree_on([&] {
    check_output(arguments);
    options = take_options(arguments);
    check_parts(arguments.files, clients);
    check_plan(arguments, options, clients);
    obey_options(options, clients);
    arguments.output.keep_local = options.keep_local;
    inputs = open_all_inputs(arguments, options, clients);
  });
  const bool simulates = transports().find(options.transport, "--transport").simulates;
  std::optional<Profile> profile;
  clients.agree_on([&] {
    profile = take_profile(arguments, clients, inputs, options);
    open_live_page(arguments, inputs, options, clients, page);
  });
  Delivery delivery(arguments, clients);
  delivery.prepare();
  if (arguments.explain && !profile) {
    profile = profile_of(arguments, shape_known_here(inputs, arguments.files, options, clients), clients);
  }

  ProgressLine progress(stderr);
  const Timer timer;
  const bool time_is_virtual = simulates;
  if (!arguments.quiet) {
    options.on_check = [&](Progress now) {
      if (time_is_virtual) now.seconds = timer.seconds();  // the user waits in real time
      progress.update(now);
    };
  }
  page.follow(options);
  page.announce();
  options.interrupt = &StopOnSignal::requested();
  const StopOnSignal stop_on_signal;  // also while results are written
  Result result = [&] {
    try {
      return solve_with(inputs, options, clients);
    } catch (const ClientLost& lost) {
      progress.clear();
      delivery.write_what_is_left(options, lost.so_far().get(), lost);
      page.finish("a client was lost");
      throw;
    }
  }();
  progress.clear();
  if (profile && result.this_client == 0)
    explain(*profile, arguments.profile.empty(), shape_known_here(inputs, arguments.files, options, clients), result);
  try {
    delivery.write(options, inputs, result);
  } catch (const ClientLost& lost) {
    delivery.write_what_is_left(options, &result, lost);
    throw;
  }
  if (result.this_client == 0) {
    print_outcome(result, options, inputs.front()->problem.epsilon, arguments.output.folder, arguments.quiet);
    std::fflush(nullptr);
  }
  page.finish(result);  // while the others are there: mpirun may end who is left
  clients.part();       // all results are written: losing a client no longer matters
  // Only one rank returns the status: as soon as a rank ends with a status other than 0, mpirun kills the rest.
  return result.this_client == 0 ? exit_status(result.status) : kConverged;
}

}  // namespace

int run_solve(const SolveArguments& arguments) {
  return run_with_clients(arguments, [&](Clients& clients) { return solve_files(arguments, clients); });
}

}  // namespace fedsinkhorn
