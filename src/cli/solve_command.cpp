// The options of `fedsinkhorn solve`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/number_option.hpp"
#include "cli/solve_arguments.hpp"
#include "cli/solve_run.hpp"
#include "comm/transports.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

GridShape grid_named(const std::string& text) {
  const std::size_t cross = std::min(text.find('x'), text.size());
  std::string rows = text.substr(0, cross);
  std::string columns = cross < text.size() ? text.substr(cross + 1) : "";
  constexpr IntegerRange range{1, 4096};  // more clients there are not
  if (!normalize_integer(rows, range).empty() || !normalize_integer(columns, range).empty()) {
    throw InputError("--grid", "'" + text + "' is not a shape", "give rows x columns of clients, such as 2x3");
  }
  return {std::stoul(rows), std::stoul(columns)};
}

void take_scenario(const SolveArguments& arguments, Options& options) {
  const std::vector<std::string>& flags = arguments.simulation_flags;
  if (arguments.transport != "simulated") {
    if (!flags.empty()) throw InputError(flags.front(), "is for a simulated network", "add --transport simulated");
    return;
  }
  options.transport = arguments.transport;
  if (!arguments.scenario.empty()) options.scenario = read_scenario(arguments.scenario);
  if (std::find(flags.begin(), flags.end(), "--seed") != flags.end()) options.scenario.seed = arguments.seed;
}

/// An empty word is mostly a shell variable that was not set; it must not pass for an option left out.
CLI::Validator not_empty() {
  return {[](const std::string& word) { return word.empty() ? "is empty; give a name" : ""; }, "", "not empty"};
}

/// Notes that a flag was given, with its default value perhaps.
std::function<void(std::string)> note_in(std::vector<std::string>& flags, const std::string& flag) {
  return [&flags, flag](const std::string&) { flags.push_back(flag); };
}

}  // namespace

Options take_options(const SolveArguments& arguments) {
  Options options = arguments.options;
  options.kernel = choice_of(kernels(), "--kernel", arguments.kernel);
  options.passes = choice<Passes>("--passes", arguments.passes);
  options.precision = choice<Precision>("--precision", arguments.precision);
  options.norm = choice<Norm>("--norm", arguments.norm);
  options.stabilization = choice<Stabilization>("--stabilization", arguments.stabilization);
  options.feasibility = choice<Feasibility>("--feasibility", arguments.feasibility);
  options.damping_kind = choice<DampingKind>("--damping-kind", arguments.damping_kind);
  options.keep_local = arguments.output.keep_local;
  if (!arguments.grid.empty()) options.grid = grid_named(arguments.grid);
  constexpr std::int64_t most_clients = 4096;
  if (arguments.clients && *arguments.clients > most_clients) {
    throw InputError("--clients", fmt::format("{} clients were asked for", *arguments.clients),
                     fmt::format("give 1 to {}", most_clients));
  }
  options.clients = static_cast<std::size_t>(arguments.clients.value_or(0));
  if (options.topology != "async" && !arguments.asynchronous_flags.empty()) {
    throw InputError(arguments.asynchronous_flags.front(), "is for clients that do not wait for each other",
                     "add --topology async");
  }
  options.memory = static_cast<std::size_t>(arguments.memory.value_or(0));
  if (arguments.memory && options.method != "auto" && options.method != "anderson") {
    throw InputError("--memory", fmt::format("{} keeps no differences", options.method),
                     "use --method auto or anderson");
  }
  take_scenario(arguments, options);
  if (!(options.timeout > 0)) {
    throw InputError("--timeout", fmt::format("{} is no time to wait", options.timeout), "give seconds above 0");
  }
  return options;
}

void check_output(const SolveArguments& arguments) {
  const OutputPlan& output = arguments.output;
  if (output.plan && output.folder.empty()) throw InputError("--plan", "has nowhere to go", "add --output DIR");
  if (output.keep_local && output.folder.empty()) {
    throw InputError("--keep-local", "has nowhere to go", "add --output DIR");
  }
}

