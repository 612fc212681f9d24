#include "synthetic/market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "core/random.hpp"
#include "synthetic/require.hpp"

namespace fedsinkhorn {
namespace {

/// One stream per thing drawn.
enum MarketStream : std::uint64_t { kLoadings = 100, kRegimes, kDays, kScenarios, kWeights, kDesks };

constexpr std::size_t kSectors = 3;

// Per day, in calm and nervous spells alike; the spells scale all of it.
constexpr double kMarketVolatility = 0.008;
constexpr double kMarketDrift = 0.0003;
constexpr double kCrashDrift = -0.008;
constexpr double kCrashScale = 3;

struct Asset {
  double beta;        // its share in the market's moves
  double sector;      // standard deviation of its sector's part
  double own;         // standard deviation of its own part
  double volatility;  // of all of it
};

std::vector<Asset> draw_assets(const MarketSpec& spec) {
  Random random(spec.seed, kLoadings);
  std::vector<Asset> assets(spec.assets);
  for (Asset& asset : assets) {
    asset.beta = random.uniform(0.6, 1.4);
    asset.sector = random.uniform(0.003, 0.006);
    asset.own = random.uniform(0.005, 0.012);
    const double market = asset.beta * kMarketVolatility;
    asset.volatility = std::sqrt(market * market + asset.sector * asset.sector + asset.own * asset.own);
  }
  return assets;
}

/// The scale of a day: with normal numbers it makes Student t of four degrees of freedom and variance 1. chi^2 comes
/// from squares rather than logarithms, whose last bit varies between C libraries.
double student_scale(Random& random) {
  double chi_squared = 0;
  for (int k = 0; k < 4; ++k) {
    const double z = random.normal();
    chi_squared += z * z;
  }
  return std::sqrt(2 / std::max(chi_squared, 1e-3));
}

/// Nobody loses more than everything.
double bounded(double value) { return std::max(value, -0.95); }

void draw_day(std::span<const Asset> assets, double scale, double drift, Random& random, std::span<double> day) {
  scale *= student_scale(random);
  const double market = drift + scale * kMarketVolatility * random.normal();
  std::array<double, kSectors> sectors{};
  for (double& sector : sectors) sector = scale * random.normal();
  for (std::size_t i = 0; i < day.size(); ++i) {
    const Asset& asset = assets[i];
    day[i] = bounded(asset.beta * market + asset.sector * sectors[i % kSectors] + asset.own * scale * random.normal());
  }
}

/// All assets move together: their correlation is 0.9.
void draw_stressed_day(std::span<const Asset> assets, Random& random, std::span<double> day) {
  constexpr double kCommon = 0.9486832980505138;  // the square root of 0.9
  constexpr double kOwn = 0.31622776601683794;    // of 0.1
  const double scale = random.uniform(2, 4) * student_scale(random);
  const double common = kCommon * random.normal();
  for (std::size_t i = 0; i < day.size(); ++i) {
    day[i] = bounded(assets[i].volatility * scale * (common + kOwn * random.normal()));
  }
}

/// The market falls by 5 to 15 %.
void draw_crash_day(std::span<const Asset> assets, Random& random, std::span<double> day) {
  const double market = -random.uniform(0.05, 0.15);
  for (std::size_t i = 0; i < day.size(); ++i) {
    day[i] = bounded(assets[i].beta * market + 2 * assets[i].own * random.normal());
  }
}

/// Calm or nervous, from one day to the next.
class Spells {
 public:
  explicit Spells(Random random) : random_(random) {}

  double next_scale() {
    const double change = is_nervous_ ? 0.03 : 0.01;
    if (random_.uniform() < change) is_nervous_ = !is_nervous_;
    return is_nervous_ ? kNervous : kCalm;
  }

  /// That of a day from any time: a quarter of all days are nervous.
  static double any_scale(Random& random) { return random.uniform() < 0.25 ? kNervous : kCalm; }

