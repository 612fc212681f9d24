// Error against epsilon_DP as a picture of two plots: the paper's sweep, and both mechanisms on one problem.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>

#include "privacy.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn::experiments {
namespace {

using svg::kInk;
using svg::kLine;
using svg::kMuted;
using svg::Out;

// Everything is laid out on a fixed canvas; the viewer scales it.
constexpr double kWidth = 1280;
constexpr double kHeight = 640;
constexpr double kMargin = 48;
constexpr double kPlotTop = 206;
constexpr double kPlotBottom = 548;

struct Point {
  double x = 0;
  double y = 0;
};

struct Series {
  std::string label;
  std::string colour;
  std::string dashes;  ///< as SVG writes them; empty: a full line
  std::vector<Point> points;
};

/// A log-log plot.
struct Plot {
  double left = 0;
  double right = 0;
  std::string title;
  std::string subtitle;
  std::string x_title;
  std::string y_title;
  double legend_step = 0;  ///< between entries of the legend
  std::vector<Series> series;
};

/// Logarithms to base 10, from one end to the other.
struct Axis {
  double low = 0;
  double high = 1;
  double from = 0;  ///< on the canvas, of the low end
  double to = 0;

  [[nodiscard]] double at(double value) const { return from + (to - from) * (std::log10(value) - low) / (high - low); }
  /// Powers of ten to label, at most eight.
  [[nodiscard]] std::vector<int> labels() const {
    const int step = static_cast<int>(std::ceil((high - low) / 8));
    std::vector<int> exponents;
    for (int exponent = static_cast<int>(std::ceil(low)); exponent <= high; ++exponent) {
      if (exponent % step == 0) exponents.push_back(exponent);
    }
    return exponents;
  }
};

bool is_drawable(const Point& point) {
  return point.x > 0 && point.y > 0 && std::isfinite(point.x) && std::isfinite(point.y);
}

/// An axis over all points.
Axis axis_of(const Plot& plot, double Point::*coordinate, double from, double to) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Series& series : plot.series) {
    for (const Point& point : series.points) {
      if (!is_drawable(point)) continue;
      low = std::min(low, std::log10(point.*coordinate));
      high = std::max(high, std::log10(point.*coordinate));
    }
  }
  if (!(low <= high)) return {0, 1, from, to};
  constexpr double kRoom = 0.04;  // no point on the frame
  const double room = std::max(kRoom * (high - low), kRoom);
  return {low - room, high + room, from, to};
}

/// Short where a power would be longer.
std::string tick(int exponent) {
  if (exponent == 0) return "1";
  if (exponent == 1) return "10";
  return exponent == -1 ? "0.1" : svg::power_of_ten(exponent);
}

void write_axes(Out out, const Plot& plot, const Axis& x, const Axis& y) {
  for (const int exponent : y.labels()) {
    const double place = y.at(std::pow(10.0, exponent));
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"{}\"/>", plot.left, place, plot.right, kLine);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" font-size=\"14\" fill=\"{}\">{}</text>\n",
                   plot.left - 9, place + 5, kMuted, tick(exponent));
  }
  for (const int exponent : x.labels()) {
    const double place = x.at(std::pow(10.0, exponent));
    fmt::format_to(out, "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"{3}\"/>", place, kPlotTop, kPlotBottom, kLine);
    fmt::format_to(out,
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"14\" fill=\"{}\">{}</text>\n",
                   place, kPlotBottom + 22, kMuted, tick(exponent));
  }
  fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"{}\"/>\n", plot.left, kPlotTop,
                 kPlotBottom, plot.right, kMuted);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"15\">{}</text>\n",
                 (plot.left + plot.right) / 2, kPlotBottom + 52, plot.x_title);
  fmt::format_to(out,
                 "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\" "
                 "font-size=\"15\">{}</text>\n",
                 plot.left - 56, (kPlotTop + kPlotBottom) / 2, plot.y_title);
}

void write_series(Out out, const Series& series, const Axis& x, const Axis& y) {
  fmt::format_to(out,
                 "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\" stroke-linejoin=\"round\"{} points=\"",
                 series.colour, series.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", series.dashes));
  for (const Point& point : series.points) {
    if (is_drawable(point)) fmt::format_to(out, "{:.1f},{:.1f} ", x.at(point.x), y.at(point.y));
  }
  fmt::format_to(out, "\"/>\n");
  for (const Point& point : series.points) {
    if (!is_drawable(point)) continue;
    fmt::format_to(out,
                   "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"1\"/>\n",
                   x.at(point.x), y.at(point.y), series.colour);
  }
}

void write_legend(Out out, const Plot& plot) {
  double left = plot.left;
  for (const Series& series : plot.series) {
    fmt::format_to(out, "<path d=\"M{:.1f} {:.1f}h22\" stroke=\"{}\" stroke-width=\"2.5\"{}/>", left, kPlotTop - 25,
                   series.colour, series.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", series.dashes));
    fmt::format_to(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>", left + 11, kPlotTop - 25,
                   series.colour);
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"14\">{}</text>\n", left + 28, kPlotTop - 20,
                   series.label);
    left += plot.legend_step;
  }
}

void write_plot(Out out, const Plot& plot) {
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"118\" font-size=\"17\" font-weight=\"600\">{}</text>\n", plot.left,
                 plot.title);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"142\" font-size=\"14\" fill=\"{}\">{}</text>\n", plot.left, kMuted,
                 plot.subtitle);
  const Axis x = axis_of(plot, &Point::x, plot.left, plot.right);
  const Axis y = axis_of(plot, &Point::y, kPlotBottom, kPlotTop);
  write_axes(out, plot, x, y);
  for (const Series& series : plot.series) write_series(out, series, x, y);
  write_legend(out, plot);
}

