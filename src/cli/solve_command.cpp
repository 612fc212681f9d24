// fedsinkhorn solve: files in, potentials and a summary out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/refusal.hpp"
#include "cli/seed_option.hpp"
#include "cli/solve_inputs.hpp"
#include "cli/solve_outputs.hpp"
#include "cli/speaker.hpp"
#include "cli/stop_on_signal.hpp"
#include "cli/summary_table.hpp"
#include "comm/collectives.hpp"
#include "comm/transports.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/progress.hpp"
#include "registry.hpp"
#include "solve/mpi_session.hpp"

namespace fedsinkhorn {
namespace {

struct Arguments {
  InputFiles files;
  std::string kernel = "dense";
  std::string passes = "fused";
  std::string precision = "float64";
  std::string norm = "l1";
  std::string stabilization = "absorption";
  std::string feasibility = "check";
  std::string damping_kind = "geometric";
  std::string transport;
  std::string scenario;
  std::uint64_t seed = 1;
  std::vector<std::string> asynchronous_flags;  // those given
  std::vector<std::string> simulation_flags;
  std::optional<std::int64_t> clients;
  std::optional<std::int64_t> memory;
  std::string grid;
  Options options;
  OutputPlan output;
  bool quiet = false;
};

GridShape grid_named(const std::string& text) {
  GridShape shape;
  const char* end = text.data() + text.size();
  const auto [cross, rows_wrong] = std::from_chars(text.data(), end, shape.rows);
  if (rows_wrong == std::errc() && cross != end && *cross == 'x') {
    const auto [stop, columns_wrong] = std::from_chars(cross + 1, end, shape.columns);
    if (columns_wrong == std::errc() && stop == end && shape.rows > 0 && shape.columns > 0) return shape;
  }
  throw InputError("--grid", "'" + text + "' is not a shape", "give rows x columns of clients, such as 2x3");
}

void take_scenario(const Arguments& arguments, Options& options) {
  const std::vector<std::string>& flags = arguments.simulation_flags;
  if (arguments.transport != "simulated") {
    if (!flags.empty()) throw InputError(flags.front(), "is for a simulated network", "add --transport simulated");
    return;
  }
  options.transport = arguments.transport;
  if (!arguments.scenario.empty()) options.scenario = read_scenario(arguments.scenario);
  if (std::find(flags.begin(), flags.end(), "--seed") != flags.end()) options.scenario.seed = arguments.seed;
}

Options take_options(const Arguments& arguments) {
  Options options = arguments.options;
  options.kernel = choice<KernelKind>("--kernel", arguments.kernel);
  options.passes = choice<Passes>("--passes", arguments.passes);
  options.precision = choice<Precision>("--precision", arguments.precision);
  options.norm = choice<Norm>("--norm", arguments.norm);
  options.stabilization = choice<Stabilization>("--stabilization", arguments.stabilization);
  options.feasibility = choice<Feasibility>("--feasibility", arguments.feasibility);
  options.damping_kind = choice<DampingKind>("--damping-kind", arguments.damping_kind);
  options.keep_local = arguments.output.keep_local;
  if (!arguments.grid.empty()) options.grid = grid_named(arguments.grid);
  constexpr std::int64_t most_clients = 4096;
  if (arguments.clients && (*arguments.clients < 1 || *arguments.clients > most_clients)) {
    throw InputError("--clients", fmt::format("{} clients were asked for", *arguments.clients),
                     fmt::format("give 1 to {}", most_clients));
  }
  options.clients = static_cast<std::size_t>(arguments.clients.value_or(0));
  if (options.topology != "async" && !arguments.asynchronous_flags.empty()) {
    throw InputError(arguments.asynchronous_flags.front(), "is for clients that do not wait for each other",
                     "add --topology async");
  }
  if (arguments.memory && *arguments.memory < 1) {
    throw InputError("--memory", fmt::format("{} differences were asked for", *arguments.memory),
                     fmt::format("give 1 to {}", kMostMemory));
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

void check_output(const Arguments& arguments) {
  const OutputPlan& output = arguments.output;
  if (output.plan && output.folder.empty()) throw InputError("--plan", "has nowhere to go", "add --output DIR");
  if (output.keep_local && output.folder.empty()) {
    throw InputError("--keep-local", "has nowhere to go", "add --output DIR");
  }
  if (output.plan && output.keep_local) {
    throw InputError("--plan", "needs all of f in one place, which --keep-local forbids", "leave one of them out");
  }
  if (output.plan && arguments.files.in_parts()) {
    throw InputError("--plan", "needs all inputs in one place, and some are given in parts", "leave it out");
  }
}

/// An empty word is mostly a shell variable that was not set; it must not pass for an option left out.
CLI::Validator not_empty() {
  return {[](const std::string& word) { return word.empty() ? "is empty; give a name" : ""; }, "", "not empty"};
}

/// Notes that a flag was given, with its default value perhaps.
std::function<void(std::string)> note_in(std::vector<std::string>& flags, const std::string& flag) {
  return [&flags, flag](const std::string&) { flags.push_back(flag); };
}

// ---------------------------------------------------------------------------------------------------------------------

/// The clients of this process, and how to solve with the rest.
struct Clients {
  std::size_t first = 0;
  std::size_t count = 1;
  std::size_t all = 1;
  std::unique_ptr<MpiSession> session;  // if the others are ranks

  [[nodiscard]] bool share_process() const { return session == nullptr; }
  /// Runs it on all ranks and sees to it that it ends alike on all.
  void agree_on(const std::function<void()>& body) const {
    if (share_process()) return body();
    agree(Collectives(*session->state().communicator, Route::through_root), body);
  }
  /// Nothing is to be said to the others any more.
  void part() { session.reset(); }
  /// All ranks have come to the same refusal. One says it, and the others wait until it has: as soon as a rank ends,
  /// mpirun kills the rest.
  void refuse_together(const InputError& error) const {
    if (session->rank() == 0) fmt::print(stderr, "{}\n", refusal_line(error.what()));
    std::fflush(stderr);
    Collectives(*session->state().communicator, Route::through_root).barrier();
  }
};

Clients clients_of(const Arguments& arguments) {
  const bool under_mpi = started_by_mpi();
  const std::string transport = !arguments.transport.empty() ? arguments.transport : under_mpi ? "mpi" : "threads";
  find_available(transports(), transport, "--transport", "use threads");
  Clients clients;
  if (transport == "mpi") {
    if (!(arguments.options.timeout > 0)) (void)take_options(arguments);  // says so
    clients.session = std::make_unique<MpiSession>(arguments.options.timeout);
    clients.first = clients.session->rank();
    clients.all = clients.session->size();
    return clients;
  }
  if (under_mpi && ranks_given_by_mpi() > 1) {
    throw InputError("--transport", fmt::format("{}, but mpirun started {} processes", transport, ranks_given_by_mpi()),
                     "leave it out, or start one process");
  }
  clients.count = clients.all = std::max<std::size_t>(1, take_options(arguments).clients);
  return clients;
}

/// Each client's inputs; the same for all where no file is a client's own.
std::vector<std::unique_ptr<Inputs>> open_all(const Arguments& arguments, const Options& options,
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

/// Results so far, if there are any, by the first client that still answers; what is to be kept local, by each.
void write_what_is_left(const Arguments& arguments, const Options& options, const Problem& problem,
                        const ClientLost& lost) {
  if (!lost.so_far() || arguments.output.folder.empty()) return;
  const Result& result = *lost.so_far();
  OutputPlan output = arguments.output;
  output.plan = false;
  output.keep_local &= result.transport == "mpi";  // in one process all is in one place anyway
  const bool speaks = speaks_for_all(lost.lost());
  if (!speaks && !output.keep_local) return;
  try {
    OutputFolder folder(output.folder, {});
    if (output.keep_local) write_local_rows(folder, result);
    if (speaks) write_shared_results(folder, output, options, problem, result);
    folder.keep();
  } catch (const std::exception& error) {
    // What the run ends with is the loss.
    fmt::print(stderr, "{}\n", refusal_line(error.what()));
  }
}

int solve_files(const Arguments& arguments, Clients& clients) {
  Options options;
  std::vector<std::unique_ptr<Inputs>> inputs;
  std::optional<OutputFolder> folder;
  clients.agree_on([&] {
    check_output(arguments);
    options = take_options(arguments);
    if (options.clients != 0 && options.clients != clients.all) {
      throw InputError("--clients", fmt::format("{} were asked for", options.clients),
                       fmt::format("mpirun started {}", clients.all));
    }
    inputs = open_all(arguments, options, clients);
    const std::vector<std::string> names =
        file_names(arguments.output, clients.first, clients.all, clients.share_process());
    if (arguments.output.folder.empty() || names.empty()) return;
    for (std::size_t k = 0; k < clients.count; ++k) {
      check_no_input_is_overwritten(arguments.output, names, arguments.files.paths(clients.first + k));
    }
    folder.emplace(arguments.output.folder, names);
  });

  ProgressLine progress(stderr);
  const Timer timer;
  if (!arguments.quiet) {
    options.on_check = [&](Progress now) {
      if (options.transport == "simulated") now.seconds = timer.seconds();  // who looks at it waits in real time
      progress.update(now);
    };
  }
  options.interrupt = &StopOnSignal::requested();
  const StopOnSignal stop_on_signal;  // while results are written, too
  const Result result = [&] {
    try {
      return solve_with(inputs, options, clients);
    } catch (const ClientLost& lost) {
      progress.clear();
      write_what_is_left(arguments, options, inputs.front()->problem, lost);
      throw;
    }
  }();
  progress.clear();
  if (folder && arguments.output.keep_local) {
    clients.agree_on([&] { write_local_rows(*folder, result); });
    folder->keep();
  }
  clients.part();  // what follows takes its time, and nobody has to wait for it
  // One rank says how it went: as soon as a rank ends with another status than 0, mpirun kills the rest, and client 0
  // may still be writing.
  if (result.this_client != 0) return kConverged;
  const Problem& problem = inputs.front()->problem;
  if (folder) {
    write_shared_results(*folder, arguments.output, options, problem, result);
    folder->keep();
  }
  if (!arguments.quiet) fmt::print("{}", summary_table(result, options, problem.epsilon, arguments.output.folder));
  return exit_status(result.status);
}

}  // namespace

void add_solve_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  Options& options = arguments->options;
  CLI::App* command = app.add_subcommand("solve", "Solve an entropic optimal transport problem");
  command->footer(
      "A file name with {client} in it is a file of each client's own, the clients being 0, 1, 2, ...\n"
      "Exit status: 0 converged, 2 bad input (nothing written), 3 stopped without converging,\n"
      "4 a client was lost or timed out (async: results so far written, if there are any),\n"
      "130 interrupted (results so far written).");

  command->add_option("--cost", arguments->files.cost, "Cost matrix, .npy of n x m; +inf forbids a pair")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--points", arguments->files.points, "Points, .npy of n x d, and of m x d if they differ")
      ->expected(1, 2)
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--metric", arguments->files.metric, "Cost between points: " + alternatives<Metric>())
      ->capture_default_str()
      ->group("Problem");
  command->add_option("--a", arguments->files.a, "Row masses, .npy of n; default uniform")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--b", arguments->files.b, "Column masses, .npy of m, or m x N for N targets; default uniform")
      ->check(not_empty())
      ->group("Problem");
  command
      ->add_option("--initial-g", arguments->files.initial_g,
                   "Potential g to start from, .npy of m, or m x N, in units of the cost; default none")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--epsilon", arguments->files.epsilon, "Regularisation, absolute, in units of the cost")
      ->required()
      ->group("Problem");

  command->add_option("--tolerance", options.tolerance, "Marginal error to reach; 0 runs the whole budget")
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--norm", arguments->norm, "Norm of the marginal errors: " + alternatives<Norm>())
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--max-iterations", options.max_iterations, "Iterations at most")
      ->capture_default_str()
      ->group("Stopping");
  command->add_option("--check-every", options.check_every, "Iterations between checks of the error")
      ->capture_default_str()
      ->group("Stopping");

  command->add_option("--kernel", arguments->kernel, "dense: stored; online: never stored, computed when needed")
      ->capture_default_str()
      ->group("How");
  command->add_option("--precision", arguments->precision, "Arithmetic: " + alternatives<Precision>() + " (digits)")
      ->capture_default_str()
      ->group("How");
  command->add_option("--passes", arguments->passes, "Reads of the kernel an iteration: " + alternatives<Passes>())
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--stabilization", arguments->stabilization,
                   "absorption, or log: the slow reference in the log domain")
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--feasibility", arguments->feasibility,
                   "With forbidden pairs: check that a plan exists, or skip that")
      ->capture_default_str()
      ->group("How");
  command
      ->add_option(
          "--method", options.method,
          "sinkhorn: plain; anderson: accelerated; overrelaxed; auto: anderson, in levels of epsilon where needed")
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--memory", arguments->memory,
                   "Differences of earlier rounds anderson and auto keep, 1 to 64; default 24, fewer for many targets")
      ->group("How");
  command
      ->add_option("--backend", options.backend,
                   "cpu, cuda (NVIDIA GPUs), or auto: cuda for large problems where there is a device")
      ->capture_default_str()
      ->group("How");
  command
      ->add_option("--devices", options.devices,
                   "Numbers of the GPUs the clients on this machine use in turn, such as 0,1; default all there are")
      ->delimiter(',')
      ->group("How");
  command->add_option("--threads", options.threads, "Threads of each client; 0: cores / clients on this machine")
      ->capture_default_str()
      ->group("How");
  command->add_option("--simd", options.simd, "Instruction set: auto, avx512, avx2, sse4 or baseline")
      ->capture_default_str()
      ->group("How");

