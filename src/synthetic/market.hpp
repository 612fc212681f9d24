// A synthetic market: daily returns that trading desks have seen, scenarios of what may come, and a portfolio.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fedsinkhorn {

struct MarketSpec {
  std::size_t desks = 5;
  std::size_t days = 2500;
  std::size_t assets = 20;
  std::size_t scenarios = 5000;
  std::uint64_t seed = 0;
};

/// Returns are fractions: 0.01 is 1 %.
///
/// An asset's return follows the market, one of three sectors, and itself. All of a day's returns share one random
/// scale, which makes them Student t with four degrees of freedom: the tails are fat, and bad days are bad for all.
/// Volatility switches between calm and nervous spells. In one crash of a few dozen days it is three times as large,
/// and the market falls.
///
/// The same spec gives the same numbers on every machine, up to the last bits, where sums may round differently. Days,
/// scenarios and weights are drawn independently: more days leave the scenarios unchanged.
struct Market {
  MarketSpec spec;
  std::vector<std::string> assets;          ///< names: A01, A02, ...
  std::vector<std::string> dates;           ///< one per day: weekdays from 2015-01-02 on, as YYYY-MM-DD
  std::vector<double> returns;              ///< days x assets
  std::size_t crash_begin = 0;              ///< the first day of the crash
  std::size_t crash_end = 0;                ///< one past its last day
  std::vector<std::size_t> desk_begin;      ///< desk k has the days [desk_begin[k], desk_begin[k + 1]), at least one
  std::vector<std::string> scenario_names;  ///< 60 % calm-0001, ..., 30 % stress-0001, ..., 10 % crash-0001, ...
  std::vector<double> scenarios;            ///< scenarios x assets
  std::vector<double> weights;              ///< of the portfolio, some of them short; total 1
};

/// Throws InputError, naming the flag of `fedsinkhorn generate-market`, if the spec is invalid.
void validate(const MarketSpec& spec);

/// Validates, then draws.
[[nodiscard]] Market generate(const MarketSpec& spec);

using TextSink = std::function<void(std::string_view)>;

/// The tables as CSV, line by line; numbers have eight decimals.
void write_returns(const Market& market, std::size_t desk, const TextSink& sink);
void write_scenarios(const Market& market, const TextSink& sink);
void write_weights(const Market& market, const TextSink& sink);

}  // namespace fedsinkhorn
