// The options of `fedsinkhorn solve`.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/flag_names.hpp"
#include "cli/key_options.hpp"
#include "cli/number_option.hpp"
#include "cli/option_words.hpp"
#include "cli/solve_arguments.hpp"
#include "cli/solve_run.hpp"
#include "cli/table_options.hpp"
#include "cli/word_option.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "options/option_table.hpp"
#include "registry/registry.hpp"
#include "watch/watch_address.hpp"

namespace fedsinkhorn {
namespace {

void take_scenario(const SolveArguments& arguments, Options& options) {
  const std::vector<std::string>& flags = arguments.simulation_flags;
  if (!arguments.transport.empty()) options.transport = arguments.transport;
  if (!transports().find(options.transport, "--transport").simulates) {
    if (!arguments.profile.empty() && !arguments.explain) {
      throw InputError("--profile", "is for --explain, or for a simulated network", "add --explain");
    }
    if (!flags.empty()) throw InputError(flags.front(), "is for a simulated network", "add --transport simulated");
    return;
  }
  if (!arguments.scenario.empty() && !arguments.profile.empty()) {
    throw InputError("--scenario", "and --profile both describe the network", "give one of them");
  }
  if (!arguments.scenario.empty()) options.scenario = read_scenario(arguments.scenario);
  if (std::find(flags.begin(), flags.end(), "--seed") != flags.end()) options.scenario.seed = arguments.seed;
}

void add_file_options(CLI::App& command, InputFiles& files) {
  const auto add = [&](const char* flag, std::string& name, const char* help) {
    command.add_option(flag, name, help)->type_name("FILE")->check(not_empty())->group("Problem");
  };
  add("--cost", files.cost, "Cost matrix, .npy or .csv of n x m; +inf forbids a pair");
  command.add_option("--points", files.points, "Points, .npy or .csv of n x d, and of m x d if they differ")
      ->type_name("FILE")
      ->option_text("FILE [FILE]")
      ->expected(1, 2)
      ->check(not_empty())
      ->group("Problem");
  command
      .add_option("--images", files.images,
                  "Two images, .npy or .csv of height x width: pixels are points in the plane, their values masses")
      ->type_name("FILE")
      ->option_text("FILE FILE")
      ->expected(1, 2)  // one is refused with a better line than CLI11's
      ->check(not_empty())
      ->group("Problem");
  command.add_option("--metric", files.metric, "Cost between points")
      ->type_name(choices<Metric>())
      ->default_str(std::string(name_of(PointClouds{}.metric)))
      ->group("Problem");
  add("--a", files.a, "Row masses, .npy or .csv of n; default uniform");
  add("--b", files.b, "Column masses, .npy or .csv of m, or m x N for N targets; default uniform");
  add("--initial-g", files.initial_g,
      "Potential g to start from, .npy or .csv of m, or m x N, in units of the cost; default none");
  command
      .add_option(
          "--parts", files.parts,
          "What each client, a process of its own, has a part of, without {client} in the name: some of C, X, Y, "
          "a, b, initial_g")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->expected(1, 6)
      ->group("Problem");
}

void add_simulation_options(CLI::App& command, SolveArguments& arguments) {
  command.add_option("--scenario", arguments.scenario, "The network to simulate, a JSON file (docs/simulation.md)")
      ->type_name("FILE")
      ->check(not_empty())
      ->each(note_in(arguments.simulation_flags, "--scenario"))
      ->group("Transport simulated");
  command.add_option("--seed", arguments.seed, "Of the simulated network; default that of the scenario, or 1")
      ->transform(seed())
      ->each(note_in(arguments.simulation_flags, "--seed"))
      ->group("Transport simulated");
}

void add_output_options(CLI::App& command, SolveArguments& arguments) {
  command
      .add_option("--output", arguments.output.folder,
                  "Folder for f.npy, g.npy, trace.csv, summary.json, and delays.csv (async); {client} in it: one for "
                  "each client")
      ->type_name("DIR")
      ->check(not_empty())
      ->group("Output");
  command
      .add_flag("--plan", arguments.output.plan,
                "Also write the plan, plan.npy of n x m (N x n x m for N targets); clients their rows, plan-0.npy, ...")
      ->group("Output");
  add_table_options(command, "Output", arguments);
  command
      .add_flag("--report", arguments.output.report,
                "Also write report.html, a page to look at: convergence, clients, bytes, the plan")
      ->group("Output");
  command
      .add_flag("--watch", arguments.watch,
                "Serve a live page about the run to this machine while it goes on, and print its address; "
                "--watch=ADDRESS[:PORT] says where, on the loopback interface")
      ->group("Output");
  command
      .add_flag("--explain", arguments.explain,
                "Predict time, bytes and memory, and show them beside what was measured; calibrates first for a second "
                "or two unless there is a --profile")
      ->group("Output");
  command
      .add_option(
          "--profile", arguments.profile,
          "For --explain: what fedsinkhorn calibrate has written, or paper, cluster, office, wan; with transport "
          "simulated: its links are the network")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Output");
  command.add_flag("--quiet", arguments.quiet, "No progress, no table; a run that does not converge says so")
      ->group("Output");
}

}  // namespace

Options take_options(const SolveArguments& arguments) {
  Options options = read_table_options(arguments);
  check_range(*find_option("clients"), options);
  if (options.topology != "async" && !arguments.asynchronous_flags.empty()) {
    throw InputError(arguments.asynchronous_flags.front(), "is for clients that do not wait for each other",
                     "add --topology async");
  }
  const OptionEntry& history = *find_option("history");
  if (options.history > 0 && !history.used_by.are_named(options.method)) {
    throw InputError("`history`", fmt::format("{} keeps no differences", options.method),
                     "use --method auto or anderson");
  }
  take_scenario(arguments, options);
  check_range(*find_option("timeout"), options);
  return options;
}

void check_output(const SolveArguments& arguments) {
  const OutputPlan& output = arguments.output;
  if (output.plan && output.folder.empty()) throw InputError("--plan", "has nowhere to go", "add --output DIR");
  if (output.report && output.folder.empty()) throw InputError("--report", "has nowhere to go", "add --output DIR");
  if (!arguments.watch.empty()) (void)parse_watch_address(arguments.watch);
  if (output.keep_local && output.folder.empty()) {
    throw InputError("--keep-local", "has nowhere to go", "add --output DIR");
  }
}

void add_solve_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<SolveArguments>();
  CLI::App* command = app.add_subcommand("solve", "Solve an entropic optimal transport problem");
  command->footer("A file name with {client} in it is a file of each client's own, the clients being 0, 1, 2, ...\n" +
                  exit_status_text() +
                  "\n\nExample:\n"
                  "  fedsinkhorn generate --rows 2000 --columns 1500 --output problem\n"
                  "  fedsinkhorn solve --points problem/X.npy problem/Y.npy --epsilon 0.01 --output solution --report");
  command->formatter(std::make_shared<HelpFormatter>());
  add_file_options(*command, arguments->files);
  for (const char* group : {"Problem", "Stopping", "How", "Clients", "Topology async", "Policy private"}) {
    add_table_options(*command, group, *arguments);
  }
  add_key_options(*command, *arguments);
  add_simulation_options(*command, *arguments);
  add_output_options(*command, *arguments);
  command->callback([arguments, &status] {
    arguments->output.keep_local = arguments->options.keep_local;
    if (arguments->watch == "true") arguments->watch = WatchAddress{}.host;  // CLI11's word for a flag without a value
    try {
      status = run_solve(*arguments);
    } catch (const InputError& error) {
      throw InputError(with_flags(error.marked()));
    }
  });
}

}  // namespace fedsinkhorn
