// How old are slices when asynchronous clients use them?
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "report/record_json.hpp"
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::delays {
namespace {

/// Shares are shown for ages from `first` to `last`.
struct AgeRange {
  const char* title;
  const char* key;
  std::uint64_t first;
  std::uint64_t last;
};
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::array kAgeRanges = {AgeRange{"age 0", "share_0", 0, 0},
                                   AgeRange{"age 1", "share_1", 1, 1},
                                   AgeRange{"age 2", "share_2", 2, 2},
                                   AgeRange{"ages 3 to 4", "share_3_to_4", 3, 4},
                                   AgeRange{"ages 5 to 8", "share_5_to_8", 5, 8},
                                   AgeRange{"ages 9 to 16", "share_9_to_16", 9, 16},
                                   AgeRange{"ages 17 and more", "share_17_and_more", 17, kNoLimit}};

// ---------------------------------------------------------------------------------------------------- design

std::vector<Json> cells(const Setting& setting) {
  std::vector<Json> all;
  for (int run = 0; run < setting.by_scale(1, 20, 1000); ++run) {
    for (const std::size_t clients : {2, 4, 8}) {
      all.push_back({{"clients", clients},
                     {"run", run},
                     {"n", setting.by_scale<std::size_t>(64, 1000, 10'000)},
                     {"iterations", setting.by_scale(40, 300, 500)},
                     {"transport", setting.transport}});
    }
  }
  return all;
}

std::vector<PaperFigure> printed(const char* two, const char* four, const char* eight) {
  return {{{{"clients", 2}}, two}, {{{"clients", 4}}, four}, {{{"clients", 8}}, eight}};
}

std::vector<TableView> tables() {
  const std::vector<Grouping> rows = {{"clients", "clients"}};
  TableView shares{.caption = "Share of the slices by age when first used, mean of the runs", .rows = rows};
  for (const AgeRange& range : kAgeRanges) {
    shares.figures.push_back({.title = range.title, .key = range.key, .statistic = "mean", .format = "percent"});
  }
  return {
      {.caption = "Delays in iterations, u and v together: max and min of all runs; mean and std of each run, averaged "
                  "over the runs; 99 % quantile of each run, median of the runs",
       .rows = rows,
       .figures =
           {{.title = "max",
             .key = "most",
             .statistic = "most",
             .format = "count",
             .paper = printed("2477", "1494", "500")},
            {.title = "min", .key = "least", .statistic = "least", .format = "count", .paper = printed("1", "1", "1")},
            {.title = "mean", .key = "mean", .statistic = "mean", .paper = printed("2.35", "1.18", "1.01")},
            {.title = "std", .key = "deviation", .statistic = "mean", .paper = printed("24.89", "10.53", "0.72")},
            {.title = "99 % quantile", .key = "quantile"}}},
      shares,
      {.caption = "Slices per run, and time",
       .rows = rows,
       .figures = {
           {.title = "used", .key = "used", .statistic = "mean", .format = "count"},
           {.title = "replaced before they were used", .key = "superseded", .statistic = "mean", .format = "count"},
           {.title = "per iteration, median", .key = "seconds_per_iteration", .format = "seconds"}}}};
}

std::vector<ChartView> charts() {
  ChartView shares{.id = "shares",
                   .title = "Slices by age when first used",
                   .description = "A bar per number of clients, split by age in iterations: mean of the runs.",
                   .kind = "bars",
                   .groups = {{"clients", "{} clients"}},
                   .y_axis = {{"title", "share of the slices"}},
                   .stacked = true};
  for (const AgeRange& range : kAgeRanges) {
    shares.figures.push_back({.title = range.title, .key = range.key, .statistic = "mean", .format = "percent"});
  }
  return {shares,
          {.id = "ages",
           .title = "Distribution of ages in the first run",
           .description = "A line per number of clients: the share of the slices first used at each age.",
           .kind = "curves",
           .groups = {{"clients", "{} clients"}},
           .figures = {{.title = "share", .key = "ages"}},
           .x_axis = {{"title", "age (iterations)"}},
           .y_axis = {{"title", "share of the slices"}, {"log", true}}}};
}

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Asynchronous clients without damping, one thread each, a fixed number of iterations, no tolerance; points in "
      "the unit square, the same problem and start in all runs. The age of a slice is the number of iterations its "
      "user has begun since its owner published it, counted at the first use, over all ordered pairs of clients."};
  design.differences = {
      "Age 0 is a slice published during the iteration that uses it; the paper does not count these, so its least "
      "delay is 1.",
      "Our clients look for messages twice per iteration, wait for answers that are about to arrive, and wait when "
      "nothing new has. The paper's clients do none of this, which allows long tails.",
      "A client does not use slices older than 16 iterations (the default): it waits for a newer one.",
      "With 2 and 4 clients the paper's largest delay exceeds its 500 iterations per run, which it does not explain."};
  design.cells = cells(setting);
  design.tables = tables();
  design.charts = charts();
  return design;
}

// ---------------------------------------------------------------------------------------------------- runs

/// Slices by age, in order.
using Ages = std::map<std::uint64_t, double>;

Ages ages_of(const Json& delays) {
  Ages ages;
  for (const char* slice : {"u", "v"}) {
    for (const auto& [age, uses] : report::member(report::member(delays, slice), "histogram").items()) {
      ages[std::stoull(age)] += uses.get<double>();
    }
  }
  return ages;
}

double total(const Ages& ages) {
  double sum = 0;
  for (const auto& [age, uses] : ages) sum += uses;
  return sum;
}

double moment(const Ages& ages, double centre, int power) {
  double sum = 0;
  for (const auto& [age, uses] : ages) sum += uses * std::pow(static_cast<double>(age) - centre, power);
  return sum / total(ages);
}

/// The least age that `share` of the slices do not exceed.
std::uint64_t quantile(const Ages& ages, double share) {
  double left = share * total(ages);
  for (const auto& [age, uses] : ages) {
    left -= uses;
    if (left <= 0) return age;
  }
  return ages.rbegin()->first;
}

void add_shares(const Ages& ages, Json& measured) {
  const double all = total(ages);
  Json points = Json::array();
  for (const AgeRange& range : kAgeRanges) measured[range.key] = 0.0;
  for (const auto& [age, uses] : ages) {
    points.push_back({age, std::stod(fmt::format("{:.6g}", uses / all))});
    for (const AgeRange& range : kAgeRanges) {
      if (age < range.first || age > range.last) continue;
      measured[range.key] = measured[range.key].get<double>() + uses / all;
    }
  }
  measured["ages"] = points;
}

Json measure(const Json& parameters) {
  Options options = paper_options("async", parameters.at("clients"));
  options.tolerance = 0;
  options.max_iterations = parameters.at("iterations");
  const report::RunRecord run =
      record_of_solve(square_problem(parameters.at("n"), 1), options, parameters.at("transport"));
  const Json& delays = report::member(run.summary, "delays");
  const Ages ages = ages_of(delays);
  if (ages.empty()) throw std::runtime_error("no slice was used");
  const double mean = moment(ages, 0, 1);
  Json measured = {{"most", ages.rbegin()->first},
                   {"least", ages.begin()->first},
                   {"mean", mean},
                   {"deviation", std::sqrt(moment(ages, mean, 2))},
                   {"quantile", quantile(ages, 0.99)},
                   {"used", total(ages)},
                   {"superseded", report::number(report::member(delays, "u"), "superseded") +
                                      report::number(report::member(delays, "v"), "superseded")},
                   {"seconds_per_iteration", measured_number(seconds_per_iteration(run))}};
  add_shares(ages, measured);
  return measured;
}

}  // namespace

Study study() {
  return {"delays",
          "Delays of asynchronous clients",
          "How old are slices when asynchronous clients use them?",
          "section 5.4.4 and appendix, table of delays: n = 10,000, T = 500, 1000 runs",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::delays
