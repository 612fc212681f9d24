#include "risk/days.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "comm/agreement.hpp"
#include "core/parallel.hpp"
#include "core/special_numbers.hpp"
#include "cost/cost_input.hpp"
#include "fedsinkhorn/error.hpp"
#include "risk/given.hpp"
#include "risk/whitening.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::uint64_t kMostDays = std::uint64_t{1} << 40U;

/// Which rows belong to whom.
std::vector<Range> slices_of(const Collectives& clients, const RiskProblem& problem) {
  const std::size_t given = rows_given(problem);
  const std::array<double, 1> mine = {static_cast<double>(given)};
  const std::vector<double> said = clients.of(Payload::shape).allgather_numbers(mine);
  std::vector<Range> slices;
  std::size_t next = 0;
  for (std::size_t k = 0; k < said.size(); ++k) {
    const std::size_t rows = from_peer(clients, k).count(said[k], kMostDays, "a number of days");
    if (!problem.is_part && said[k] != said[0]) {
      throw InputError(has_points(problem) ? problem.names.returns : problem.names.costs,
                       fmt::format("client {} has {} rows, client 0 has {}", k, rows, said[0]),
                       "give all days to all clients, or to each its part");
    }
    const Range share = problem.is_part ? Range{next, next + rows} : chunk_range(rows, clients.size(), k);
    slices.push_back(share);
    next = share.last;
  }
  return slices;
}

/// Own masses, scaled so that those of all clients add up to 1. Days without mass are left out.
void take_masses(const RiskProblem& problem, const Collectives& clients, Days& days) {
  const Range own = days.slices[clients.rank()];
  const std::size_t before = problem.is_part ? own.first : 0;
  for (std::size_t i = own.first; i < own.last; ++i) {
    const double mass = problem.a.empty() ? 1.0 : problem.a[i - before];
    if (!(mass > 0)) continue;
    days.numbers.push_back(i);
    days.a.push_back(mass);
  }
  const bool has_rows = rows_given(problem) > 0;
  std::vector<bool> some = {has_rows && problem.a.empty(), has_rows && !problem.a.empty()};
  any_of_all(clients, some);
  if (some[0] && some[1]) {
    throw InputError(problem.names.a, "some clients have masses of their days, others do not",
                     "give them at all clients or at none");
  }
  std::vector<ExactSum> total(1);
  for (const double mass : days.a) total[0].add(mass);
  add_up_of_all(clients, total);
  if (!(total[0].total() > 0) || !std::isfinite(total[0].total())) {
    throw InputError(problem.a.empty() ? problem.names.returns : problem.names.a, "the days have no mass",
                     "give masses of which some are above 0");
  }
  for (double& mass : days.a) mass /= total[0].total();
}

double dot(std::span<const double> w, const AnyMatrix& points, std::size_t row) {
  return std::visit(
      [&](const auto& view) {
        const auto* x = view.row(row);
        double sum = 0;
        for (std::size_t k = 0; k < w.size(); ++k) sum += w[k] * static_cast<double>(x[k]);
        return sum;
      },
      points);
}

void check_losses_are_finite(const std::vector<double>& losses, const std::string& name) {
  if (std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); })) return;
  throw InputError(name, "a loss w.x is too large for a float64", "give smaller weights or returns");
}

/// l(x) = w.x or -w.x, or as given.
void take_losses(const RiskProblem& problem, std::size_t before, Days& days) {
  const double sign = problem.are_gains ? -1 : 1;
  const bool by_weights = problem.scenario_losses.empty();
  days.scenario_losses.assign(problem.scenario_losses.begin(), problem.scenario_losses.end());
  if (by_weights) {
    for (std::size_t j = 0; j < rows_of(problem.scenarios); ++j) {
      days.scenario_losses.push_back(sign * dot(problem.weights, problem.scenarios, j));
    }
  }
  check_losses_are_finite(days.scenario_losses, problem.names.scenarios);
  if (!by_weights && problem.return_losses.empty()) return;
  for (const std::size_t i : days.numbers) {
    days.losses.push_back(by_weights ? sign * dot(problem.weights, problem.returns, i - before)
                                     : problem.return_losses[i - before]);
  }
  check_losses_are_finite(days.losses, problem.names.returns);
}

/// The costs of own days, a source that keeps what it needs.
std::unique_ptr<CostSource> source_of(const RiskProblem& problem, const Days& days, std::size_t before,
                                      const WhitePoints& white, const cpu::Simd& simd) {
  Cost cost = CostMatrix{problem.costs};
  if (has_points(problem)) cost = PointClouds{white.x(problem), white.y(problem), metric_of(problem.cost)};
  CostBlock block;
  block.costs = make_cost_input(cost);
  block.rows = days.numbers;
  block.first_held = before;
  block.columns.resize(days.scenarios());
  std::iota(block.columns.begin(), block.columns.end(), std::size_t{0});
  block.all_rows = days.all;
  block.all_columns = days.scenarios();
  if (block.empty()) return nullptr;
  return make_cost_source(block, simd);
}

/// What is wrong with a day's costs, or nothing.
struct BadDay {
  std::size_t day = std::numeric_limits<std::size_t>::max();
  std::size_t scenario = 0;
  double cost = 0;
  bool none_allowed = false;
};

