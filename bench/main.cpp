// fedsinkhorn-bench: what the inner loops reach, measured against what the machine allows and what others reach.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "build_info.hpp"
#include "core/stopwatch.hpp"
#include "io/atomic_file.hpp"
#include "machine.hpp"
#include "machine_load.hpp"
#include "online_memory.hpp"
#include "read_bandwidth.hpp"
#include "sections.hpp"
#include "simd/simd.hpp"
#include "spinners.hpp"

namespace {

using namespace fedsinkhorn;
using namespace fedsinkhorn::bench;

struct Section {
  std::string name;
  std::string description;
  void (*measure)(const Settings& settings, Report& report);
};

const std::vector<Section>& sections() {
  static const std::vector<Section> list = {
      {"dense", "one pass over a stored kernel against one read of it", measure_dense},
      {"first-round", "everything before the second iteration against its floor", measure_first_round},
      {"shared", "an iteration while others want the cores", measure_shared},
      {"small", "what acceleration adds to an iteration of a small problem, and whole calls beside POT's",
       measure_small},
      {"small-epsilon", "what a small epsilon costs an iteration", measure_small_epsilon},
      {"hard", "rounds of auto where acceleration alone is slow", measure_hard},
      {"online", "a kernel computed on the fly against the arithmetic it needs", measure_online},
      {"targets", "many targets against the two matrix products alone", measure_targets},
      {"peers", "the same iterations in PyTorch and POT", measure_peers},
      {"to-tolerance", "seconds to an L1 error of 1e-9, ours and theirs", measure_to_tolerance},
      {"federated", "topologies across processes against the paper's stack", measure_federated},
      {"policies", "a round of secure sums against one in plain", measure_policies},
      {"memory", "what a client of each topology holds", measure_memory},
  };
  return list;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Measures the inner loops. Results are verified before they are timed, and what is compared takes turns."};
  app.name("fedsinkhorn-bench");
  std::vector<std::string> names;
  for (const Section& section : sections()) names.push_back(section.name);
  std::vector<std::string> wanted = names;
  Settings settings;
  settings.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  std::filesystem::path json;
  std::string simd;
  std::string child;
  std::string reading;
  bool spin = false;
  app.add_option("sections", wanted, "What to measure: " + CLI::detail::join(names, ", ") + " (all)")
      ->check(CLI::IsMember(names));
  app.add_option("--n", settings.n, "Rows and columns (10000; 5000 for targets, 8000 for memory)")
      ->check(CLI::PositiveNumber);
  app.add_option("--repetitions", settings.repetitions, "Rounds (5 to 25)")->check(CLI::PositiveNumber);
  app.add_option("--threads", settings.threads, "Threads (all cores)")->check(CLI::PositiveNumber);
  app.add_option("--clients", settings.clients, "Processes of one thread each, in federated (2)")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", json, "Write all timings to this file");
  app.add_flag("--quick", settings.quick, "Small and few: a smoke test");
  app.add_option("--simd", simd, "Instruction set of everything (the best; dense: the best and avx2)")
      ->check(CLI::IsMember(cpu::simd_variants()));
  // Not for people: what children do.
  app.add_option("--child", child)->group("");      // online_memory.hpp
  app.add_option("--reading", reading)->group("");  // read_bandwidth.hpp
  app.add_flag("--spin", spin)->group("");          // spinners.hpp
  CLI11_PARSE(app, argc, argv);
  if (!child.empty()) {
    run_online_child(child);
    return 0;
  }
  if (!reading.empty()) {
    run_reading_child(reading);
    return 0;
  }
  if (spin) {
    run_spinning_child();
    return 0;
  }
  // By the environment: the programs that sections start are to heed it as well. No other thread is there yet.
  if (!simd.empty()) setenv(cpu::kForcedSimd, simd.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)

  if (!json.empty()) require_writable(json);
  const Timer timer;
  Report report;
  nlohmann::ordered_json machine = {{"version", build_info::kVersion},
                                    {"compiler", fmt::format("{}, {}", build_info::kCompiler, build_info::kBuildType)},
                                    {"threads", settings.threads}};
  machine.update(describe_machine());
  for (const auto& [name, value] : machine.items()) {
    fmt::print("{:<12} {}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const Section& section : sections()) {
    if (std::find(wanted.begin(), wanted.end(), section.name) == wanted.end()) continue;
    report.begin_section(section.name, section.description);
    const MachineLoad load;
    section.measure(settings, report);
    report.note(load.text());
  }
  if (!settings.quick) report.print_goals();
  fmt::print("\n{:.0f} s in all\n", timer.seconds());
  if (!json.empty()) {
    machine["quick"] = settings.quick;
    report.write_json(json, machine);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fedsinkhorn-bench: {}\n", error.what());
    return 1;
  }
}
