#include "cli/risk_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/choices.hpp"
#include "cli/number_option.hpp"
#include "cli/solve_inputs.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kCvar = "cvar:";

/// Opens tables and remembers them: views of their numbers stay valid.
class Opener {
 public:
  Opener(RiskInputs& inputs, std::size_t client) : inputs_(inputs), client_(client) {}

  const NumberTable& operator()(const std::string& name) {
    const TableUse use{.no_rows = is_part(name) ? NoRows::allowed : NoRows::refused};
    inputs_.tables.push_back(std::make_unique<NumberTable>(of_client(name, client_), use));
    return *inputs_.tables.back();
  }
  /// A single row or column; shown: its name in error messages.
  std::vector<double> vector(const std::string& name, std::string& shown) {
    const NumberTable& table = (*this)(name);
    shown = table.name();
    return table.vector();
  }

 private:
  RiskInputs& inputs_;
  std::size_t client_;
};

void check_files(const RiskFiles& files, bool costs_are_given) {
  const auto require = [](const std::string& file, const char* flag, const char* what) {
    if (file.empty()) throw InputError(flag, "is missing", fmt::format("give {}", what));
  };
  if (costs_are_given) {
    for (const auto& [file, flag] : {std::pair{files.returns, "--returns"}, {files.scenarios, "--scenarios"}}) {
      if (!file.empty()) throw InputError(flag, "--cost gives the costs themselves", "leave one of them out");
    }
    if (!files.covariance.empty()) throw InputError("--covariance", "is for --cost mahalanobis", "leave it out");
  } else {
    require(files.returns, "--returns", "the returns, one row per day, or --cost FILE");
    require(files.scenarios, "--scenarios", "the scenarios, one row each, or --cost FILE");
  }
  const bool losses_are_given = !level_of_loss(files.loss);
  if (losses_are_given && !is_table_name(files.loss)) {
    throw InputError("--loss", fmt::format("'{}' is no loss", files.loss),
                     "give linear, cvar:LEVEL such as cvar:0.95, or a .csv or .npy file");
  }
  if (losses_are_given && !files.weights.empty()) {
    throw InputError("--weights", "--loss gives the losses themselves", "leave one of them out");
  }
  if (!losses_are_given) {
    if (costs_are_given) throw InputError("--loss", "without returns there are no losses", "give a file of them");
    require(files.weights, "--weights", "the portfolio's weights, or --loss FILE");
    if (!files.return_losses.empty()) throw InputError("--return-losses", "is for --loss FILE", "leave it out");
  }
  if (is_part(files.scenarios) || is_part(files.weights) || (losses_are_given && is_part(files.loss)) ||
      is_part(files.stress_marginal) || is_part(files.covariance)) {
    throw InputError("{client}", "scenarios, weights, losses of scenarios and marginals are shared by all clients",
                     "give one file for all");
  }
}

void take_points(const RiskFiles& files, Opener& open, RiskInputs& inputs) {
  RiskProblem& problem = inputs.problem;
  const NumberTable& returns = open(files.returns);
  const NumberTable& scenarios = open(files.scenarios);
  check_same_assets(scenarios, returns);
  problem.returns = returns.matrix();
  problem.scenarios = scenarios.matrix();
  problem.names.returns = returns.name();
  problem.names.scenarios = scenarios.name();
  inputs.day_labels = returns.labels();
  inputs.scenario_labels = scenarios.labels();
  if (!files.weights.empty()) {
    const NumberTable& weights = open(files.weights);
    check_same_assets(weights, returns);
    inputs.weights = weights.vector();
    problem.names.weights = weights.name();
    problem.weights = inputs.weights;
  }
  if (files.covariance.empty()) return;
  const NumberTable& covariance = open(files.covariance);
  inputs.covariance = covariance.values();
  problem.names.covariance = covariance.name();
  problem.covariance = {inputs.covariance.data(), rows_of(covariance.matrix()), columns_of(covariance.matrix())};
}

/// Rows that one client has of several files must be its own in all of them.
void check_parts(const RiskFiles& files) {
  const std::string& rows = files.returns.empty() ? files.cost : files.returns;
  for (const auto& [file, flag] : {std::pair{files.a, "--a"}, {files.return_losses, "--return-losses"}}) {
    if (file.empty() || is_part(file) == is_part(rows)) continue;
    throw InputError(flag, is_part(rows) ? "is one file for all clients" : "is a file of each client's own",
                     fmt::format("{} {}", files.returns.empty() ? "--cost" : "--returns",
                                 is_part(rows) ? "has {client} in its name: so must this" : "is one for all"));
  }
}

}  // namespace

std::optional<double> level_of_loss(const std::string& loss) {
  if (loss == "linear") return 0.0;
  if (!loss.starts_with(kCvar)) return std::nullopt;
  std::string level = loss.substr(kCvar.size());
  const std::string wrong = normalize_real(level, 1);
  const double value = wrong.empty() ? std::stod(level) : 0;
  if (!(value > 0 && value < 1)) {
    throw InputError("--loss", fmt::format("'{}' has no level", loss), "give one between 0 and 1, such as cvar:0.95");
  }
  return value;
}

bool RiskFiles::in_parts() const { return is_part(returns) || is_part(cost) || is_part(a) || is_part(return_losses); }

std::vector<std::string> RiskFiles::paths(std::size_t client) const {
  std::vector<std::string> result;
  for (const std::string* file : {&returns, &scenarios, &weights, &a, &covariance, &return_losses, &stress_marginal}) {
    if (!file->empty()) result.push_back(of_client(*file, client));
  }
  if (is_table_name(cost)) result.push_back(of_client(cost, client));
  if (is_table_name(loss)) result.push_back(loss);
  return result;
}

std::unique_ptr<RiskInputs> open_risk_inputs(const RiskFiles& files, std::size_t client) {
  const bool costs_are_given = is_table_name(files.cost);
  check_files(files, costs_are_given);
  check_parts(files);
  auto inputs = std::make_unique<RiskInputs>();
  RiskProblem& problem = inputs->problem;
  Opener open(*inputs, client);
  if (costs_are_given) {
    const NumberTable& costs = open(files.cost);
    problem.costs = costs.matrix();
    problem.names.costs = costs.name();
    inputs->day_labels = costs.labels();
  } else {
    problem.cost = choice<RiskCost>("--cost", files.cost);
    take_points(files, open, *inputs);
  }
  problem.is_part = is_part(costs_are_given ? files.cost : files.returns);
  if (const std::optional<double> level = level_of_loss(files.loss)) {
    problem.cvar_level = *level;
  } else {
    inputs->scenario_losses = open.vector(files.loss, problem.names.scenario_losses);
    problem.scenario_losses = inputs->scenario_losses;
  }
  if (!files.return_losses.empty()) {
    inputs->return_losses = open.vector(files.return_losses, problem.names.return_losses);
    problem.return_losses = inputs->return_losses;
  }
  if (!files.a.empty()) {
    inputs->a = open.vector(files.a, problem.names.a);
    problem.a = inputs->a;
  }
  if (!files.stress_marginal.empty()) {
    inputs->stress_marginal = open.vector(files.stress_marginal, problem.names.stress_marginal);
  }
  return inputs;
}

}  // namespace fedsinkhorn
