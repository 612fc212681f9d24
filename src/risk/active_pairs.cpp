#include "risk/active_pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace fedsinkhorn {
namespace {

/// A list is made for lambda / reach to lambda * reach. The narrowest first: if that is too long, so are the others.
constexpr std::array kReaches = {1.04, 2.0, 1.2};
/// What is left out of the excess, as a share of the budget, is below this.
constexpr double kLeftOut = 1e-16;
/// Weights below exp(-kLeastDepth) are lost in the sum of weights, whatever they cost.
constexpr double kLeastDepth = 45;
/// Tilted values differ by rounding, as a share of the largest loss and cost they are made of.
constexpr double kValueRounding = 1e-15;
/// A budget may shrink so much before lists are made anew.
constexpr double kBudgetReach = 16;
/// At lambda as large as this, every day is where its excess is 0.
constexpr double kLargestLambda = 1e200;
/// Of the lists of all days together.
constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
constexpr std::size_t kBytesPerPair = 2 * sizeof(double) + sizeof(std::uint32_t);
/// A list longer than this share of a row saves too little.
constexpr std::size_t kLongestShare = 4;

}  // namespace

ActivePairs::ActivePairs(const Days& days, const RiskComputing& computing, double epsilon)
    : days_(days),
      computing_(computing),
      epsilon_(epsilon),
      most_per_day_(std::min(days.scenarios() / kLongestShare,
                             kMostBytes / kBytesPerPair / std::max<std::size_t>(1, days.all))) {}

void ActivePairs::prepare(const Losses& losses, double budget) {
  if (!lists_.empty() && budget >= budget_ / kBudgetReach && losses == losses_) return;
  lists_.clear();
  if (!(budget > 0)) return;
  lists_.resize(days_.own());
  losses_ = losses;
  largest_loss_ = 0;
  for (const double loss : losses.of_scenarios) largest_loss_ = std::max(largest_loss_, std::abs(loss));
  budget_ = budget;
}

std::optional<DayRow> ActivePairs::row(std::size_t day, double lambda) const {
  if (lists_.empty()) return std::nullopt;
  const List& list = lists_[day];
  if (!(list.lowest <= lambda && lambda <= list.highest)) return std::nullopt;
  return DayRow{list.costs.data(), list.losses.data(), list.scenarios.data(), list.costs.size()};
}

// Seen as functions of lambda, the tilted values l_j - lambda e_ij of a day are lines. A line that lies `depth` epsilon
// below another one at both ends of an interval does so within, and then its weight is below exp(-depth) times the
// other's. That other one is the line of the best scenario in the middle.
void ActivePairs::make(std::size_t day, const double* costs, double lambda, double maximum,
                       std::span<std::uint32_t> room) {
  if (lists_.empty() || !(lambda > 0 && lambda < kLargestLambda)) return;
  List& list = lists_[day];
  if (lambda > list.hopeless / 2 && lambda < list.hopeless * 2) return;
  const cpu::TiltOps& ops = computing_.simd.tilts;
  const std::size_t m = days_.scenarios();
  const double least = days_.least[day];
  const double* const l = losses_.of_scenarios.data();
  const cpu::TiltedCut top = {lambda, maximum};
  const cpu::TiltedChoice best = ops.choose(costs, least, m, l, top, top, room.data());
  const bool stays = best.count == 0;
  const double loss = stays ? losses_.of_days[day] : l[room[0]];
  const double excess = stays ? 0 : costs[room[0]] - least;
  const double depth =
      std::max(kLeastDepth, std::log(static_cast<double>(m) * best.largest_excess * kBudgetReach / budget_ / kLeftOut));
  const auto choose = [&](double reach) {
    const auto cut_at = [&](double at) {
      const double rounding = kValueRounding * (largest_loss_ + std::abs(loss) + at * excess);
      return cpu::TiltedCut{at, loss - at * excess - depth * epsilon_ - rounding};
    };
    return ops.choose(costs, least, m, l, cut_at(lambda / reach), cut_at(lambda * reach), room.data()).count;
  };
  double reach = 0;
  std::size_t count = 0;
  for (const double one : kReaches) {
    const std::size_t chosen = choose(one);
    if (chosen > most_per_day_) {
      if (reach == 0) break;
      continue;
    }
    reach = one;
    count = chosen;
    if (one == kReaches[1]) break;
  }
  if (reach == 0) {
    list.hopeless = lambda;
    return;
  }
  if (reach == kReaches[0]) count = choose(reach);
  list.lowest = lambda / reach;
  list.highest = lambda * reach;
  list.scenarios.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(count));
  list.costs.clear();
  list.losses.clear();
  for (const std::uint32_t j : list.scenarios) {
    list.costs.push_back(costs[j]);
    list.losses.push_back(l[j]);
  }
}

}  // namespace fedsinkhorn
