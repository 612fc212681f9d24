#include "torture/case_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/temporary_folder.hpp"
#include "torture/reference.hpp"

namespace fedsinkhorn::torture {
namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::size_t>;

std::string contents_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// NumPy's format, version 1.0: the library itself writes float64 alone.
void write_float32(const fs::path& path, const std::vector<double>& values, const std::string& shape) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::ofstream stream(path, std::ios::binary);
  stream << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size()) << '\0' << header;
  for (const double value : values) {
    const auto narrow = static_cast<float>(value);
    stream.write(reinterpret_cast<const char*>(&narrow), sizeof(narrow));
  }
}

void write_masses(const fs::path& path, const std::vector<double>& masses, std::size_t targets, bool as_float32) {
  const std::size_t lines = masses.size() / targets;
  if (as_float32) {
    write_float32(path, masses, targets > 1 ? fmt::format("({}, {})", lines, targets) : fmt::format("({},)", lines));
  } else {
    write_npy(path, masses, targets > 1 ? Shape{lines, targets} : Shape{lines});
  }
}

/// Runs it in the folder, its outputs going to files there. Returns its exit status, 124 if it took minutes.
int run(const std::string& program, const std::string& arguments, const fs::path& folder) {
  const std::string script = fmt::format("cd '{}' && exec timeout 300 '{}' {} > out.txt 2> err.txt", folder.string(),
                                         fs::absolute(program).string(), arguments);
  std::vector<std::string> words = {"/bin/sh", "-c", script};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, argv.front(), nullptr, nullptr, argv.data(), environ) != 0) {
    throw std::runtime_error("no shell could be started");
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("the program was lost");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Of policy sums, in a file for each client's rows.
std::vector<double> plan_in(const fs::path& folder, const Case& it) {
  if (it.options.policy == "open") return NpyFile::open(folder / "plan.npy").to_vector();
  std::vector<double> plan;
  for (std::size_t k = 0; k < it.options.clients; ++k) {
    const fs::path path = folder / fmt::format("plan-{}.npy", k);
    constexpr std::uintmax_t header = 128;
    if (fs::file_size(path) == header) continue;  // a client without rows
    const std::vector<double> rows = NpyFile::open(path).to_vector();
    plan.insert(plan.end(), rows.begin(), rows.end());
  }
  return plan;
}

/// The plan in the file against the reference, and the summary against the plan in the file.
void judge_files(const Case& it, const fs::path& folder, std::vector<std::string>& complaints) {
  const std::vector<Real> costs = exact_costs(it);
  const Masses masses = exact_masses(it, costs, 0);
  const std::vector<double> plan = plan_in(folder / "r", it);
  const auto summary = nlohmann::json::parse(contents_of(folder / "r" / "summary.json"));
  if (plan.size() != it.n * it.m) {
    complaints.emplace_back("plan.npy has another size");
    return;
  }
  std::vector<Real> rows(it.n);
  std::vector<Real> columns(it.m);
  Real linear = 0;
  Real size = 0;
  for (std::size_t i = 0; i < it.n; ++i) {
    rows[i] = -masses.a[i];
    for (std::size_t j = 0; j < it.m; ++j) rows[i] += plan[i * it.m + j];
  }
  for (std::size_t j = 0; j < it.m; ++j) {
    columns[j] = -masses.b[j];
    for (std::size_t i = 0; i < it.n; ++i) columns[j] += plan[i * it.m + j];
  }
  for (std::size_t p = 0; p < plan.size(); ++p) {
    if (!(plan[p] > 0)) continue;
    linear += plan[p] * costs[p];
    size += plan[p] * (std::abs(costs[p]) + vanishing_cost(it));
  }
  const Real reduced = is_reduced(it.options.precision) ? 4e-6L : 0;
  // Exponents of 1e4 and more have lost that many of their digits.
  const Real rounding = 1e-12L + 4e-15L * largest_cost(it) / it.epsilon + reduced;
  const auto compare = [&](const char* what, const nlohmann::json& reported, Real value, Real bound) {
    if (reported.is_null()) return;  // not representable
    if (!(std::abs(reported.get<double>() - value) <= bound + 1e-300L)) {
      complaints.push_back(
          fmt::format("{} is {}, the plan's {:.17g}", what, reported.dump(), static_cast<double>(value)));
    }
  };
  compare("error.a", summary["error"]["a"], norm_of(it.options.norm, rows), rounding * masses.total);
  compare("error.b", summary["error"]["b"], norm_of(it.options.norm, columns), rounding * masses.total);
  compare("cost.linear", summary["cost"]["linear"], linear, rounding * size);
  if (summary["status"] != "converged" || it.is_hard) return;
  const ReferencePlan reference = reference_plan(it, costs, masses);
  const Real wanted = is_reduced(it.options.precision) ? 2e-5L * static_cast<Real>(std::max(it.n, it.m)) : 1e-9L;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    if (std::abs(plan[p] - reference.plan[p]) <= wanted * masses.total) continue;
    complaints.push_back(fmt::format("plan.npy has converged, but is off by {:g} of the mass",
                                     static_cast<double>(std::abs(plan[p] - reference.plan[p]) / masses.total)));
    return;
  }
}

}  // namespace

