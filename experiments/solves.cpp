#include "solves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "child_process.hpp"
#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/summary.hpp"
#include "io/temporary_folder.hpp"
#include "options/option_table.hpp"

namespace fedsinkhorn::experiments {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

void write_problem(const PointsProblem& problem, const fs::path& folder) {
  const SyntheticProblem& drawn = problem.drawn();
  const SyntheticSpec& spec = drawn.spec;
  write_npy(folder / "X.npy", drawn.x, std::array{spec.rows, spec.dimension});
  write_npy(folder / "Y.npy", drawn.y, std::array{spec.columns, spec.dimension});
  write_npy(folder / "a.npy", drawn.a, std::array{spec.rows});
  write_npy(folder / "b.npy", drawn.b, std::array{spec.columns, spec.targets});
}

/// Those that differ from the defaults. mpirun says how many clients there are.
Command flags_of(const Problem& problem, const Options& options) {
  const Problem no_problem;
  const Options defaults;
  Command flags;
  for (const OptionEntry& option : option_table()) {
    const std::string value = value_text(option, problem, options);
    if (option.field == "clients" || value == value_text(option, no_problem, defaults)) continue;
    flags.push_back("--" + option.main_flag().substr(option.main_flag().find_first_not_of('-')));
    if (!std::holds_alternative<bool Options::*>(option.member)) flags.push_back(value);
  }
  return flags;
}

report::RunRecord solve_under_mpirun(const PointsProblem& problem, const Options& options) {
  const fs::path mpirun = FEDSINKHORN_MPIRUN;
  if (mpirun.empty()) throw std::runtime_error("this build has no MPI: leave out --transport mpi");
  const TemporaryFolder folder;
  write_problem(problem, folder.path());
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  Command command = {"/usr/bin/env", "OMP_NUM_THREADS=1", "OMPI_ALLOW_RUN_AS_ROOT=1",
                     "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                     // A run that stops at its limit ends with status 3: no reason to kill the others.
                     "/bin/sh", "-c", "\"$@\" 2>\"$0\" || [ $? -eq 3 ] || { cat \"$0\" >&2; exit 1; }", in("errors"),
                     mpirun.string(), "-q", "--oversubscribe", "--mca", "orte_abort_on_non_zero_status", "0", "-n",
                     std::to_string(options.clients), FEDSINKHORN_BINARY, "solve", "--points", in("X.npy"), in("Y.npy"),
                     "--a", in("a.npy"), "--b", in("b.npy"), "--quiet", "--output", in("out")};
  const Command flags = flags_of(problem.view(), options);
  command.insert(command.end(), flags.begin(), flags.end());
  bench::ChildProcess child(command);
  (void)child.read_to_end();
  return report::read_run_record(folder.path() / "out");
}

}  // namespace

Problem PointsProblem::view() const {
  const SyntheticSpec& spec = drawn_.spec;
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{drawn_.x.data(), spec.rows, spec.dimension},
                             MatrixView<double>{drawn_.y.data(), spec.columns, spec.dimension}};
  problem.a = drawn_.a;
  problem.b = {drawn_.b.data(), spec.columns, spec.targets};
  problem.epsilon = epsilon_;
  return problem;
}

PointsProblem square_problem(std::size_t n, std::uint64_t seed, double epsilon) {
  SyntheticSpec spec;
  spec.rows = n;
  spec.seed = seed;
  spec.random_marginals = true;
  return {spec, epsilon};
}

Options paper_options(const std::string& topology, std::size_t clients) {
  Options options;
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.topology = topology;
  options.clients = clients;
  options.threads = 1;
  options.norm = Norm::l2;
  return options;
}

report::RunRecord record_of(const Result& result, const Options& options, double epsilon) {
  report::RunRecord run;
  run.summary = Json::parse(summary_json(result, options, epsilon));
  for (const TraceRow& row : result.trace) {
    run.trace.push_back({static_cast<double>(row.iteration), row.seconds, row.error_a, row.error_b, row.epsilon});
  }
  return run;
}

report::RunRecord record_of_solve(const PointsProblem& problem, const Options& options, const std::string& transport) {
  if (transport == "mpi" && options.clients > 1) return solve_under_mpirun(problem, options);
  return record_of(solve(problem.view(), options), options, problem.epsilon());
}

Json of_clients(const report::RunRecord& run, const char* key) {
  Json values = Json::array();
  for (const Json& client : report::array(run.summary, "clients")) values.push_back(report::number(client, key));
  return values;
}

double largest_of_clients(const report::RunRecord& run, const char* key) {
  double largest = 0;
  for (const Json& value : of_clients(run, key)) largest = std::max(largest, value.get<double>());
  return largest;
}

Json curve_of(const report::RunRecord& run, double report::TracePoint::*x, double report::TracePoint::*y,
              std::size_t most) {
  Json points = Json::array();
  const std::size_t stride = std::max<std::size_t>(1, (run.trace.size() + most - 1) / most);
  const double start = x == &report::TracePoint::seconds && !run.trace.empty() ? run.trace.front().seconds : 0;
  // Six digits are more than a screen shows, and keep records small.
  const auto shortened = [](double value) {
    return std::isfinite(value) ? std::stod(fmt::format("{:.6g}", value)) : value;
  };
  for (std::size_t k = 0; k < run.trace.size(); ++k) {
    if (k % stride != 0 && k + 1 != run.trace.size()) continue;
    points.push_back({shortened(run.trace[k].*x - start), measured_number(shortened(run.trace[k].*y))});
  }
  return points;
}

double seconds_per_iteration(const report::RunRecord& run) {
  constexpr std::size_t kBuilding = 2;  // iterations that write kernels
  if (run.trace.size() <= kBuilding) return std::numeric_limits<double>::infinity();
  const report::TracePoint& first = run.trace[kBuilding - 1];
  const report::TracePoint& last = run.trace.back();
  return (last.seconds - first.seconds) / (last.iteration - first.iteration);
}

int is_converged(const report::RunRecord& run) { return report::text(run.summary, "status") == "converged" ? 1 : 0; }

}  // namespace fedsinkhorn::experiments
