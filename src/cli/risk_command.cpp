// fedsinkhorn risk: the worst loss of a portfolio over all distributions near the observed one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/flag_names.hpp"
#include "cli/key_options.hpp"
#include "cli/number_option.hpp"
#include "cli/option_words.hpp"
#include "cli/risk_arguments.hpp"
#include "cli/risk_run.hpp"
#include "cli/table_options.hpp"
#include "cli/word_option.hpp"
#include "fedsinkhorn/error.hpp"
#include "options/option_table.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kAuto = "auto";

/// Options of a solve that a search without a coupling uses, too.
constexpr std::array<std::string_view, 11> kUsedAlways = {"tolerance", "max_iterations", "threads", "simd",
                                                          "clients",   "transport",      "policy",  "server",
                                                          "most_sums", "share_matrices", "timeout"};

void add_files(CLI::App& command, RiskFiles& files) {
  const auto add = [&](const char* flag, std::string& name, const char* help) {
    return command.add_option(flag, name, help)->type_name("FILE")->check(not_empty())->group("Problem");
  };
  add("--returns", files.returns, "Observed returns, .csv or .npy of n x d: a row per day, a column per asset");
  add("--scenarios", files.scenarios, "Scenarios, .csv or .npy of m x d");
  add("--weights", files.weights, "The portfolio: d weights w");
  add("--a", files.a, "Masses of the days, n numbers; default uniform");
  add("--cost", files.cost, "Cost of moving a day to a scenario, or a file of n x m costs")
      ->type_name(choices<RiskCost>() + "|FILE")
      ->capture_default_str();
  add("--covariance", files.covariance, "Of the cost mahalanobis, d x d; default that of the returns");
  add("--loss", files.loss,
      "linear: the expected loss w.x; cvar:0.95: the mean of the worst 5 % of losses; or a file of m losses")
      ->type_name("linear|cvar:LEVEL|FILE")
      ->capture_default_str();
  add("--return-losses", files.return_losses, "With --loss FILE: the losses of the n days; default not known");
  add("--stress-marginal", files.stress_marginal,
      "The paper's variant: the distribution over the scenarios, m numbers, is given, and with it the expected loss");
}

void add_settings(CLI::App& command, RiskArguments& arguments) {
  command.add_flag("--gains", arguments.gains, "w.x is a gain: the loss is -w.x")->group("Problem");
  command.add_flag("--stay", arguments.stay, "Days may also stay where they are, at no cost")->group("Problem");
  command.add_option("--radius", arguments.radius, "Largest mean cost of moving the days, in units of the cost")
      ->transform(real())
      ->group("Problem");
  command
      .add_option("--radius-sweep", arguments.sweep,
                  "Also solve for other radii: R,R,..., FROM:TO:COUNT, or auto: 20 from a tenth to ten times --radius")
      ->type_name("RADII")
      ->expected(0, 1)
      ->default_str(std::string(kAuto))
      ->group("Problem");
  command.add_option("--epsilon", arguments.solve.files.epsilon, "Entropic regularisation, in units of the loss")
      ->transform(real())
      ->required()
      ->group("Problem");
  command
      .add_option("--lambda", arguments.lambda, "With --stress-marginal: the multiplier, instead of a search for it")
      ->transform(real())
      ->group("Problem");
}

void note_coupling_flags(CLI::App& command, RiskArguments& arguments) {
  for (const OptionEntry& option : option_table()) {
    CLI::Option* flag = command.get_option_no_throw(option.main_flag());
    if (flag == nullptr || std::ranges::find(kUsedAlways, option.field) != kUsedAlways.end()) continue;
    if (flag->count() > 0 && option.field != "epsilon") arguments.coupling_flags.push_back(option.main_flag());
  }
  arguments.tolerance_given = command.get_option("--tolerance")->count() > 0;
}

double radius_in(std::string word) {
  const std::string wrong = normalize_real(word);
  if (!wrong.empty()) throw InputError("--radius-sweep", "'" + word + "' is no radius", "give 0 or more");
  return std::stod(word);
}

std::vector<std::string> split(const std::string& word, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(word);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

std::vector<double> spaced(double from, double to, std::size_t count) {
  std::vector<double> radii;
  for (std::size_t k = 0; k < count; ++k) {
    const double t = count == 1 ? 0 : static_cast<double>(k) / static_cast<double>(count - 1);
    radii.push_back(k + 1 == count && count > 1 ? to : from * std::pow(to / from, t));
  }
  return radii;
}

}  // namespace

std::vector<double> radii_of(const std::string& word, double radius) {
  constexpr std::size_t most = 1000;
  if (word == kAuto || word.empty()) {
    if (!(radius > 0)) throw InputError("--radius-sweep", "there is no radius around 0", "give FROM:TO:COUNT");
    return spaced(radius / 10, radius * 10, 20);
  }
  const std::vector<std::string> range = split(word, ':');
  if (range.size() == 1) {
    std::vector<double> radii;
    for (const std::string& part : split(word, ',')) radii.push_back(radius_in(part));
    if (radii.size() > most) throw InputError("--radius-sweep", "too many radii", fmt::format("give {} at most", most));
    return radii;
  }
  std::string count = range.size() == 3 ? range[2] : "";
  if (!normalize_integer(count, {1, most}).empty()) {
    throw InputError("--radius-sweep", "'" + word + "' is no range",
                     fmt::format("give FROM:TO:COUNT with a count from 1 to {}", most));
  }
  const double from = radius_in(range[0]);
  const double to = radius_in(range[1]);
  if (!(from > 0 && to > 0)) {
    throw InputError("--radius-sweep", "'" + word + "' has an end at 0, and radii are evenly spaced in logs",
                     "give ends above 0, or a list");
  }
  return spaced(from, to, std::stoul(count));
}

void add_risk_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<RiskArguments>();
  CLI::App* command =
      app.add_subcommand("risk", "Find the worst loss of a portfolio over all distributions near the observed one");
  command->footer(
      "A file name with {client} in it is a file of each client's own, the clients being 0, 1, 2, ...\n"
      "Without --stress-marginal, of the groups Stopping, How and Clients only --tolerance, --max-iterations, "
      "--threads,\n"
      "--simd, --clients, --transport, --policy (open or sums), --server, --most-sums, --share-matrices and --timeout\n"
      "are used; --tolerance is then relative to the radius, and 1e-12 by default.\n" +
      exit_status_text());
  command->formatter(std::make_shared<HelpFormatter>());
  add_files(*command, arguments->files);
  add_settings(*command, *arguments);
  for (const char* group : {"Stopping", "How", "Clients", "Topology async"}) {
    add_table_options(*command, group, arguments->solve);
  }
  add_key_options(*command, arguments->solve);
  command
      ->add_option("--output", arguments->solve.output.folder,
                   "Folder for summary.json, worst-case.npy, .csv and .svg, worst-case-days.csv and "
                   "worst-case-radius.csv; {client} in it: one for each client")
      ->type_name("DIR")
      ->check(not_empty())
      ->group("Output");
  command->add_flag("--quiet", arguments->solve.quiet, "No progress, no table; a search that fails says so")
      ->group("Output");
  command->callback([arguments, command, &status] {
    if (command->get_option("--radius-sweep")->count() > 0 && arguments->sweep.empty()) {
      arguments->sweep.emplace_back(kAuto);
    }
    note_coupling_flags(*command, *arguments);
    try {
      status = run_risk(*arguments);
    } catch (const InputError& error) {
      throw InputError(with_flags(error.marked()));
    }
  });
}

}  // namespace fedsinkhorn