 private:
  static constexpr double kCalm = 0.8;
  static constexpr double kNervous = 1.6;
  Random random_;
  bool is_nervous_ = false;
};

void draw_days(Market& market, std::span<const Asset> assets) {
  const std::size_t days = market.spec.days;
  const std::size_t width = market.spec.assets;
  const std::size_t length = std::clamp<std::size_t>(days / 80, 1, 40);
  market.crash_begin = (days - length) * 3 / 5;
  market.crash_end = market.crash_begin + length;

  market.returns.resize(days * width);
  Spells spells(Random(market.spec.seed, kRegimes));
  Random random(market.spec.seed, kDays);
  for (std::size_t t = 0; t < days; ++t) {
    const bool is_crash = t >= market.crash_begin && t < market.crash_end;
    const double scale = spells.next_scale();
    draw_day(assets, is_crash ? kCrashScale : scale, is_crash ? kCrashDrift : kMarketDrift, random,
             std::span(market.returns).subspan(t * width, width));
  }
}

/// "calm-0001"; all numbers have as many digits as the last one, and at least that many.
std::string numbered(std::string_view word, std::size_t number, std::size_t last, std::size_t digits) {
  return fmt::format("{}{:0{}}", word, number, std::max(digits, std::to_string(last).size()));
}

void draw_scenarios(Market& market, std::span<const Asset> assets) {
  const std::size_t count = market.spec.scenarios;
  const std::size_t width = market.spec.assets;
  const std::size_t crashes = count / 10;
  const std::size_t stressed = count / 10 * 3 + count % 10 * 3 / 10;
  const std::size_t calm = count - crashes - stressed;
  market.scenarios.resize(count * width);
  market.scenario_names.reserve(count);
  Random random(market.spec.seed, kScenarios);
  for (std::size_t s = 0; s < count; ++s) {
    const auto day = std::span(market.scenarios).subspan(s * width, width);
    if (s < calm) {
      draw_day(assets, Spells::any_scale(random), kMarketDrift, random, day);
      market.scenario_names.push_back(numbered("calm-", s + 1, count, 4));
    } else if (s < calm + stressed) {
      draw_stressed_day(assets, random, day);
      market.scenario_names.push_back(numbered("stress-", s - calm + 1, count, 4));
    } else {
      draw_crash_day(assets, random, day);
      market.scenario_names.push_back(numbered("crash-", s - calm - stressed + 1, count, 4));
    }
  }
}

/// Every fourth asset is sold short. In whole units of 1e-8, so that the printed weights have total 1 too.
void draw_weights(Market& market) {
  constexpr double kUnits = 1e8;
  Random random(market.spec.seed, kWeights);
  std::vector<double> weights(market.spec.assets);
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = i % 4 == 3 ? -random.uniform(0.2, 0.6) : random.uniform(0.5, 1.5);
    total += weights[i];
  }
  double left = kUnits;
  for (double& weight : weights) {
    weight = std::round(kUnits * weight / total);
    left -= weight;
  }
  weights[0] += left;
  for (double& weight : weights) weight /= kUnits;
  market.weights = std::move(weights);
}

/// Each desk has one day. The rest is dealt out in unequal shares, up to three times as large as others, in random
/// order.
void deal_days(Market& market) {
  const std::size_t desks = market.spec.desks;
  Random random(market.spec.seed, kDesks);
  std::vector<double> shares(desks);
  for (std::size_t k = 0; k < desks; ++k) {
    shares[k] = 0.5 + (static_cast<double>(k) + 0.5) / static_cast<double>(desks);
    std::swap(shares[k], shares[random.below(k + 1)]);
  }
  const auto total = static_cast<double>(desks);  // of all shares
  const auto spare = static_cast<double>(market.spec.days - desks);
  double sum = 0;
  for (std::size_t k = 0; k < desks; ++k) {
    market.desk_begin.push_back(k + static_cast<std::size_t>(spare * std::min(sum / total, 1.0)));
    sum += shares[k];
  }
  market.desk_begin.push_back(market.spec.days);
}

std::vector<std::string> weekdays(std::size_t count) {
  using namespace std::chrono;
  std::vector<std::string> dates;
  dates.reserve(count);
  for (sys_days day = year{2015} / January / 2; dates.size() < count; day += days{1}) {
    const weekday name(day);
    if (name == Saturday || name == Sunday) continue;
    const year_month_day date(day);
    dates.push_back(fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                static_cast<unsigned>(date.day())));
  }
  return dates;
}

/// A line of numbers after a label, if there is one.
void write_row(std::string_view label, std::span<const double> values, const TextSink& sink) {
  fmt::memory_buffer line;
  line.append(label);
  for (std::size_t i = 0; i < values.size(); ++i) {
    fmt::format_to(std::back_inserter(line), "{}{:.8f}", i > 0 || !label.empty() ? "," : "", values[i]);
  }
  line.push_back('\n');
  sink({line.data(), line.size()});
}

void write_header(const std::string& label, const Market& market, const TextSink& sink) {
  std::string line = label;
  for (const std::string& asset : market.assets) line += (line.empty() ? "" : ",") + asset;
  sink(line + '\n');
}

}  // namespace

void validate(const MarketSpec& spec) {
  // Beyond these limits a market serves no purpose here; dates would need years of five digits.
  constexpr std::size_t kMostDays = 1'000'000;
  constexpr std::size_t kMostAssets = 10'000;
  constexpr std::size_t kMostScenarios = 10'000'000;
  require(spec.days >= 1 && spec.days <= kMostDays, "--days", "is not between 1 and 1,000,000", "e.g. 2500");
  require(spec.assets >= 1 && spec.assets <= kMostAssets, "--assets", "is not between 1 and 10,000", "e.g. 20");
  require(spec.scenarios >= 1 && spec.scenarios <= kMostScenarios, "--scenarios", "is not between 1 and 10,000,000",
          "e.g. 5000");
  require(spec.desks >= 1, "--desks", "is 0", "at least one desk is needed");
  require(spec.desks <= spec.days, "--desks", fmt::format("{} desks cannot share {} days", spec.desks, spec.days),
          "each needs at least one day");
}

Market generate(const MarketSpec& spec) {
  validate(spec);
  Market market;
  market.spec = spec;
  for (std::size_t i = 1; i <= spec.assets; ++i) market.assets.push_back(numbered("A", i, spec.assets, 2));
  market.dates = weekdays(spec.days);
  const std::vector<Asset> assets = draw_assets(spec);
  draw_days(market, assets);
  deal_days(market);
  draw_scenarios(market, assets);
  draw_weights(market);
  return market;
}

void write_returns(const Market& market, std::size_t desk, const TextSink& sink) {
  const std::size_t width = market.spec.assets;
  write_header("date", market, sink);
  for (std::size_t t = market.desk_begin.at(desk); t < market.desk_begin.at(desk + 1); ++t) {
    write_row(market.dates[t], std::span(market.returns).subspan(t * width, width), sink);
  }
}

void write_scenarios(const Market& market, const TextSink& sink) {
  const std::size_t width = market.spec.assets;
  write_header("scenario", market, sink);
  for (std::size_t s = 0; s < market.spec.scenarios; ++s) {
    write_row(market.scenario_names[s], std::span(market.scenarios).subspan(s * width, width), sink);
  }
}

void write_weights(const Market& market, const TextSink& sink) {
  write_header("", market, sink);
  write_row("", market.weights, sink);
}

}  // namespace fedsinkhorn
