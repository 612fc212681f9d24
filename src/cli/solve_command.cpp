// fedsinkhorn solve: files in, potentials and a summary out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/summary_table.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/atomic_file.hpp"
#include "io/output_folder.hpp"
#include "io/progress.hpp"
#include "io/summary.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string cost;
  std::vector<std::string> points;
  std::string metric = "sqeuclidean";
  std::string kernel = "dense";
  std::string a;
  std::string b;
  double epsilon = 0;
  std::string passes = "fused";
  std::string precision = "float64";
  std::string norm = "l1";
  std::string stabilization = "absorption";
  std::string feasibility = "check";
  std::string transport = "threads";
  std::int64_t clients = 1;
  double timeout = 60;
  Options options;
  std::string output;
  bool plan = false;
  bool quiet = false;
};

// ---------------------------------------------------------------------------------------------------------------------
// Stopping on request

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void request_stop(int) { stop_requested = true; }

/// SIGINT and SIGTERM ask for a stop after the current iteration; a second one ends the process as usual.
class StopOnSignal {
 public:
  StopOnSignal() {
    struct sigaction action {};
    action.sa_handler = request_stop;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    install(SIGINT, action, old_interrupt_);
    install(SIGTERM, action, old_terminate_);
  }
  ~StopOnSignal() {
    sigaction(SIGINT, &old_interrupt_, nullptr);
    sigaction(SIGTERM, &old_terminate_, nullptr);
  }
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