void add_solve_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<SolveArguments>();
  Options& options = arguments->options;
  constexpr double longest_timeout = 1e9;  // seconds; clocks count nanoseconds in 63 bits
  CLI::App* command = app.add_subcommand("solve", "Solve an entropic optimal transport problem");
  command->footer("A file name with {client} in it is a file of each client's own, the clients being 0, 1, 2, ...\n" +
                  exit_status_text());

  command->add_option("--cost", arguments->files.cost, "Cost matrix, .npy of n x m; +inf forbids a pair")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--points", arguments->files.points, "Points, .npy of n x d, and of m x d if they differ")
      ->type_name("FILE")
      ->option_text("FILE [FILE]")
      ->expected(1, 2)
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--metric", arguments->files.metric, "Cost between points")
      ->type_name(choices<Metric>())
      ->default_str(std::string(name_of(PointClouds{}.metric)))
      ->group("Problem");
  command->add_option("--a", arguments->files.a, "Row masses, .npy of n; default uniform")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--b", arguments->files.b, "Column masses, .npy of m, or m x N for N targets; default uniform")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Problem");
  command
      ->add_option("--initial-g", arguments->files.initial_g,
                   "Potential g to start from, .npy of m, or m x N, in units of the cost; default none")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Problem");
  command->add_flag("--normalize", options.normalize, "Scale a and each target of b to total 1 first")
      ->group("Problem");
  command
      ->add_option("--epsilon,--eps,--reg", arguments->files.epsilon, "Regularisation, absolute, in units of the cost")
      ->transform(real())
      ->required()
      ->group("Problem");

  command
      ->add_option("--tolerance,--tol", options.tolerance,
                   "Marginal error to reach, a share of the total mass; 0 runs the whole budget")
      ->transform(real())
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--norm", arguments->norm, "Norm of the marginal errors")
      ->type_name(choices<Norm>())
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--max-iterations,--max-iter", options.max_iterations, "Iterations at most")
      ->transform(integer({1}))
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--check-every", options.check_every, "Iterations between checks of the error")
      ->transform(integer({1}))
      ->capture_default_str()
      ->group("Stopping");

  command->add_option("--kernel", arguments->kernel, "dense: stored; online: never stored, computed when needed")
      ->type_name(choices_of(kernels()))
      ->capture_default_str()
      ->group("How");
  command->add_option("--precision", arguments->precision, "Arithmetic; 50: decimal digits")
      ->type_name(choices<Precision>())
      ->capture_default_str()
      ->group("How");
  command->add_option("--passes", arguments->passes, "Reads of the kernel per iteration: fused one, two two")
      ->type_name(choices<Passes>())
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--stabilization", arguments->stabilization,
                   "absorption, or log: the slow reference in the log domain")
      ->type_name(choices<Stabilization>())
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--feasibility", arguments->feasibility,
                   "With forbidden pairs: check that a plan exists, or skip that")
      ->type_name(choices<Feasibility>())
      ->capture_default_str()
      ->group("How");
  command
      ->add_option(
          "--method", options.method,
          "sinkhorn: plain; anderson: accelerated; overrelaxed; auto: anderson, in levels of epsilon where needed")
      ->type_name(choices_of(methods()))
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--memory", arguments->memory,
                   "Differences of earlier rounds anderson and auto keep, 1 to 64; default 24, fewer for many targets")
      ->transform(integer({1, kMostMemory}))
      ->group("How");
  command
      ->add_option("--backend", options.backend,
                   "cpu, cuda (NVIDIA GPUs), or auto: cuda for large problems where there is a device")
      ->type_name(choices_of(backends()))
      ->capture_default_str()
      ->group("How");
  add_integer_list(*command, "--devices", options.devices, {0, std::numeric_limits<int>::max()},
                   "Numbers of the GPUs the clients on this machine use in turn, such as 0,1; default all there are")
      ->group("How");
  command->add_option("--threads", options.threads, "Threads of each client; 0: cores / clients on this machine")
      ->transform(integer({0, std::numeric_limits<int>::max()}))
      ->capture_default_str()
      ->group("How");
  command->add_option("--simd", options.simd, "Instruction set")
      ->type_name("{auto,avx512,avx2,sse4,baseline}")
      ->capture_default_str()
      ->group("How");

  command
      ->add_option("--topology", options.topology,
                   "Who holds what; auto: centralized for one client, row-reduce for several")
      ->type_name(choices_of(topologies(), "auto"))
      ->capture_default_str()
      ->group("Clients");
  command
      ->add_option("--clients", arguments->clients,
                   "Clients in this process; under mpirun every rank is one (default 1)")
      ->transform(integer({1}))
      ->group("Clients");
  add_real_list(*command, "--rows", options.row_weights,
                "Shares of the rows the clients own, such as 1,1,2; default even")
      ->group("Clients");
  command->add_option("--grid", arguments->grid, "Shape of the grid, such as 2x3; default as square as it gets")
      ->type_name("ROWSxCOLUMNS")
      ->check(not_empty())
      ->group("Clients");
  command->add_option("--local-steps", options.local_steps, "Iterations from one exchange to the next")
      ->transform(integer({1}))
      ->capture_default_str()
      ->group("Clients");
  command->add_option("--transport", arguments->transport, "How clients talk; default mpi under mpirun, else threads")
      ->type_name(choices_of(transports()))
      ->check(not_empty())
      ->group("Clients");
  command->add_option("--timeout", options.timeout, "Seconds to wait for another client")
      ->transform(real(longest_timeout))
      ->capture_default_str()
      ->group("Clients");

  command
      ->add_option("--max-staleness", options.max_staleness,
                   "Iterations after which a client waits for a newer slice instead of using it")
      ->transform(integer({1}))
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--max-staleness"))
      ->group("Topology async");
  command->add_option("--damping", options.damping, "Share of an update that is made, in (0, 1]")
      ->transform(real())
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--damping"))
      ->group("Topology async");
  command->add_option("--damping-kind", arguments->damping_kind, "How old and new are mixed")
      ->type_name(choices<DampingKind>())
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--damping-kind"))
      ->group("Topology async");

  command->add_option("--scenario", arguments->scenario, "The network to simulate, a JSON file (docs/simulation.md)")
      ->type_name("FILE")
      ->check(not_empty())
      ->each(note_in(arguments->simulation_flags, "--scenario"))
      ->group("Transport simulated");
  command->add_option("--seed", arguments->seed, "Of the simulated network; default that of the scenario, or 1")
      ->transform(seed())
      ->each(note_in(arguments->simulation_flags, "--seed"))
      ->group("Transport simulated");

  command
      ->add_option("--output", arguments->output.folder,
                   "Folder for f.npy, g.npy, trace.csv, summary.json, and delays.csv (async); {client} in it: one for "
                   "each client")
      ->type_name("DIR")
      ->check(not_empty())
      ->group("Output");
  command
      ->add_flag(
          "--plan", arguments->output.plan,
          "Also write the plan, plan.npy of n x m (N x n x m for N targets); clients their rows, plan-0.npy, ...")
      ->group("Output");
  command
      ->add_flag("--keep-local", arguments->output.keep_local,
                 "f is not gathered: every client writes its rows alone, f-0.npy, f-1.npy, ...")
      ->group("Output");
  command->add_flag("--quiet", arguments->quiet, "No progress, no table; a run that does not converge says so")
      ->group("Output");

  command->callback([arguments, &status] { status = run_solve(*arguments); });
}

}  // namespace fedsinkhorn
