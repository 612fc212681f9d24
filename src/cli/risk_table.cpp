#include "cli/risk_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/printable.hpp"
#include "io/sums_report.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kTop = 5;       ///< scenarios and days shown
constexpr std::size_t kLetters = 28;  ///< of a label

std::string risk_line(std::string_view name, const std::string& value) {
  return fmt::format("  {:<14} {}\n", name, printable_line(value));
}

/// Characters of the longest.
std::size_t longest(std::span<const std::string> labels) {
  std::size_t most = 0;
  for (const std::string& label : labels) {
    const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(label, is_first)));
  }
  return most;
}

/// A line of columns, which keep their blanks. Labels in it have been through shown().
std::string row_line(std::string_view name, const std::string& row) { return fmt::format("  {:<14} {}\n", name, row); }

std::string shown(const std::string& label) { return shortened(escaped(label), kLetters); }

std::string number(double value) { return std::isnan(value) ? "not known" : fmt::format("{:.8g}", value); }

/// In a column.
std::string cell(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

std::string percent(double share) { return std::isfinite(share) ? fmt::format("{:.3g} %", 100 * share) : "-"; }

/// What was done: passes, or solves of a coupling.
std::string passes(const RiskResult& result) {
  const bool is_one = result.passes == 1;
  if (result.coupling) return fmt::format("{} solve{}", result.passes, is_one ? "" : "s");
  return fmt::format("{} pass{}", result.passes, is_one ? "" : "es");
}

std::string risk_outcome(const RiskResult& result) {
  switch (result.status) {
    case Status::converged: return fmt::format("converged in {}", passes(result));
    case Status::iteration_limit: return fmt::format("not converged: iteration limit, {}", passes(result));
    case Status::diverged: return fmt::format("diverged after {}", passes(result));
    case Status::client_lost: return fmt::format("a client was lost after {}", passes(result));
    case Status::budget_spent: return fmt::format("budget spent after {}", passes(result));
    case Status::sums_limit: return fmt::format("limit of sums reached after {}", passes(result));
    case Status::interrupted: break;
  }
  return fmt::format("interrupted after {}", passes(result));
}

std::string problem_line(const RiskResult& result, const RiskSummaryData& data) {
  std::string text = fmt::format("{} days x {} scenarios", result.rows, result.columns);
  if (result.dimension > 0) text += fmt::format(", dimension {}", result.dimension);
  if (!data.cost.empty()) text += fmt::format(", cost {}", data.cost);
  if (!data.loss.empty()) text += fmt::format(", loss {}", data.loss);
  return text + fmt::format(", epsilon {:g}", data.epsilon);
}

/// Before, after and their difference.
std::string loss_lines(const RiskResult& result, const RiskSummaryData& data) {
  const bool is_tail = data.cvar_level > 0;
  const std::string measure = is_tail ? fmt::format("CVaR {:g} % of the loss", 100 * data.cvar_level) : "expected loss";
  const double loss = result.worst.loss;
  std::string text;
  text += risk_line("before", fmt::format("{}  ({}, observed days)", number(result.expected_loss), measure));
  text += risk_line(result.coupling ? "under stress" : "worst case", fmt::format("{}  ({})", number(loss), measure));
  if (const double difference = loss - result.expected_loss; std::isfinite(difference)) {
    const double part = difference / std::abs(result.expected_loss);
    const bool is_telling = std::abs(part) < 10;  // a loss near 0 before says little about percentages
    text += risk_line("difference",
                      fmt::format("{:+.8g}{}", difference, is_telling ? fmt::format("  ({:+.3g} %)", 100 * part) : ""));
  }
  if (is_tail) {
    text += risk_line("value at risk", fmt::format("{} before, {} after", number(result.value_at_risk),
                                                   number(result.worst.value_at_risk)));
  }
  return text;
}

std::string radius_lines(const RiskResult& result) {
  const WorstCase& worst = result.worst;
  std::string text;
  if (result.coupling) {
    text += risk_line("lambda", number(worst.lambda));
    text += risk_line("transport cost", number(worst.transport_cost));
    return text;
  }
  text += risk_line("radius", fmt::format("{}  (least {}, largest that matters {})", number(worst.radius),
                                          number(result.least_radius), number(result.largest_radius)));
  text += risk_line("transport cost", number(worst.transport_cost));
  const double raise = worst.lambda * worst.radius / 100;
  text += risk_line("lambda", worst.lambda == 0 || !std::isfinite(raise)
                                  ? number(worst.lambda)
                                  : fmt::format("{}  (a radius larger by 1 % raises the worst case by {:.3g})",
                                                number(worst.lambda), raise));
  // A plan that costs more than the radius is no lower bound.
  text += risk_line("bounds", worst.status == Status::converged
                                  ? fmt::format("without entropy, the worst case is in [{}, {}]", number(worst.loss),
                                                number(worst.dual))
                                  : fmt::format("without entropy, the worst case is at most {}", number(worst.dual)));
  if (result.stays > 0) text += risk_line("stays", fmt::format("{} of the mass is not moved", percent(result.stays)));
  return text;
}

std::string scenario_lines(const RiskResult& result, const RiskLabels& labels) {
  const std::size_t all = std::min(result.scenario_weights.size(), result.scenario_losses.size());
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(kTop, all);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), [&](auto one, auto other) {
    const double weight = result.scenario_weights[one];
    const double other_weight = result.scenario_weights[other];
    return weight == other_weight ? one < other : weight > other_weight;
  });
  std::vector<std::string> names;
  names.reserve(count);
  for (std::size_t k = 0; k < count; ++k) names.push_back(shown(labels.scenario(order[k])));
  std::string text;
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t j = order[k];
    text += row_line(k == 0 ? "scenarios" : "",
                     fmt::format("{:<{}}  weight {:>8}, loss {}", names[k], longest(names),
                                 percent(result.scenario_weights[j]), cell(result.scenario_losses[j])));
  }
  return text;
}

