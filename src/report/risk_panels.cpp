#include "report/risk_panels.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "core/printable.hpp"

namespace fedsinkhorn::risk_drawing {
namespace {

using svg::kLine;
using svg::kMuted;
using svg::Out;

constexpr double kTickSize = 12;

void write_line(Out out, double x, double y, std::string_view command, double to, const char* colour) {
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}{}{:.1f}\" stroke=\"{}\"/>\n", x, y, command, to, colour);
}

}  // namespace

void write_text(Out out, double x, double y, std::string_view text, TextStyle style) {
  fmt::format_to(out,
                 "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\" text-anchor=\"{}\" "
                 "font-weight=\"{}\">{}</text>\n",
                 x, y, style.size, style.colour, style.anchor, style.weight, text);
}

void write_heading(Out out, double x, double y, std::string_view title, std::string_view caption) {
  write_text(out, x, y, title, {.size = 16, .weight = "600"});
  write_text(out, x, y + 19, caption, {.size = 12.5, .colour = kMuted});
}

void write_axes(Out out, const Box& plot, const Axis& x, const Axis& y, std::string_view x_title,
                std::string_view y_title) {
  fmt::format_to(out, "<g class=\"axes\">\n");
  const std::vector<Tick> along = ticks_of(x, 6);
  const std::vector<Tick> up = ticks_of(y, 5);
  for (const bool is_major : {false, true}) {  // so that minor lines are below
    const char* const colour = is_major ? kLine : kMinorLine;
    for (const Tick& tick : along) {
      if (tick.label.empty() != is_major) write_line(out, tick.at, plot.top, "V", plot.bottom, colour);
    }
    for (const Tick& tick : up) {
      if (tick.label.empty() != is_major) write_line(out, plot.left, tick.at, "H", plot.right, colour);
    }
  }
  for (const Tick& tick : along) {
    if (tick.label.empty()) continue;
    write_text(out, tick.at, plot.bottom + 18, tick.label, {.size = kTickSize, .colour = kMuted, .anchor = "middle"});
  }
  for (const Tick& tick : up) {
    if (tick.label.empty()) continue;
    write_text(out, plot.left - 8, tick.at + 4, tick.label, {.size = kTickSize, .colour = kMuted, .anchor = "end"});
  }
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", plot.left, plot.top,
                 plot.bottom, plot.right, kMuted);
  write_text(out, (plot.left + plot.right) / 2, plot.bottom + 40, std::string(x_title) + x.unit(),
             {.anchor = "middle"});
  fmt::format_to(out,
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
                 "font-size=\"13\">{}{}</text>\n</g>\n",
                 kMargin + 8, (plot.top + plot.bottom) / 2, y_title, y.unit());
}

std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > most) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

double width_of(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // within a character of several bytes
    const bool is_wide = byte >= 0x80U || std::string_view("WMmw@%").find(c) != std::string_view::npos;
    width += is_wide ? 1.15 : c >= 'A' && c <= 'Z' ? 0.8 : 0.68;
  }
  return width * size;
}

std::string label_text(std::string_view text, double size, double room) {
  std::size_t most = 200;
  std::string label = shortened(escaped(text), most);
  while (most > 3 && width_of(label, size) > room) label = shortened(label, --most);
  return svg::escaped(label);
}

std::string measure_text(double cvar_level) {
  return cvar_level > 0 ? fmt::format("CVaR {:g} % of the loss", 100 * cvar_level) : "expected loss";
}

}  // namespace fedsinkhorn::risk_drawing
