#include "synthetic/market.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/csv_table.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

using Values = std::vector<double>;

std::string text_of(const std::function<void(const TextSink&)>& write) {
  std::string text;
  write([&](std::string_view line) { text += line; });
  return text;
}

/// All files, one after the other.
std::string files_of(const Market& market) {
  std::string text;
  for (std::size_t k = 0; k < market.spec.desks; ++k) {
    text += text_of([&](const TextSink& sink) { write_returns(market, k, sink); });
  }
  text += text_of([&](const TextSink& sink) { write_scenarios(market, sink); });
  return text + text_of([&](const TextSink& sink) { write_weights(market, sink); });
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The mean of (value - mean)^power.
double moment(std::span<const double> values, int power) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += std::pow(value - centre, power);
  return sum / static_cast<double>(values.size());
}

Values column_of_returns(std::span<const double> matrix, std::size_t width, std::size_t j) {
  Values values;
  for (std::size_t k = j; k < matrix.size(); k += width) values.push_back(matrix[k]);
  return values;
}

Values portfolio_returns(const Market& market, std::span<const double> returns) {
  const std::size_t width = market.spec.assets;
  Values values;
  for (std::size_t t = 0; t < returns.size(); t += width) {
    values.push_back(std::inner_product(market.weights.begin(), market.weights.end(), returns.subspan(t).begin(), 0.0));
  }
  return values;
}

double correlation(const Values& x, const Values& y) {
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += (x[k] - mean_x) * (y[k] - mean_y);
  return sum / static_cast<double>(x.size()) / std::sqrt(moment(x, 2) * moment(y, 2));
}

/// Over all pairs of neighbouring assets.
double mean_correlation(std::span<const double> returns, std::size_t width) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < width; ++i) {
    sum += correlation(column_of_returns(returns, width, i), column_of_returns(returns, width, i + 1));
  }
  return sum / static_cast<double>(width - 1);
}

MarketSpec small(std::uint64_t seed = 0) {
  return {.desks = 3, .days = 200, .assets = 5, .scenarios = 50, .seed = seed};
}

TEST(Market, TheSameSeedGivesTheSameFiles) {
  EXPECT_EQ(files_of(generate(small(7))), files_of(generate(small(7))));
  EXPECT_NE(files_of(generate(small(7))), files_of(generate(small(8))));
}

TEST(Market, GivesTheSameNumbersEverywhere) {
  // Written down once; a machine or a change that gives others breaks every published market.
  const Market market = generate(small());
  EXPECT_EQ(market.desk_begin, (std::vector<std::size_t>{0, 88, 155, 200}));
  EXPECT_NEAR(market.returns.front(), 0.014224341232641196, 1e-15);
  EXPECT_NEAR(market.returns.back(), 0.0035810549271872074, 1e-15);
  EXPECT_NEAR(market.scenarios.front(), 0.0019929678884046871, 1e-15);
  EXPECT_NEAR(market.scenarios.back(), -0.042246882775844159, 1e-15);
  EXPECT_NEAR(market.weights.front(), 0.30991193, 1e-15);
}

TEST(Market, PartsAreDrawnIndependently) {
  MarketSpec spec = small();
  const Market market = generate(spec);
  spec.days = 300;
  const Market longer = generate(spec);
  EXPECT_EQ(longer.scenarios, market.scenarios);
  EXPECT_EQ(longer.weights, market.weights);
}

TEST(Market, FilesAreTablesOfTheRightShape) {
  const Market market = generate(small());
  std::size_t day = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const CsvTable table = parse_csv(text_of([&](const TextSink& sink) { write_returns(market, k, sink); }), "returns");
    EXPECT_EQ(table.columns, market.assets);
    ASSERT_EQ(table.rows, market.desk_begin[k + 1] - market.desk_begin[k]);
    for (std::size_t t = 0; t < table.rows; ++t, ++day) {
      EXPECT_EQ(table.labels[t], market.dates[day]);
      for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(table.values[t * 5 + i], market.returns[day * 5 + i], 1e-8);
    }
  }
  EXPECT_EQ(day, 200U);
  const CsvTable scenarios = parse_csv(text_of([&](const TextSink& sink) { write_scenarios(market, sink); }), "s");
  EXPECT_EQ(scenarios.columns, (std::vector<std::string>{"A01", "A02", "A03", "A04", "A05"}));
  EXPECT_EQ(scenarios.labels, market.scenario_names);
  EXPECT_EQ(scenarios.rows, 50U);
  const CsvTable weights = parse_csv(text_of([&](const TextSink& sink) { write_weights(market, sink); }), "w");
  EXPECT_EQ(weights.columns, market.assets);
  EXPECT_EQ(weights.rows, 1U);
  EXPECT_TRUE(weights.labels.empty());
  EXPECT_EQ(weights.values, market.weights) << "eight decimals are all there are";
}

TEST(Market, DesksShareAllDaysUnevenly) {
  for (const std::size_t desks : {1U, 2U, 5U, 7U}) {
    const Market market = generate(MarketSpec{.desks = desks, .days = 700, .assets = 2, .scenarios = 1, .seed = 3});
    ASSERT_EQ(market.desk_begin.size(), desks + 1);
    EXPECT_EQ(market.desk_begin.front(), 0U);
    EXPECT_EQ(market.desk_begin.back(), 700U);
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < desks; ++k) sizes.push_back(market.desk_begin[k + 1] - market.desk_begin[k]);
    EXPECT_GT(std::ranges::min(sizes), 700 / desks / 4);
    EXPECT_EQ(std::ranges::min(sizes) < std::ranges::max(sizes), desks > 1);
  }
}