std::string day_lines(const RiskResult& result, const RiskLabels& labels) {
  if (result.coupling) return "";
  if (result.moves.empty()) return risk_line("days moved", "days stay with their clients: they are not known here");
  const std::vector<DayMove> days = most_moved(result.moves, kTop);
  if (days.empty()) return risk_line("days moved", "none");
  std::vector<std::string> names;
  names.reserve(days.size());
  for (const DayMove& move : days) names.push_back(shown(labels.day(move.day)));
  std::string text;
  for (std::size_t k = 0; k < days.size(); ++k) {
    const DayMove& move = days[k];
    const std::string where =
        stays(move, result) ? fmt::format("mostly stays ({})", percent(move.stays))
                            : fmt::format("to {} ({})", shown(labels.scenario(move.scenario)), percent(move.share));
    text += row_line(k == 0 ? "days moved" : "",
                     fmt::format("{:<{}}  loss {} -> {}, cost {}, {}", names[k], longest(names), cell(move.loss_before),
                                 cell(move.loss_after), cell(move.cost), where));
  }
  if (result.moves.size() < result.rows && result.policy == "sums" && result.client_count > 1 &&
      result.clients.size() < result.client_count) {
    text += row_line("", "days of other clients stay with them");
  }
  return text;
}

std::string sweep_lines(const RiskResult& result) {
  if (result.sweep.empty()) return "";
  std::string text = row_line("radii", fmt::format("{:>12} {:>12} {:>12} {:>12}  {}", "radius", "worst case", "lambda",
                                                   "upper bound", "status"));
  for (const WorstCase& one : result.sweep) {
    text += row_line(
        "", fmt::format("{:>12} {:>12} {:>12} {:>12}  {}{}", cell(one.radius), cell(one.loss), cell(one.lambda),
                        cell(one.dual), name_of(one.status), one.is_binding ? "" : ", not binding"));
  }
  return text;
}

std::string risk_clients_line(const RiskResult& result) {
  std::uint64_t most = 0;
  for (const ClientReport& client : result.clients) most = std::max(most, client.sent.total());
  return fmt::format("{}, policy {}; each sent up to {}, {}", result.client_count, result.policy, human_bytes(most),
                     result.policy == "sums" ? "data only as masked sums" : "in the clear");
}

/// One line each.
std::string warning_lines(const RiskResult& result) {
  const WorstCase& worst = result.worst;
  std::string text;
  const auto warn = [&](const std::string& warning) { text += risk_line("warning", warning); };
  if (worst.status != Status::converged) {
    warn(fmt::format(
        "not converged: {}; {}",
        result.coupling ? "the coupling is approximate" : "the worst case is approximate, though the upper bound holds",
        worst.status == Status::sums_limit ? "allow more sums (--most-sums)" : "try more iterations"));
  }
  if (worst.status == Status::converged && result.status != Status::converged) {
    warn("some radii of the sweep were not solved, or not to the tolerance");
  }
  if (const SumsSeen seen{result.sums, result.client_count}; are_rows_determined(seen)) {
    warn(kRowsAreDetermined);
  }
  if (result.coupling) return text;
  if (!worst.is_binding) {
    const std::string from = std::isnan(result.largest_radius)
                                 ? ""
                                 : fmt::format("; any radius above {} gives the same", number(result.largest_radius));
    warn("the radius is larger than the worst case needs" + from);
  }
  constexpr double kClose = 1.1;
  if (result.least_radius > 0 && worst.radius < kClose * result.least_radius) {
    warn(fmt::format("the radius is close to the least possible, {}: most of it is needed to reach any scenario",
                     number(result.least_radius)));
  }
  return text;
}

}  // namespace

std::string risk_table(const RiskResult& result, const RiskSummaryData& data, const std::string& output) {
  std::string text;
  if (result.coupling) text += fixed_loss_sentence(number(result.worst.loss), data.cvar_level) + "\n";
  text += risk_outcome(result) + "\n";
  text += risk_line("problem", problem_line(result, data));
  text += loss_lines(result, data);
  text += radius_lines(result);
  text += scenario_lines(result, data.labels);
  text += day_lines(result, data.labels);
  text += sweep_lines(result);
  if (result.client_count > 1) text += risk_line("clients", risk_clients_line(result));
  if (result.sums.seen > 0) {
    text += risk_line("sums", sums_sentence({result.sums, result.client_count}));
  }
  text += risk_line("time", fmt::format("{:.3g} s, {} over all pairs", result.seconds, passes(result)));
  text += risk_line("ran on", fmt::format("{} thread{}{}, {}", result.threads, result.threads == 1 ? "" : "s",
                                          result.client_count > 1 ? " per client" : "", result.simd));
  text += warning_lines(result);
  if (!output.empty()) text += risk_line("written to", output);
  return text;
}

void print_risk(std::FILE* file, const RiskResult& result, const RiskSummaryData& data, const std::string& output) {
  fmt::print(file, "{}", risk_table(result, data, output));
}

}  // namespace fedsinkhorn