std::string command_line(const Case& it) {
  const Options& options = it.options;
  std::string line = it.cost.empty() ? fmt::format("solve --points X.npy Y.npy --metric {}", name_of(it.metric))
                                     : std::string("solve --cost C.npy");
  if (!it.a.empty()) line += " --a a.npy";
  if (!it.b.empty()) line += " --b b.npy";
  if (!it.initial_g.empty()) line += " --initial-g g.npy";
  line += fmt::format(
      " --epsilon {} --tolerance {} --norm {} --max-iterations {} --check-every {} --method {} --topology {} --passes "
      "{} "
      "--kernel {} --precision {} --stabilization {} --threads {} --simd {} --clients {} --transport {} --backend cpu",
      it.epsilon, options.tolerance, name_of(options.norm), options.max_iterations, options.check_every, options.method,
      options.topology, name_of(options.passes), name_of(options.kernel), name_of(options.precision),
      name_of(options.stabilization), options.threads, options.simd, options.clients, options.transport);
  if (options.policy != "open")
    line += fmt::format(" --policy {} --server {}", options.policy, name_of(options.server));
  if (options.local_steps > 1) line += fmt::format(" --local-steps {}", options.local_steps);
  if (options.damping < 1) line += fmt::format(" --damping {}", options.damping);
  if (!options.row_weights.empty()) line += fmt::format(" --rows {}", fmt::join(options.row_weights, ","));
  return line + " --plan --output r";
}

void write_case(const Case& it, const fs::path& folder) {
  fs::create_directories(folder);
  if (it.cost.empty()) {
    write_npy(folder / "X.npy", it.x, Shape{it.n, it.dimension});
    write_npy(folder / "Y.npy", it.y, Shape{it.m, it.dimension});
  } else {
    write_npy(folder / "C.npy", it.cost, Shape{it.n, it.m});
  }
  if (!it.a.empty()) write_masses(folder / "a.npy", it.a, 1, it.float32_masses);
  if (!it.b.empty()) write_masses(folder / "b.npy", it.b, it.targets, it.float32_masses);
  if (!it.initial_g.empty()) write_npy(folder / "g.npy", it.initial_g, Shape{it.m});
  std::ofstream(folder / "command.txt") << "fedsinkhorn " << command_line(it) << '\n';
}

Verdict run_program_and_judge(const Case& it, const std::string& program) {
  Verdict verdict;
  const TemporaryFolder folder;
  write_case(it, folder.path());
  const int status = run(program, command_line(it) + " --quiet", folder.path());
  const std::string said = contents_of(folder.path() / "err.txt");
  if (it.is_infeasible) {
    verdict.outcome = Outcome::refused;
    if (status != 2 || said.find("no plan exists") == std::string::npos) {
      verdict.complaints.push_back(fmt::format("ended with {} though no plan exists: {}", status, said));
    }
    return verdict;
  }
  if (status != 0 && status != 3) {
    verdict.complaints.push_back(fmt::format("ended with {}: {}", status, said));
    return verdict;
  }
  verdict.outcome = status == 0 ? Outcome::right : Outcome::not_converged;
  if (it.targets == 1) judge_files(it, folder.path(), verdict.complaints);
  return verdict;
}

}  // namespace fedsinkhorn::torture