/// The least cost of a day and the largest loss at that cost.
void find_nearest(const double* costs, std::size_t day, Days& days, BadDay& bad) {
  double least = kInfinity;
  double loss = -kInfinity;
  for (std::size_t j = 0; j < days.scenarios(); ++j) {
    if (!(costs[j] >= 0) && day < bad.day) bad = {day, j, costs[j], false};
    if (costs[j] > least || !(costs[j] < kInfinity)) continue;
    loss = costs[j] < least ? days.scenario_losses[j] : std::max(loss, days.scenario_losses[j]);
    least = costs[j];
  }
  if (days.may_stay) {
    loss = least == 0 ? std::max(loss, days.losses[day]) : days.losses[day];
    least = 0;
  }
  if (!(least < kInfinity) && day < bad.day) bad = {day, 0, least, true};
  days.least[day] = least;
  days.nearest_loss[day] = loss;
}

[[noreturn]] void refuse(const RiskProblem& problem, const Days& days, std::size_t before, const BadDay& bad) {
  const std::string name = has_points(problem) ? problem.names.returns : problem.names.costs;
  const std::size_t row = days.numbers[bad.day] - before + 1;
  if (bad.none_allowed) {
    throw InputError(name, fmt::format("row {}: every move of this day is forbidden", row),
                     "allow one, or let days stay");
  }
  throw InputError(name, fmt::format("row {}, scenario {}: a cost of {}", row, bad.scenario + 1, bad.cost),
                   "give 0 or more");
}

/// Looks at every cost once.
void scan_costs(const RiskProblem& problem, std::size_t before, const RiskComputing& computing, Days& days) {
  days.least.resize(days.own());
  days.nearest_loss.resize(days.own());
  if (!days.costs) return;
  const std::size_t blocks = (days.own() + cpu::kRowBlock - 1) / cpu::kRowBlock;
  std::vector<BadDay> bad(static_cast<std::size_t>(std::max(1, computing.threads)));
  std::vector<std::optional<DayCosts>> readers(bad.size());
  parallel_chunks(computing.threads, blocks, [&](std::size_t block, std::size_t thread) {
    if (computing.stop.is_made()) return;
    if (!readers[thread]) readers[thread].emplace(*days.costs);
    const std::size_t first = block * cpu::kRowBlock;
    const std::size_t count = std::min(cpu::kRowBlock, days.own() - first);
    const double* const* rows = readers[thread]->at(first, count);
    for (std::size_t k = 0; k < count; ++k) find_nearest(rows[k], first + k, days, bad[thread]);
  });
  computing.stop.throw_if_made();
  const BadDay& first = *std::ranges::min_element(bad, {}, &BadDay::day);
  if (first.day < days.own()) refuse(problem, days, before, first);
}

void add_up_nearest(const Collectives& clients, Days& days) {
  std::vector<ExactSum> sums(2);
  const double largest = *std::ranges::max_element(days.scenario_losses);
  for (std::size_t i = 0; i < days.own(); ++i) {
    sums[0].add(days.a[i] * days.least[i]);
    sums[1].add(days.a[i] * std::max(0.0, largest - days.nearest_loss[i]));
  }
  add_up_of_all(clients, sums);
  days.least_radius = sums[0].total();
  days.most_gain = sums[1].total();
}

}  // namespace

Days check_days(const RiskProblem& problem, std::span<const double> radii, const Collectives& clients,
                const RiskComputing& computing) {
  agree(clients, [&] {
    check_given(problem);
    for (const double radius : radii) check_radius(radius);
  });
  require_common(problem, radii, clients);
  Days days;
  days.slices = slices_of(clients, problem);
  days.all = days.slices.back().last;
  days.may_stay = problem.may_stay;
  agree(clients, [&] {
    if (days.all == 0) throw InputError(problem.names.returns, "no client has any day", "give one row per day");
  });
  take_masses(problem, clients, days);
  const std::size_t before = problem.is_part ? days.slices[clients.rank()].first : 0;
  agree(clients, [&] { take_losses(problem, before, days); });
  days.white = whitened(problem, clients, days.numbers, before, days.a);
  agree(clients, [&] {
    days.costs = source_of(problem, days, before, days.white, computing.simd);
    scan_costs(problem, before, computing, days);
  });
  add_up_nearest(clients, days);
  return days;
}

DayCosts::DayCosts(const CostSource& costs)
    : costs_(costs), stride_((costs.columns() + cpu::kPanel - 1) / cpu::kPanel * cpu::kPanel), rows_(cpu::kRowBlock) {}

const double* const* DayCosts::at(std::size_t day, std::size_t count) {
  const bool in_place = costs_.row_in_place(day) != nullptr;
  if (!in_place) {
    if (copies_.size() == 0) copies_ = Buffer<double>(cpu::kRowBlock * stride_);
    costs_.fill(day, count, 0, costs_.columns(), copies_.data(), stride_);
  }
  for (std::size_t k = 0; k < count; ++k) {
    rows_[k] = in_place ? costs_.row_in_place(day + k) : copies_.data() + k * stride_;
  }
  return rows_.data();
}

}  // namespace fedsinkhorn
