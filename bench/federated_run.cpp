#include "federated_run.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "child_process.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::bench {
namespace {

namespace fs = std::filesystem;
using Command = std::vector<std::string>;

Command operator+(Command command, const Command& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

/// The environment of all that is started: one thread, also in libraries that would take all cores.
Command alone() { return {"/usr/bin/env", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1"}; }

/// So many processes of what follows, each on a core of its own while there are enough.
Command under_mpirun(int processes) {
  const bool enough = processes <= static_cast<int>(std::thread::hardware_concurrency());
  return alone() + Command{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", FEDSINKHORN_MPIRUN, "-q",
                           "--oversubscribe", "--bind-to", enough ? "core" : "none",
                           // A budget used up is a status of its own, for which mpirun would take two seconds to end
                           // the job by force.
                           "--mca", "orte_abort_on_non_zero_status", "0", "-n", fmt::format("{}", processes)};
}

/// Seconds an iteration by the trace, whose rows have the time since the start. Kernels are built in the first two.
double seconds_per_iteration(const fs::path& trace, int iterations) {
  std::ifstream file(trace);
  std::string line;
  std::getline(file, line);  // the names of the columns
  std::vector<double> seconds;
  while (std::getline(file, line)) seconds.push_back(std::strtod(line.c_str() + line.find(',') + 1, nullptr));
  if (seconds.size() != static_cast<std::size_t>(iterations)) {
    throw std::runtime_error("federated: a solve did not run its budget");
  }
  if (iterations < 3) return 0;
  return (seconds.back() - seconds[1]) / (iterations - 2);
}

/// "2x4" for 8.
std::string paper_grid(int clients) {
  int high = 1;
  for (int k = 1; k * k <= clients; ++k) {
    if (clients % k == 0) high = k;
  }
  return fmt::format("{}x{}", high, clients / high);
}

std::vector<double> vector_from(const fs::path& file) { return NpyFile::open(file).to_vector(); }

}  // namespace

ProblemOnDisk::ProblemOnDisk(std::size_t n) {
  ChildProcess child(Command{FEDSINKHORN_BINARY, "generate", "--kind", "embedding", "--rows", fmt::format("{}", n),
                             "--dimension", "64", "--shared-support", "--marginals", "random", "--write", "points",
                             "--output", path().string()});
  (void)child.read_to_end();
}

bool has_mpirun() { return fs::exists(FEDSINKHORN_MPIRUN); }

FederatedRun run_ours(const ProblemOnDisk& problem, const OurRun& run) {
  const fs::path output = problem.path() / "ours";
  fs::remove_all(output);  // what is found there afterwards is of this run
  const auto in = [&](const char* name) { return (problem.path() / name).string(); };
  Command solve = {FEDSINKHORN_BINARY,
                   "solve",
                   "--points",
                   in("X.npy"),
                   "--a",
                   in("a.npy"),
                   "--b",
                   in("b.npy"),
                   "--epsilon",
                   fmt::format("{}", kFederatedEpsilon),
                   "--method",
                   "sinkhorn",
                   "--tolerance",
                   "0",
                   "--check-every",
                   "1",
                   "--max-iterations",
                   fmt::format("{}", run.iterations),
                   "--backend",
                   "cpu",
                   "--threads",
                   fmt::format("{}", run.threads),
                   "--topology",
                   run.topology,
                   "--precision",
                   run.precision,
                   "--output",
                   output.string(),
                   "--quiet"};
  if (run.paper_grid) solve = solve + Command{"--grid", paper_grid(run.clients)};
  const Command clients = {"--clients", fmt::format("{}", run.clients)};
  // A budget used up is status 3; mpirun, told as above, makes it 0. What is said about it is of interest to nobody.
  const Command accept_budget = {"/bin/sh", "-c", "\"$@\" 2>\"$0\" || [ $? -eq 3 ] || { cat \"$0\" >&2; exit 1; }",
                                 in("errors")};
  ChildProcess child(accept_budget +
                     (has_mpirun() && run.clients > 1 ? under_mpirun(run.clients) + solve : alone() + solve + clients));
  (void)child.read_to_end();

  std::ifstream file(output / "summary.json");
  if (!file) throw std::runtime_error("federated: " + run.topology + " left no summary");
  const nlohmann::json summary = nlohmann::json::parse(file);
  FederatedRun result;
  result.seconds = seconds_per_iteration(output / "trace.csv", run.iterations);
  for (const nlohmann::json& client : summary.at("clients")) {
    result.clients.push_back({client.at("compute_seconds"), client.at("communication_seconds"),
                              client.at("kernel_bytes"), client.at("peak_memory_bytes")});
  }
  result.f = vector_from(output / "f.npy");
  result.g = vector_from(output / "g.npy");
  return result;
}

std::optional<PaperStack> PaperStack::find(Report& report) {
  const auto missing = [&](const std::string& what) {
    report.note(fmt::format("the paper's stack: {}; ours alone", what));
    return std::nullopt;
  };
  if (!has_mpirun()) return missing("there is no mpirun");
  const char* packages = "not installed: apt-get install python3-torch python3-mpi4py libopenblas0-pthread";
  if (!fs::exists(kPython)) return missing(packages);
  ChildProcess child({kPython, "-B", fmt::format("{}/paper_stack.py", FEDSINKHORN_PEERS), "--versions"});
  const nlohmann::json answer = nlohmann::json::parse(child.read_to_end());
  if (answer.contains("missing")) return missing(packages);
  report.note(fmt::format("the paper's stack: {}", answer.at("version").get<std::string>()));
  return PaperStack();
}

PaperStack::Run PaperStack::run(const ProblemOnDisk& problem, const std::string& topology, int clients,
                                int iterations) const {
  ChildProcess child(under_mpirun(clients) + Command{kPython, "-B", fmt::format("{}/paper_stack.py", FEDSINKHORN_PEERS),
                                                     "--problem", problem.path().string(), "--topology", topology,
                                                     "--epsilon", fmt::format("{}", kFederatedEpsilon), "--iterations",
                                                     fmt::format("{}", iterations), "--save", problem.path().string()});
  const nlohmann::json answer = nlohmann::json::parse(child.read_to_end());
  return {answer.at("seconds"), answer.at("compute"), answer.at("communication"), vector_from(problem.path() / "f.npy"),
          vector_from(problem.path() / "g.npy")};
}

}  // namespace fedsinkhorn::bench