  command
      ->add_option(
          "--topology", options.topology,
          "Who holds what: centralized, all-to-all, star, grid, row-reduce or async; auto: centralized for one "
          "client, all-to-all for several")
      ->capture_default_str()
      ->group("Clients");
  command
      ->add_option("--clients", arguments->clients,
                   "Clients in this process; under mpirun every rank is one (default 1)")
      ->group("Clients");
  command->add_option("--rows", options.row_weights, "Shares of the rows the clients own, such as 1,1,2; default even")
      ->delimiter(',')
      ->group("Clients");
  command->add_option("--grid", arguments->grid, "Shape of the grid, such as 2x3; default as square as it gets")
      ->check(not_empty())
      ->group("Clients");
  command->add_option("--local-steps", options.local_steps, "Iterations from one exchange to the next")
      ->capture_default_str()
      ->group("Clients");
  command
      ->add_option("--transport", arguments->transport,
                   "How clients talk: threads, mpi or simulated; default mpi under mpirun, else threads")
      ->check(not_empty())
      ->group("Clients");
  command->add_option("--timeout", options.timeout, "Seconds to wait for another client")
      ->capture_default_str()
      ->group("Clients");

  command
      ->add_option("--max-staleness", options.max_staleness,
                   "Iterations after which a client waits for a newer slice instead of using it")
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--max-staleness"))
      ->group("Topology async");
  command->add_option("--damping", options.damping, "Share of an update that is made, in (0, 1]")
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--damping"))
      ->group("Topology async");
  command
      ->add_option("--damping-kind", arguments->damping_kind, "Old and new are mixed: " + alternatives<DampingKind>())
      ->capture_default_str()
      ->each(note_in(arguments->asynchronous_flags, "--damping-kind"))
      ->group("Topology async");