TEST(Market, EveryDeskHasADay) {
  for (const std::size_t days : {7U, 8U, 10U}) {
    const Market market = generate(MarketSpec{.desks = 7, .days = days, .assets = 1, .scenarios = 1, .seed = 0});
    for (std::size_t k = 0; k < 7; ++k) EXPECT_LT(market.desk_begin[k], market.desk_begin[k + 1]);
    EXPECT_EQ(market.desk_begin.back(), days);
  }
}

TEST(Market, DatesAreWeekdaysInOrder) {
  using namespace std::chrono;
  const Market market = generate(MarketSpec{});
  ASSERT_EQ(market.dates.size(), 2500U);
  EXPECT_EQ(market.dates[0], "2015-01-02");
  EXPECT_EQ(market.dates[1], "2015-01-05");
  EXPECT_EQ(market.dates[300], "2016-02-26");
  EXPECT_EQ(market.dates[301], "2016-02-29");
  EXPECT_TRUE(std::ranges::is_sorted(market.dates));
  EXPECT_EQ(std::ranges::adjacent_find(market.dates), market.dates.end());
  for (const std::string& date : market.dates) {
    const year_month_day day{year{std::stoi(date)}, month(static_cast<unsigned>(std::stoi(date.substr(5)))),
                             std::chrono::day(static_cast<unsigned>(std::stoi(date.substr(8))))};
    ASSERT_TRUE(day.ok()) << date;
    ASSERT_LE(weekday(sys_days(day)).iso_encoding(), 5U) << date;
  }
}

TEST(Market, ReturnsHaveFatTailsAndMoveTogether) {
  for (const std::uint64_t seed : {0U, 1U, 2U}) {
    const Market market = generate(MarketSpec{.seed = seed});
    const Values portfolio = portfolio_returns(market, market.returns);
    EXPECT_GT(moment(portfolio, 4) / std::pow(moment(portfolio, 2), 2), 4) << seed;
    EXPECT_GT(mean_correlation(market.returns, 20), 0.2) << seed;
    EXPECT_LT(mean_correlation(market.returns, 20), 0.8) << seed;
    const double volatility = std::sqrt(moment(portfolio, 2));
    EXPECT_GT(volatility, 0.005) << seed;
    EXPECT_LT(volatility, 0.03) << seed;
    EXPECT_GT(std::ranges::min(market.returns), -1.0) << seed;
  }
}

TEST(Market, HasACrash) {
  const Market market = generate(MarketSpec{});
  EXPECT_GE(market.crash_end - market.crash_begin, 24U);
  const Values portfolio = portfolio_returns(market, market.returns);
  const std::span<const double> all(portfolio);
  const auto crash = all.subspan(market.crash_begin, market.crash_end - market.crash_begin);
  const auto before = all.first(market.crash_begin);
  EXPECT_GT(std::sqrt(moment(crash, 2) / moment(before, 2)), 1.7);
  EXPECT_LT(mean(crash), -0.002);
  EXPECT_GT(mean(before), -0.001);
}

TEST(Market, ScenariosAreOfThreeKinds) {
  const Market market = generate(MarketSpec{});
  const auto of_kind = [&](std::size_t first, std::size_t count) {
    return std::span<const double>(market.scenarios).subspan(first * 20, count * 20);
  };
  EXPECT_EQ(market.scenario_names[0], "calm-0001");
  EXPECT_EQ(market.scenario_names[2999], "calm-3000");
  EXPECT_EQ(market.scenario_names[3000], "stress-0001");
  EXPECT_EQ(market.scenario_names[4500], "crash-0001");
  EXPECT_EQ(market.scenario_names[4999], "crash-0500");
  EXPECT_GT(mean_correlation(of_kind(3000, 1500), 20), 0.85);
  EXPECT_LT(mean_correlation(of_kind(0, 3000), 20), 0.8);
  EXPECT_GT(moment(of_kind(3000, 1500), 2), 4 * moment(of_kind(0, 3000), 2));
  EXPECT_LT(mean(of_kind(4500, 500)), -0.07);
  for (const std::size_t count : {1U, 9U, 10U, 13U}) {
    EXPECT_EQ(generate(MarketSpec{.days = 10, .scenarios = count}).scenario_names.size(), count);
  }
}

TEST(Market, WeightsAreLongAndShortWithTotalOne) {
  for (const std::size_t assets : {1U, 2U, 4U, 20U, 1000U}) {
    const Market market = generate(MarketSpec{.desks = 1, .days = 1, .assets = assets, .scenarios = 1, .seed = 5});
    EXPECT_NEAR(std::accumulate(market.weights.begin(), market.weights.end(), 0.0), 1, 1e-12);
    EXPECT_EQ(std::ranges::min(market.weights) < 0, assets >= 4);
    EXPECT_GT(market.weights[0], 0);
  }
}

TEST(Market, RefusesWhatCannotBe) {
  const auto line = [](MarketSpec spec) { return test::line_of<InputError>([&] { validate(spec); }); };
  EXPECT_EQ(line({.desks = 0}), "--desks: is 0; at least one desk is needed");
  EXPECT_EQ(line({.desks = 8, .days = 7}), "--desks: 8 desks cannot share 7 days; each needs at least one day");
  EXPECT_EQ(line({.days = 0}), "--days: is not between 1 and 1,000,000; e.g. 2500");
  EXPECT_EQ(line({.days = 1'000'001}), "--days: is not between 1 and 1,000,000; e.g. 2500");
  EXPECT_EQ(line({.assets = 0}), "--assets: is not between 1 and 10,000; e.g. 20");
  EXPECT_EQ(line({.scenarios = 0}), "--scenarios: is not between 1 and 10,000,000; e.g. 5000");
}

}  // namespace
}  // namespace fedsinkhorn
