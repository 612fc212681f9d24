// The days that are moved most.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/risk_words.hpp"
#include "report/risk_panels.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

using svg::kLine;
using svg::kMuted;
using svg::Out;

constexpr double kDaysLeft = 690;
constexpr double kDaysRight = kWidth - kMargin;
constexpr double kDaysTop = 132;
constexpr double kFirstRow = 172;
constexpr double kRowHeight = 46;
constexpr std::size_t kRows = 12;
constexpr double kLongestBar = 170;
constexpr double kDayRoom = 165;
constexpr double kScenarioRoom = 205;

/// The whole transport cost: that of all clients, if known.
double whole_cost(const RiskResult& result) {
  double sum = 0;
  for (const DayMove& move : result.moves) sum += part_of_cost(move);
  return is_drawable(result.worst.transport_cost) ? std::max(sum, result.worst.transport_cost) : sum;
}

std::string destination(const DayMove& move, const RiskResult& result, const RiskLabels& labels) {
  if (stays(move, result)) return fmt::format("mostly stays ({})", percent_text(std::max(move.share, move.stays)));
  return fmt::format("→ {} ({})", label_text(labels.scenario(move.scenario), 13, kScenarioRoom),
                     percent_text(move.share));
}

void write_row(Out out, double y, const DayMove& move, double share, double longest, const RiskPictureData& data) {
  const RiskLabels labels{data.day_labels, data.first_day, data.scenario_labels};
  const double bar = std::max(1.5, kLongestBar * share / longest);
  fmt::format_to(out, "<g class=\"day\">\n");
  write_text(out, kDaysLeft, y + 13, label_text(labels.day(move.day), 13, kDayRoom), {.weight = "600"});
  write_text(out, kDaysRight, y + 13, destination(move, data.result, labels), {.colour = kMuted, .anchor = "end"});
  fmt::format_to(out,
                 "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"12\" rx=\"2\" fill=\"{}\" "
                 "opacity=\"0.75\"/>\n",
                 kDaysLeft, y + 20, bar, kAfter);
  write_text(out, kDaysLeft + bar + 7, y + 30.5, percent_text(share), {.size = 12.5});
  write_text(out, kDaysRight, y + 30.5,
             fmt::format("loss {} → {}", number_text(move.loss_before), number_text(move.loss_after)),
             {.size = 12.5, .colour = kMuted, .anchor = "end"});
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>\n</g>\n", kDaysLeft, y + 39, kDaysRight,
                 kLine);
}

}  // namespace

void write_days_panel(Out out, const RiskPictureData& data) {
  const RiskResult& result = data.result;
  const std::vector<DayMove> days = most_moved(result.moves, kRows);
  fmt::format_to(out, "<g class=\"days\">\n");
  std::string caption = "part of the transport cost; the likeliest scenario and its share";
  if (days.empty()) caption = "no day is moved";
  if (result.moves.empty()) caption = "days stay with their clients: they are not known here";
  write_heading(out, kDaysLeft, kDaysTop, "Days moved most", caption);
  const double whole = whole_cost(result);
  const double longest = days.empty() ? 1 : part_of_cost(days.front()) / whole;
  double y = kFirstRow;
  for (const DayMove& move : days) {
    write_row(out, y, move, part_of_cost(move) / whole, longest, data);
    y += kRowHeight;
  }
  fmt::format_to(out, "</g>\n");
}

}  // namespace fedsinkhorn::risk_drawing
