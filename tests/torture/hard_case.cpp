// Problems on which solvers break: offsets, outliers, masses of any size, tiny epsilon, good and bad starts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fedsinkhorn/solve.hpp"
#include "torture/draw.hpp"

namespace fedsinkhorn::torture {
namespace {

/// Of order 1.
void draw_plain_costs(Draw& draw, Case& it) {
  const std::uint64_t family = draw.below(4);
  const std::size_t dimension = 1 + draw.below(4);
  std::vector<double> points((it.n + it.m) * dimension);
  for (double& x : points) x = family == 2 ? 0.3 * draw.normal() + static_cast<double>(draw.below(2)) : draw.uniform();
  for (std::size_t i = 0; i < it.n; ++i) {
    for (std::size_t j = 0; j < it.m; ++j) {
      double square = 0;
      for (std::size_t k = 0; k < dimension; ++k) {
        const double d = points[i * dimension + k] - points[(it.n + j) * dimension + k];
        square += d * d;
      }
      it.cost.push_back(family == 0 ? draw.uniform() : family == 1 ? static_cast<double>(draw.below(4)) : square);
    }
  }
}

/// Adds a large number to some of the costs.
void disturb_costs(Draw& draw, Case& it) {
  const double size = draw.power(1, 9) * (draw.chance(0.3) ? -1 : 1);
  const std::size_t row = draw.below(it.n);
  const std::size_t column = draw.below(it.m);
  const std::uint64_t family = draw.below(6);
  const double share = draw.uniform(0, 0.2);
  for (std::size_t i = 0; i < it.n; ++i) {
    for (std::size_t j = 0; j < it.m; ++j) {
      double& cost = it.cost[i * it.m + j];
      const bool is_in = family == 0   ? true
                         : family == 1 ? i == row
                         : family == 2 ? j == column
                         : family == 3 ? i >= row && j >= column
                         : family == 4 ? i == row && j == column
                                       : draw.chance(share);
      if (is_in) cost += size;
    }
  }
}

/// The least mass of most sides is above 1e-80; of some it is 1e-300.
std::vector<double> draw_masses(Draw& draw, std::size_t lines, bool may_be_tiny) {
  const std::uint64_t family = draw.below(may_be_tiny ? 6 : 4);
  const double decades = family == 2 ? 8 : family == 3 ? 75 : 300;
  std::vector<double> masses(lines, 1);
  for (double& mass : masses) {
    if (family == 1) mass = draw.uniform(0.01, 1);
    if (family == 2 || family == 3 || family == 4) mass = draw.power(-decades, 0);
    if (family == 5) mass = std::max(std::pow(draw.uniform(), 50.0), 1e-300);  // much like Dirichlet(0.02)
  }
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (double& mass : masses) mass /= total;
  return masses;
}

/// Potentials of a problem nearby, of one at another epsilon, or nonsense.
void draw_start(Draw& draw, Case& it) {
  const std::uint64_t family = draw.below(3);
  if (family == 0) {
    const double size = draw.power(-6, 9);
    for (std::size_t j = 0; j < it.m; ++j) it.initial_g.push_back(draw.uniform(-1, 1) * size);
    return;
  }
  Case nearby = it;
  if (family == 1) {
    for (double& cost : nearby.cost) cost += draw.uniform(0, 1e-3);
  } else {
    nearby.epsilon *= 8;
  }
  nearby.options = {};
  nearby.options.threads = 1;
  Result result = solve(nearby.problem(), nearby.options);
  // Of a line without mass there is none.
  std::ranges::replace(result.g, -std::numeric_limits<double>::infinity(), 0.0);
  if (std::ranges::all_of(result.g, [](double g) { return std::isfinite(g); })) it.initial_g = std::move(result.g);
}

void draw_options(Draw& draw, Options& options) {
  options.backend = "cpu";
  options.threads = 1;
  options.clients = draw.one_of<std::size_t>({1, 1, 3, 5});
  if (draw.chance(0.2)) options.kernel = KernelKind::online;
  if (options.clients > 1) {
    options.topology = draw.one_of<std::string>({"auto", "auto", "auto", "all-to-all", "star", "grid"});
    if (options.topology == "auto" && draw.chance(0.5)) options.policy = "sums";
  }
  const double kind = draw.uniform();
  if (kind < 0.2) options.precision = Precision::float32;
  if (kind > 0.8) options.precision = Precision::mixed;
  // What a kernel of seven digits allows.
  if (options.precision == Precision::float32) options.tolerance = 1e-5;
  if (options.precision == Precision::mixed) options.tolerance = 1e-6;
}

}  // namespace

Case make_hard_case(std::uint64_t seed, std::uint64_t number) {
  Draw draw(seed, number);
  Case it;
  it.is_hard = true;
  it.seed = seed;
  it.number = number;
  it.n = 2 + draw.below(draw.chance(0.5) ? 10 : 100);
  it.m = 2 + draw.below(draw.chance(0.5) ? 10 : 60);
  draw_plain_costs(draw, it);
  if (draw.chance(0.6)) disturb_costs(draw, it);
  const bool has_tiny_masses = draw.chance(0.3);
  it.a = draw_masses(draw, it.n, has_tiny_masses);
  it.b = draw_masses(draw, it.m, has_tiny_masses);
  if (!has_tiny_masses && draw.chance(0.15)) forbid_pairs(draw, it);
  it.epsilon = draw.power(-6, 0);
  draw_options(draw, it.options);
  if (draw.chance(0.3)) draw_start(draw, it);
  const bool is_ordinary = it.options.precision == Precision::float64 && it.options.policy == "open" &&
                           it.options.topology != "grid" && !has_tiny_masses;
  if (is_ordinary) it.most_iterations = 500;
  return it;
}

}  // namespace fedsinkhorn::torture