/// Two clients, all-to-all: a line for every S.
Plot plot_of_sweep(const std::vector<SweepCell>& cells) {
  constexpr std::array kColours = {"#c2410c", "#d99a1b", "#4d9f4b", "#1b8a9e", "#3b5bdb", "#6b21a8"};
  // Below it, epsilon_DP is beyond all meaning, and the error hardly changes.
  constexpr double kLeastSigma = 1e-3;
  Plot plot{.left = kMargin + 70,
            .right = 640,
            .title = "The paper’s sweep: mechanism scalings",
            .subtitle = "1,000 iterations, two clients, noise σ from 1 (left) to 0.001 (right)",
            .x_title =
                "ε<tspan font-size=\"12\" dy=\"3\">DP</tspan><tspan dx=\"5\" dy=\"-3\">at δ = 10⁻⁵, by the paper’s "
                "rule</tspan>",
            .y_title = "L2 error of the rows (share of mass)",
            .legend_step = 88,
            .series = {}};
  for (const SweepCell& cell : cells) {
    if (cell.at.topology != "all-to-all" || cell.at.clients != 2 || cell.at.clip == 0 || cell.at.sigma < kLeastSigma) {
      continue;
    }
    const std::string label = fmt::format("S = {}", cell.at.clip);
    if (plot.series.empty() || plot.series.back().label != label) {
      plot.series.push_back({label, kColours[plot.series.size() % kColours.size()], "", {}});
    }
    plot.series.back().points.push_back({cell.of_one_row.paper, cell.floor()});
  }
  return plot;
}

Plot plot_of_comparison(const std::vector<ComparedRun>& runs) {
  Series marginal{"marginal", "#4f46e5", "", {}};
  Series one_row{"scalings, k = 1", "#d97706", "", {}};
  Series all_rows{"scalings, k = all", "#b91c1c", "7 5", {}};
  for (const double epsilon : compared_budgets()) {
    const auto add = [&](Series& series, const Setting& setting) {
      series.points.push_back({epsilon, column_errors(runs, setting).middle});
    };
    add(marginal, {"marginal", "", kComparedClients, 0, epsilon, 0});
    add(one_row, best_scalings(runs, "paper", epsilon));
    add(all_rows, best_scalings(runs, "all", epsilon));
  }
  return {.left = 756,
          .right = kWidth - kMargin,
          .title = "Both mechanisms, same problem, same budget",
          .subtitle = "20,000 records, 50 bins, five clients; k: rows that one record moves",
          .x_title = "ε<tspan font-size=\"12\" dy=\"3\">DP</tspan><tspan dx=\"5\" dy=\"-3\">at δ = 10⁻⁶, exact</tspan>",
          .y_title = "L1 error of the columns (share of mass)",
          .legend_step = 160,
          .series = {marginal, one_row, all_rows}};
}

}  // namespace

std::string privacy_picture(const std::vector<SweepCell>& cells, const std::vector<ComparedRun>& runs) {
  std::string svg;
  const Out out = std::back_inserter(svg);
  fmt::format_to(out,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
                 "height=\"{1:.0f}\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, "
                 "'Helvetica Neue', Arial, sans-serif\" fill=\"{2}\">\n",
                 kWidth, kHeight, kInk);
  fmt::format_to(out, "<title>Error against epsilon of differential privacy, for two mechanisms</title>\n");
  // An opaque background, so that the picture looks the same in a dark viewer.
  fmt::format_to(out, "<rect width=\"{:.0f}\" height=\"{:.0f}\" rx=\"14\" fill=\"#ffffff\"/>\n", kWidth, kHeight);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"54\" font-size=\"25\" font-weight=\"700\">What privacy costs</text>\n",
                 kMargin);
  fmt::format_to(out,
                 "<text x=\"{:.1f}\" y=\"80\" font-size=\"15\" fill=\"{}\">Error against privacy loss ε; both axes "
                 "logarithmic. Further left is more private, further down is more accurate. Medians over "
                 "seeds.</text>\n",
                 kMargin, kMuted);
  write_plot(out, plot_of_sweep(cells));
  write_plot(out, plot_of_comparison(runs));
  svg += "</svg>\n";
  return svg;
}

}  // namespace fedsinkhorn::experiments