 private:
  // A signal that was ignored from the start (nohup, a background job) stays ignored.
  static void install(int signal, const struct sigaction& action, struct sigaction& old) {
    sigaction(signal, &action, &old);
    if (old.sa_handler == SIG_IGN) sigaction(signal, &old, nullptr);
  }

  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

// ---------------------------------------------------------------------------------------------------------------------
// Reading

template <class Choice>
Choice choice(const std::string& flag, const std::string& name) {
  if (const auto found = choice_named<Choice>(name)) return *found;
  throw InputError(flag, "unknown name '" + name + "'", "choose " + alternatives<Choice>());
}

Options take_options(const Arguments& arguments) {
  Options options = arguments.options;
  options.kernel = choice<KernelKind>("--kernel", arguments.kernel);
  options.passes = choice<Passes>("--passes", arguments.passes);
  options.precision = choice<Precision>("--precision", arguments.precision);
  options.norm = choice<Norm>("--norm", arguments.norm);
  options.stabilization = choice<Stabilization>("--stabilization", arguments.stabilization);
  options.feasibility = choice<Feasibility>("--feasibility", arguments.feasibility);
  if (arguments.clients != 1) {
    throw InputError("--clients", fmt::format("{} clients were asked for", arguments.clients),
                     "this version solves on one client");
  }
  if (!(arguments.timeout > 0)) {
    throw InputError("--timeout", fmt::format("{} is no time to wait", arguments.timeout), "give seconds above 0");
  }
  if (arguments.transport != "threads") {
    throw InputError("--transport", "unknown name '" + arguments.transport + "'", "this build knows: threads");
  }
  return options;
}

/// Files stay mapped as long as the problem that refers to them.
struct Inputs {
  std::vector<NpyFile> files;
  std::vector<double> a;
  std::vector<double> b;
  Problem problem;
};

void take_cost(const Arguments& arguments, Inputs& inputs) {
  if (arguments.cost.empty() == arguments.points.empty()) {
    throw InputError("solve", arguments.cost.empty() ? "no costs were given" : "both --cost and --points were given",
                     "give either --cost C.npy or --points X.npy [Y.npy]");
  }
  const auto metric = choice<Metric>("--metric", arguments.metric);
  InputNames& names = inputs.problem.names;
  if (!arguments.cost.empty()) {
    inputs.files.push_back(NpyFile::open(arguments.cost));
    const NpyFile& file = inputs.files.back();
    if (file.shape().size() != 2) {
      throw InputError(arguments.cost, "is one-dimensional", "a cost has two dimensions, rows and columns");
    }
    inputs.problem.cost =
        CostMatrix{file.matrix(), [&file](std::size_t first, std::size_t count) { file.release_rows(first, count); }};
    names.cost = display_name(arguments.cost);
    return;
  }
  for (const std::string& path : arguments.points) inputs.files.push_back(NpyFile::open(path));
  const AnyMatrix x = inputs.files.front().matrix();
  const AnyMatrix y = inputs.files.back().matrix();
  inputs.problem.cost = PointClouds{x, y, metric};
  names.x = display_name(arguments.points.front());
  names.y = display_name(arguments.points.back());
  names.cost = names.x;
}

std::vector<double> read_masses(const std::string& path, Problem& problem, std::size_t& columns) {
  const NpyFile file = NpyFile::open(path);
  columns = file.shape().size() == 2 ? file.shape()[1] : 1;
  // Sums of float32 numbers agree to fewer digits.
  if (file.is_float32()) problem.mass_tolerance = 1e-5;
  return file.to_vector();
}

std::unique_ptr<Inputs> take_inputs(const Arguments& arguments) {
  auto inputs = std::make_unique<Inputs>();
  inputs->files.reserve(2);  // views and callbacks refer to the elements
  take_cost(arguments, *inputs);
  Problem& problem = inputs->problem;
  problem.epsilon = arguments.epsilon;
  problem.names.epsilon = "--epsilon";
  problem.names.a = arguments.a.empty() ? "a (uniform)" : display_name(arguments.a);
  problem.names.b = arguments.b.empty() ? "b (uniform)" : display_name(arguments.b);
  std::size_t columns = 0;
  if (!arguments.a.empty()) {
    inputs->a = read_masses(arguments.a, problem, columns);
    if (columns != 1) {
      throw InputError(problem.names.a, fmt::format("has {} columns", columns), "the row masses are a single column");
    }
    problem.a = inputs->a;
  }
  if (!arguments.b.empty()) {
    inputs->b = read_masses(arguments.b, problem, columns);
    problem.b = {inputs->b.data(), inputs->b.size() / columns, columns};
  }
  return inputs;
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing

void write_potential(const fs::path& path, const std::vector<double>& values, std::size_t targets) {
  const std::vector<std::size_t> shape =
      targets == 1 ? std::vector{values.size()} : std::vector{values.size() / targets, targets};
  write_npy(path, values, shape);
}

void write_plan(const fs::path& path, const Problem& problem, const Result& result, int threads) {
  std::vector<std::size_t> shape = {result.rows, result.columns};
  if (result.targets > 1) shape.insert(shape.begin(), result.targets);
  NpyWriter writer(path, shape);
  const Plan plan(problem, result, threads);
  const std::size_t rows_each = std::clamp<std::size_t>((std::size_t{1} << 21) / result.columns, 1, result.rows);
  std::vector<double> block(rows_each * result.columns);
  for (std::size_t k = 0; k < result.targets; ++k) {
    for (std::size_t i = 0; i < result.rows; i += rows_each) {
      const std::size_t count = std::min(rows_each, result.rows - i);
      plan.rows(i, count, k, block);
      writer.append(std::span(block).first(count * result.columns));
    }
  }
  writer.finish();
}

constexpr std::array kResultFiles = {"f.npy", "g.npy", "trace.csv", "summary.json", "plan.npy"};

// A cost that lies where results go would be replaced, or removed, while it is still being read.
void check_no_input_is_overwritten(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.points;
  for (const std::string* input : {&arguments.cost, &arguments.a, &arguments.b}) {
    if (!input->empty()) inputs.push_back(*input);
  }
  for (const std::string& input : inputs) {
    for (const char* name : kResultFiles) {
      std::error_code no_such_file;
      if (fs::equivalent(input, fs::path(arguments.output) / name, no_such_file)) {
        throw InputError("--output " + arguments.output, "would overwrite the input " + input, "name another folder");
      }
    }
  }
}

// The summary comes last: where it is, the rest is complete.
void write_results(const OutputFolder& folder, const Arguments& arguments, const Options& options,
                   const Problem& problem, const Result& result) {
  fs::remove(folder.file("summary.json"));
  write_potential(folder.file("f.npy"), result.f, result.targets);
  write_potential(folder.file("g.npy"), result.g, result.targets);
  if (arguments.plan) {
    write_plan(folder.file("plan.npy"), problem, result, options.threads);
  } else {
    fs::remove(folder.file("plan.npy"));  // one of an earlier run would not belong to these potentials
  }
  write_file_atomically(folder.file("trace.csv"), trace_csv(result.trace));
  write_file_atomically(folder.file("summary.json"), summary_json(result, options, problem.epsilon));
}

// An empty word is mostly a shell variable that was not set; it must not pass for an option left out.
CLI::Validator not_empty() {
  return {[](const std::string& word) { return word.empty() ? "is empty; give a name" : ""; }, "", "not empty"};
}

int solve_files(const Arguments& arguments) {
  if (arguments.plan && arguments.output.empty()) {
    throw InputError("--plan", "has nowhere to go", "add --output DIR");
  }
  Options options = take_options(arguments);
  const std::unique_ptr<Inputs> inputs = take_inputs(arguments);
  std::optional<OutputFolder> folder;
  if (!arguments.output.empty()) {
    check_no_input_is_overwritten(arguments);
    folder.emplace(arguments.output, kResultFiles);
  }

  ProgressLine progress(stderr);
  if (!arguments.quiet) options.on_check = [&](const Progress& now) { progress.update(now); };
  options.interrupt = &stop_requested;
  const StopOnSignal stop_on_signal;  // while results are written, too
  const Result result = solve(inputs->problem, options);
  progress.clear();
  if (folder) {
    write_results(*folder, arguments, options, inputs->problem, result);
    folder->keep();
  }
  if (!arguments.quiet) fmt::print("{}", summary_table(result, options, inputs->problem.epsilon, arguments.output));
  return exit_status(result.status);
}

}  // namespace

void add_solve_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  Options& options = arguments->options;
  CLI::App* command = app.add_subcommand("solve", "Solve an entropic optimal transport problem");
  command->footer(
      "Exit status: 0 converged, 2 bad input (nothing written), 3 stopped without converging,\n"
      "130 interrupted (results so far written).");

