#include "report/risk_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/printable.hpp"
#include "core/risk_words.hpp"
#include "report/risk_panels.hpp"

namespace fedsinkhorn {
namespace risk_drawing {
namespace {

using svg::kMuted;
using svg::Out;

constexpr std::size_t kTitleLetters = 90;

std::string counted(std::size_t count, const char* one, const char* several) {
  return grouped(count) + " " + (count == 1 ? one : several);
}

/// The result in a line.
std::string headline(const RiskPictureData& data) {
  const RiskResult& result = data.result;
  std::string measure = measure_text(data.cvar_level);
  measure.front() = measure.front() == 'e' ? 'E' : measure.front();
  const std::string before = number_text(result.expected_loss);
  if (result.coupling)
    return fmt::format("{} before {}, under the stress {}", measure, before, number_text(result.worst.loss));
  return fmt::format("{} before {}, at worst {} within radius {}", measure, before, number_text(result.worst.loss),
                     number_text(result.worst.radius));
}

std::string figures(const RiskPictureData& data) {
  const RiskResult& result = data.result;
  std::string text = fmt::format("λ {} · transport cost {} · ε {} · {}, {} · {}", number_text(result.worst.lambda),
                                 number_text(result.worst.transport_cost), number_text(data.epsilon),
                                 counted(result.rows, "day", "days"), counted(result.columns, "scenario", "scenarios"),
                                 counted(result.client_count, "client", "clients"));
  if (!result.policy.empty()) text += ", policy " + label_text(result.policy, 13, 150);
  if (result.status != Status::converged) text += " · not converged";
  if (!result.worst.is_binding && !result.coupling) text += " · radius larger than needed";
  return text;
}

std::string description(const RiskPictureData& data) {
  const RiskResult& result = data.result;
  std::string text = headline(data) + ". " + figures(data) + ".";
  if (result.coupling) return text + " " + fixed_loss_sentence(number_text(result.worst.loss), data.cvar_level);
  const std::vector<DayMove> days = most_moved(result.moves, 1);
  if (days.empty()) return text;
  const RiskLabels labels{data.day_labels, data.first_day, data.scenario_labels};
  return text + fmt::format(" The day moved most is {}.", label_text(labels.day(days.front().day), 13, 400));
}

}  // namespace
}  // namespace risk_drawing

std::string risk_picture(const RiskPictureData& data) {
  using namespace risk_drawing;
  const std::string title = shortened(escaped(data.title), kTitleLetters);
  std::string svg;
  const svg::Out out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                 "height=\"{1:.0f}\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
                 "'Helvetica Neue', Arial, sans-serif\" fill=\"{2}\">\n",
                 kWidth, kHeight, svg::kInk);
  fmt::format_to(out, "<title>{}</title>\n<desc>{}</desc>\n", svg::escaped(title), description(data));
  // An opaque background, so that the picture looks the same in a dark viewer.
  fmt::format_to(out, "<rect width=\"{:.0f}\" height=\"{:.0f}\" rx=\"14\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
  const double size = std::min(25.0, (kWidth - 2 * kMargin) / std::max(1.0, width_of(title, 1)));
  write_text(out, kMargin, 50, svg::escaped(title), {.size = size, .weight = "700"});
  write_text(out, kMargin, 76, headline(data), {.size = 15});
  write_text(out, kMargin, 97, figures(data), {.size = 13, .colour = svg::kMuted});
  write_radius_panel(out, data);
  write_histogram_panel(out, data);
  write_days_panel(out, data);
  svg += "</svg>\n";
  return svg;
}

}  // namespace fedsinkhorn
