#include "cli/risk_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.hpp"
#include "cli/risk_delivery.hpp"
#include "cli/risk_table.hpp"
#include "cli/run_with_clients.hpp"
#include "cli/stop_on_signal.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/progress.hpp"
#include "io/sums_report.hpp"

namespace fedsinkhorn {
namespace {

/// A pass costs little and a digit of lambda less, so the default is tighter than that of a solve.
constexpr double kTolerance = 1e-12;

std::vector<std::unique_ptr<RiskInputs>> open_all_risk_inputs(const RiskArguments& arguments, const Clients& clients) {
  std::vector<std::unique_ptr<RiskInputs>> inputs;
  const std::size_t sets = arguments.files.in_parts() ? clients.count : 1;
  for (std::size_t k = 0; k < sets; ++k) {
    inputs.push_back(open_risk_inputs(arguments.files, clients.first + k));
    RiskProblem& problem = inputs.back()->problem;
    problem.radius = arguments.radius.value_or(0);
    problem.epsilon = arguments.solve.files.epsilon;
    problem.are_gains = arguments.gains;
    problem.may_stay = arguments.stay;
  }
  return inputs;
}

void check_arguments(const RiskArguments& arguments) {
  if (arguments.solve.options.policy == "private") {
    throw InputError("--policy", "private is not for risk: its sums have no noise", "use open or sums");
  }
  const bool is_stressed = !arguments.files.stress_marginal.empty();
  if (!arguments.radius && !arguments.lambda) {
    throw InputError("--radius", "is missing", is_stressed ? "give it, or --lambda" : "give it");
  }
  if (arguments.lambda && !is_stressed) throw InputError("--lambda", "is for --stress-marginal", "give only --radius");
  if (arguments.lambda && arguments.radius) {
    throw InputError("--lambda", "the radius decides the multiplier", "give --lambda or --radius");
  }
  if (!is_stressed && !arguments.coupling_flags.empty()) {
    throw InputError(arguments.coupling_flags.front(), "is for --stress-marginal", "leave it out");
  }
  if (is_stressed && !arguments.sweep.empty()) {
    throw InputError("--radius-sweep", "with --stress-marginal the expected loss is the same at every radius",
                     "leave one of them out");
  }
}

RiskOptions options_of(const RiskArguments& arguments) {
  RiskOptions options;
  options.options = take_options(arguments.solve);
  const bool is_stressed = !arguments.files.stress_marginal.empty();
  if (!is_stressed && !arguments.tolerance_given) options.options.tolerance = kTolerance;
  if (!arguments.sweep.empty()) {
    options.radii = radii_of(arguments.sweep.front(), *arguments.radius);
    options.skips_unreachable = arguments.sweep.front() == "auto";
  }
  return options;
}

RiskResult find_risk_with(const std::vector<std::unique_ptr<RiskInputs>>& inputs, const RiskArguments& arguments,
                          const RiskOptions& options, const Clients& clients) {
  const StressMarginal stress{inputs.front()->stress_marginal, arguments.lambda};
  const bool is_stressed = !arguments.files.stress_marginal.empty();
  const RiskProblem& first = inputs.front()->problem;
  if (clients.session) {
    return is_stressed ? stressed_plan(first, stress, options, *clients.session)
                       : worst_case(first, options, *clients.session);
  }
  if (inputs.size() == 1) return is_stressed ? stressed_plan(first, stress, options) : worst_case(first, options);
  std::vector<RiskProblem> problems;
  problems.reserve(inputs.size());
  for (const auto& of_client : inputs) problems.push_back(of_client->problem);
  return is_stressed ? stressed_plan(problems, stress, options) : worst_case(problems, options);
}

std::string risk_progress_text(const RiskProgress& now, std::size_t width) {
  std::string text = fmt::format("pass {}", now.passes);
  if (now.radii > 1) text += fmt::format("  radius {} of {}", std::min(now.radii_done + 1, now.radii), now.radii);
  text += fmt::format("  transport cost {:.6g} for {:.6g}  lambda {:.4g}", now.transport_cost, now.radius, now.lambda);
  return text.substr(0, width);
}

/// Names of the days whose moves the result holds.
std::vector<std::string> labels_of_days(const std::vector<std::unique_ptr<RiskInputs>>& inputs, const Clients& clients,
                                        const RiskResult& result) {
  std::vector<std::string> labels(result.rows);
  const bool is_part = inputs.front()->problem.is_part;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<std::string>& own = inputs[k]->day_labels;
    const auto is_client = [&](const ClientReport& report) { return report.client == clients.first + k; };
    const auto report = std::ranges::find_if(result.clients, is_client);
    const std::size_t first = is_part && report != result.clients.end() ? report->first_row : 0;
    for (std::size_t i = 0; i < own.size() && first + i < labels.size(); ++i) labels[first + i] = own[i];
  }
  if (clients.share_process() || !is_part || result.policy != "open") return labels;
  // Client 0 shows days of all clients: each names those that it shows itself.
  std::string own;
  for (const DayMove& move : most_moved(result.moves, kDaysNamed)) {
    const bool is_one_line = labels[move.day].find('\n') == std::string::npos;
    if (!labels[move.day].empty() && is_one_line) own += fmt::format("{} {}\n", move.day, labels[move.day]);
  }
  for (const std::string& text : clients.collectives().of(Payload::result).allgather_text(own)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::size_t day = labels.size();
      const std::size_t blank = line.find(' ');
      if (blank == std::string::npos || blank > 15 || line.find_first_not_of("0123456789") != blank) continue;
      day = std::stoul(line.substr(0, blank));
      if (day < labels.size()) labels[day] = line.substr(blank + 1);
    }
  }
  return labels;
}