  command->add_option("--scenario", arguments->scenario, "The network to simulate, a JSON file (docs/simulation.md)")
      ->check(not_empty())
      ->each(note_in(arguments->simulation_flags, "--scenario"))
      ->group("Transport simulated");
  command->add_option("--seed", arguments->seed, "Of the simulated network; default that of the scenario, or 1")
      ->check(is_seed())
      ->each(note_in(arguments->simulation_flags, "--seed"))
      ->group("Transport simulated");

  command
      ->add_option("--output", arguments->output.folder,
                   "Folder for f.npy, g.npy, trace.csv, summary.json, and delays.csv (async)")
      ->check(not_empty())
      ->group("Output");
  command
      ->add_flag("--plan", arguments->output.plan, "Also write the plan, plan.npy of n x m (N x n x m for N targets)")
      ->group("Output");
  command
      ->add_flag("--keep-local", arguments->output.keep_local,
                 "Every client writes its rows of f, f-0.npy, f-1.npy, ...")
      ->group("Output");
  command->add_flag("--quiet", arguments->quiet, "No progress, no table")->group("Output");

  command->callback([arguments, &status] {
    const EndOnSignal end_on_signal;  // while ranks come together and inputs are opened
    Clients clients = clients_of(*arguments);
    try {
      status = solve_files(*arguments, clients);
    } catch (const InputError& error) {
      if (!clients.session) throw;
      clients.refuse_together(error);
      status = kBadInput;
    }
  });
}

}  // namespace fedsinkhorn
