// fedsinkhorn calibrate: measures passes and exchanges on this machine, alone or under mpirun.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/speaker.hpp"
#include "cli/word_option.hpp"
#include "comm/transports.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/processors.hpp"
#include "core/stopwatch.hpp"
#include "costmodel/calibrate.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/atomic_file.hpp"
#include "solve/session.hpp"

namespace fedsinkhorn {
namespace {

struct CalibrateProfileArguments {
  std::string output;
  std::string name = "calibrated";
  std::size_t clients = 0;  ///< 0: as many as cores, or as mpirun has started
  bool quick = false;
};

/// A line of progress on a terminal, or a line for each part elsewhere.
class StepLine {
 public:
  void operator()(const std::string& what, double share) {
    if (!is_terminal_) return;
    fmt::print(stderr, "\r\033[K{:3.0f} %  {}", 100 * share, what);
    std::fflush(stderr);
  }
  void clear() const {
    if (is_terminal_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

std::string exchange_table(const Profile& profile) {
  std::string text = fmt::format("{:<12} {:>3} {:>12} {:>10} {:>13} {:>10} {:>9} {:>6}\n", "exchange", "c",
                                 "alpha (us)", "+-", "beta (s/byte)", "+-", "BW (GB/s)", "R^2");
  for (const ExchangeTime& time : profile.exchanges) {
    text += fmt::format("{:<12} {:>3} {:>12.2f} {:>10.2f} {:>13.4e} {:>10.1e} {:>9.3f} {:>6.3f}\n", time.exchange,
                        time.clients, 1e6 * time.alpha, 1e6 * time.alpha_error, time.beta, time.beta_error,
                        time.beta > 0 ? 1e-9 / time.beta : 0, time.r_squared);
  }
  return text;
}

/// How fast a large kernel is read.
std::string pass_table(const Profile& profile) {
  std::string text =
      fmt::format("{:<7} {:<9} {:<17} {:>3} {:>7} {:>9} {:>7} {:>12} {:>10} {:>8}\n", "kernel", "precision", "verb",
                  "N", "clients", "computing", "threads", "rows x cols", "ns/entry", "spread");
  std::size_t shown = 0;  // the largest that is measured with all targets
  for (const PassTime& time : profile.passes) {
    if (time.targets > 1 && time.kernel == "dense") shown = std::max(shown, time.columns);
  }
  for (const PassTime& time : profile.passes) {
    if (time.columns != shown || time.verb == "build") continue;
    const double entries =
        static_cast<double>(time.computing) * static_cast<double>(time.rows) * static_cast<double>(time.columns);
    text += fmt::format("{:<7} {:<9} {:<17} {:>3} {:>7} {:>9} {:>7} {:>12} {:>10.4f} {:>7.0f}%\n", time.kernel,
                        name_of(time.precision), time.verb, time.targets, time.clients, time.computing, time.threads,
                        fmt::format("{}x{}", time.rows, time.columns), 1e9 * time.seconds / entries, 100 * time.spread);
  }
  return text;
}

/// What distorts the times, in words.
std::string effects_of(const Profile& profile) {
  std::string text;
  const auto cache = static_cast<double>(profile.machine.cache_bytes);
  if (cache > 0) {
    text += fmt::format(
        "cache       passes over up to {} may come from the last-level cache: predictions interpolate "
        "over the bytes read\n",
        human_bytes(profile.machine.cache_bytes));
  }
  std::size_t most = 1;
  for (const ExchangeTime& time : profile.exchanges) most = std::max(most, time.clients);
  if (most > static_cast<std::size_t>(profile.machine.cores)) {
    text += fmt::format(
        "crowding    {} clients on {} cores: times with more clients than cores include waiting for a "
        "core\n",
        most, profile.machine.cores);
  }
  for (const ExchangeTime& time : profile.exchanges) {
    if (time.r_squared > 0.5) continue;
    text += fmt::format("poor fit    {} among {} clients, R^2 {:.2f}: is the machine busy? calibrate again\n",
                        time.exchange, time.clients, time.r_squared);
  }
  std::size_t noisy = 0;
  for (const PassTime& time : profile.passes) noisy += time.spread > 0.25 ? 1 : 0;
  if (noisy > 0) {
    text += fmt::format("noise       {} of {} passes varied by more than 25 %; the medians are used\n", noisy,
                        profile.passes.size());
  }
  return text;
}

void print_profile(const Profile& profile, double seconds, const std::string& output) {
  const auto line = [](const char* name, const std::string& value) { fmt::print("{:<11} {}\n", name, value); };
  line("machine",
       fmt::format("{}, {} cores, {}", profile.machine.processor, profile.machine.cores, profile.machine.simd));
  line("transport", profile.transport);
  if (profile.links) {
    line("link", fmt::format("{:.2f} us, {:.3f} GB/s", 1e6 * profile.links->latency, 1e-9 * profile.links->bandwidth));
  }
  line("element", fmt::format("{:.2f} ns per row, {:.2f} ns per column, beside passes and exchanges",
                              1e9 * profile.seconds_per_row, 1e9 * profile.seconds_per_column));
  fmt::print("\nT(B) = alpha + beta B for a vector of B bytes; +-: half of the 95 % confidence interval\n{}\n",
             exchange_table(profile));
  fmt::print("Passes over a large kernel\n{}\n{}", pass_table(profile), effects_of(profile));
  fmt::print("took        {:.1f} s\n", seconds);
  if (!output.empty()) line("written to", output);
}

void run_calibrate_profile(const CalibrateProfileArguments& arguments) {
  if (speaks_for_all() && !arguments.output.empty()) require_writable(arguments.output);
  const Timer timer;
  StepLine line;
  CalibrationPlan plan;
  plan.timeout = 600;
  if (speaks_for_all()) plan.on_step = [&](const std::string& what, double share) { line(what, share); };
  if (arguments.quick) {
    plan.precisions = {Precision::float64};
    plan.sizes = {520, 1040, 2080, 4160};
    plan.targets = {1, 16};
    plan.dimensions = {2};
  }
  Profile profile;
  if (started_by_mpi()) {
    if (arguments.clients > 0 && arguments.clients != ranks_given_by_mpi()) {
      throw InputError("--clients", fmt::format("{} were asked for", arguments.clients),
                       fmt::format("mpirun started {}", ranks_given_by_mpi()));
    }
    MpiSession session(plan.timeout);
    plan.clients = numbers_of_clients(session.size());
    profile = calibrate_as_client(*session.state().communicator, plan);
    if (session.rank() != 0) return;
  } else {
    const auto cores = static_cast<std::size_t>(processors_allowed());
    plan.clients = numbers_of_clients(arguments.clients > 0 ? arguments.clients : std::max<std::size_t>(2, cores));
    profile = calibrate_threads(plan);
  }
  line.clear();
  profile.name = arguments.name;
  profile.description =
      fmt::format("{} on {} cores, transport {}", profile.machine.processor, profile.machine.cores, profile.transport);
  if (!arguments.output.empty()) write_profile(profile, arguments.output);
  print_profile(profile, timer.seconds(), arguments.output);
}

}  // namespace

void add_calibrate_profile_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure passes and exchanges of this machine, for predictions; under mpirun, those of MPI");
  const auto arguments = std::make_shared<CalibrateProfileArguments>();
  command->add_option("--output", arguments->output, "Profile to write")->type_name("FILE")->check(not_empty());
  command->add_option("--name", arguments->name, "Name of the profile")->check(not_empty())->capture_default_str();
  command
      ->add_option("--clients", arguments->clients,
                   "Clients on threads, up to; default as many as cores, and 2 at least; under mpirun its processes")
      ->transform(integer({1, 256}));
  command->add_flag("--quick", arguments->quick, "Only float64: takes some seconds");
  command->callback([arguments] { run_calibrate_profile(*arguments); });
}

}  // namespace fedsinkhorn