int find_worst_case(RiskArguments arguments, Clients& clients) {
  RiskOptions options;
  std::vector<std::unique_ptr<RiskInputs>> inputs;
  clients.agree_on([&] {
    check_arguments(arguments);
    options = options_of(arguments);
    obey_options(options.options, clients);
    require_others(arguments.files.in_parts(), "{client}", clients);
    inputs = open_all_risk_inputs(arguments, clients);
  });
  RiskDelivery delivery(arguments, clients);
  delivery.prepare();

  RewrittenLine line(stderr);
  const Timer timer;
  if (!arguments.solve.quiet) {
    options.on_pass = [&](const RiskProgress& now) {
      line.update(timer.seconds(), [&](std::size_t width) { return risk_progress_text(now, width); });
    };
  }
  options.options.interrupt = &StopOnSignal::requested();
  const StopOnSignal stop_on_signal;  // also while results are written
  const RiskResult result = find_risk_with(inputs, arguments, options, clients);
  line.clear();
  const std::vector<std::string> day_labels = labels_of_days(inputs, clients, result);
  RiskSummaryData data;
  data.epsilon = arguments.solve.files.epsilon;
  data.cvar_level = inputs.front()->problem.cvar_level;
  data.tolerance = options.options.tolerance;
  data.cost = arguments.files.cost;
  data.loss = arguments.files.loss;
  data.labels = {day_labels, 0, inputs.front()->scenario_labels};
  delivery.write(result, data);
  if (result.this_client == 0) {
    if (!arguments.solve.quiet) print_risk(stdout, result, data, arguments.solve.output.folder);
    if (arguments.solve.quiet && are_rows_determined({result.sums, result.client_count})) {
      fmt::print(stderr, "fedsinkhorn: warning: {}\n", kRowsAreDetermined);
    }
    if (arguments.solve.quiet && result.status != Status::converged) {
      fmt::print(stderr, "fedsinkhorn: {}: the transport cost is {} at radius {}\n", name_of(result.status),
                 result.worst.transport_cost, result.worst.radius);
    }
    std::fflush(nullptr);
  }
  clients.part();  // all results are written: losing a client no longer matters
  return result.this_client == 0 ? exit_status(result.status) : kConverged;
}

}  // namespace

int run_risk(const RiskArguments& arguments) {
  return run_with_clients(arguments.solve, [&](Clients& clients) { return find_worst_case(arguments, clients); });
}

}  // namespace fedsinkhorn