  command->add_option("--cost", arguments->cost, "Cost matrix, .npy of n x m; +inf forbids a pair")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--points", arguments->points, "Points, .npy of n x d, and of m x d if they differ")
      ->expected(1, 2)
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--metric", arguments->metric, "Cost between points: " + alternatives<Metric>())
      ->capture_default_str()
      ->group("Problem");
  command->add_option("--a", arguments->a, "Row masses, .npy of n; default uniform")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--b", arguments->b, "Column masses, .npy of m, or m x N for N targets; default uniform")
      ->check(not_empty())
      ->group("Problem");
  command->add_option("--epsilon", arguments->epsilon, "Regularisation, absolute, in units of the cost")
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
  command->add_option("--method", options.method, "Iteration: sinkhorn")->capture_default_str()->group("How");
  command->add_option("--backend", options.backend, "cpu, cuda or auto")->capture_default_str()->group("How");
  command->add_option("--threads", options.threads, "Threads; 0 means all cores")->capture_default_str()->group("How");
  command->add_option("--simd", options.simd, "Instruction set: auto, avx512, avx2, sse4 or baseline")
      ->capture_default_str()
      ->group("How");

  command->add_option("--topology", options.topology, "Who holds what: centralized")
      ->capture_default_str()
      ->group("Clients");
  command->add_option("--clients", arguments->clients, "Clients in this process")
      ->capture_default_str()
      ->group("Clients");
  command->add_option("--transport", arguments->transport, "How clients talk: threads")
      ->capture_default_str()
      ->group("Clients");

  command->add_option("--timeout", arguments->timeout, "Seconds to wait for another client; none to wait for here")
      ->capture_default_str()
      ->group("Clients");

  command->add_option("--output", arguments->output, "Folder for f.npy, g.npy, trace.csv, summary.json")
      ->check(not_empty())
      ->group("Output");
  command->add_flag("--plan", arguments->plan, "Also write the plan, plan.npy of n x m (N x n x m for N targets)")
      ->group("Output");
  command->add_flag("--quiet", arguments->quiet, "No progress, no table")->group("Output");

  command->callback([arguments, &status] { status = solve_files(*arguments); });
}

}  // namespace fedsinkhorn
