#include "torture/random_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/simd.hpp"
#include "support/registered.hpp"
#include "torture/draw.hpp"
#include "torture/reference.hpp"

namespace fedsinkhorn::torture {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---------------------------------------------------------------------------------------------------------------------
// Costs

void draw_matrix(Draw& draw, Case& it) {
  const std::uint64_t family = draw.below(6);
  const double offset = draw.one_of<double>({0, 0, 1, -0.5, -5, 5});
  for (std::size_t k = 0; k < it.n * it.m; ++k) {
    switch (family) {
      case 0: it.cost.push_back(static_cast<double>(draw.below(4)) + offset); break;  // ties
      case 1: it.cost.push_back(offset == 0 ? 0.25 : offset); break;                  // all alike
      case 2: it.cost.push_back(std::abs(draw.normal()) * draw.power(-3, 0)); break;
      default: it.cost.push_back(draw.uniform() + offset);
    }
  }
  const double scale = draw.chance(0.3) ? draw.power(-150, 150) : 1;
  for (double& c : it.cost) c *= scale;
}

std::vector<double> draw_cloud(Draw& draw, std::size_t count, std::size_t dimension, const std::vector<double>& middle,
                               double spread) {
  std::vector<double> points;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_copy = i > 0 && draw.chance(0.1);
    const std::size_t original = is_copy ? draw.below(i) : 0;
    for (std::size_t k = 0; k < dimension; ++k) {
      points.push_back(is_copy ? points[original * dimension + k] : middle[k] + spread * draw.normal());
    }
  }
  return points;
}

void draw_points(Draw& draw, Case& it) {
  it.dimension = draw.chance(0.2) ? 15 + draw.below(9) : 1 + draw.below(5);
  it.metric = draw.one_of<Metric>({Metric::sqeuclidean, Metric::euclidean, Metric::cosine});
  const bool is_far = draw.chance(0.4);  // from the origin; for cosines that is nearly parallel
  std::vector<double> middle(it.dimension);
  for (double& c : middle) c = is_far ? draw.normal() : 0;
  const double spread = is_far ? draw.power(-9, -1) : 1;
  it.x = draw_cloud(draw, it.n, it.dimension, middle, spread);
  it.y = draw_cloud(draw, it.m, it.dimension, middle, spread);
  if (draw.chance(0.3)) {
    const double reach = it.metric == Metric::sqeuclidean ? 70 : 150;
    const double scale = draw.power(-reach, reach);
    for (double& c : it.x) c *= scale;
    for (double& c : it.y) c *= scale;
  }
}

/// Two blocks with nothing between them, and masses that are on the other side.
void make_infeasible(Draw& draw, Case& it) {
  it.n = std::max<std::size_t>(it.n, 2);
  it.m = std::max<std::size_t>(it.m, 2);
  it.cost.assign(it.n * it.m, kInfinity);
  it.a.assign(it.n, 1.0 / static_cast<double>(it.n));
  it.b.assign(it.m * it.targets, 0);
  for (std::size_t i = 0; i < it.n; ++i) {
    for (std::size_t j = 0; j < it.m; ++j) {
      if ((i == 0) == (j == 0)) it.cost[i * it.m + j] = draw.uniform();
    }
  }
  const double first = it.a[0] * draw.uniform(0.2, 0.9);
  for (std::size_t k = 0; k < it.targets; ++k) {
    for (std::size_t j = 0; j < it.m; ++j) {
      it.b[j * it.targets + k] = j == 0 ? first : (1 - first) / static_cast<double>(it.m - 1);
    }
  }
  it.is_infeasible = true;
}

// ---------------------------------------------------------------------------------------------------------------------
// Masses

void draw_side(Draw& draw, std::vector<double>& masses, std::size_t lines, std::size_t targets) {
  masses.assign(lines * targets, 0);
  for (std::size_t k = 0; k < targets; ++k) {
    const std::uint64_t family = draw.below(4);
    double total = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      double mass = 1;
      if (family == 0) mass = draw.uniform(0.1, 1.1);
      if (family == 1) mass = draw.power(-8, 0);
      if (family == 2) mass = draw.chance(0.3) ? 0 : draw.uniform(0.1, 1.1);
      total += masses[i * targets + k] = mass;
    }
    if (total == 0) total = masses[draw.below(lines) * targets + k] = 1;
    for (std::size_t i = 0; i < lines; ++i) masses[i * targets + k] /= total;
  }
}

void draw_masses(Draw& draw, const Without& without, Case& it) {
  const bool are_given = !it.a.empty();
  if (!are_given && !draw.chance(0.1)) draw_side(draw, it.a, it.n, 1);
  if (!are_given && (it.targets > 1 || !draw.chance(0.1))) draw_side(draw, it.b, it.m, it.targets);
  if (it.a.empty() || it.b.empty() || it.is_infeasible) return;
  const bool is_extreme = !without.totals && draw.chance(0.25);
  const double everyday = !without.totals && draw.chance(0.3) ? draw.power(-3, 3) : 1;
  const double total = is_extreme ? draw.power(-290, 290) : everyday;
  for (double& mass : it.a) mass *= total;
  for (double& mass : it.b) mass *= total;
  if (!is_extreme && draw.chance(0.1)) {
    it.float32_masses = true;
    for (double& mass : it.a) mass = static_cast<double>(static_cast<float>(mass));
    for (double& mass : it.b) mass = static_cast<double>(static_cast<float>(mass));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Options

bool is_asynchronous(const Options& options) {
  return options.topology != "auto" && testing::topology_named(options.topology).is_asynchronous;
}
bool takes_local_steps(const Options& options) {
  return options.topology == "auto" || testing::topology_named(options.topology).takes_local_steps;
}

void draw_clients(Draw& draw, Options& options) {
  options.clients = draw.chance(0.35) ? 1 : 2 + draw.below(6);
  using Names = std::vector<std::string>;
  Names names = options.clients == 1 ? Names{"centralized"} : testing::topologies_of_several_clients();
  names.insert(names.begin(), "auto");
  options.topology = draw.one_of(names);
  if (options.clients > 1 && draw.chance(0.3)) options.transport = "simulated";
  if (options.clients > 1 && draw.chance(0.3)) {
    for (std::size_t k = 0; k < options.clients; ++k) {
      options.row_weights.push_back(draw.chance(0.2) ? 0 : draw.uniform(0.1, 3));
    }
    options.row_weights[draw.below(options.clients)] = 1;
  }
  if (is_asynchronous(options) && draw.chance(0.2)) options.damping = draw.uniform(0.5, 1);
}

void draw_arithmetic(Draw& draw, Options& options) {
  const double kind = draw.uniform();
  if (kind < 0.12) options.precision = Precision::float32;
  if (kind > 0.88) options.precision = Precision::mixed;
  if (kind > 0.4 && kind < 0.5 && options.clients == 1) options.precision = Precision::digits50;
  options.kernel = draw.chance(0.4) ? KernelKind::online : KernelKind::dense;
  options.passes = draw.chance(0.5) ? Passes::two : Passes::fused;
  if (options.precision == Precision::float64 && !is_asynchronous(options) && draw.chance(0.12)) {
    options.stabilization = Stabilization::log;
  }
  options.threads = 1 + static_cast<int>(draw.below(2));
  const std::vector<std::string> variants = cpu::simd_variants();
  options.simd = draw.chance(0.5) ? "auto" : variants[draw.below(variants.size())];
}

void draw_method(Draw& draw, Options& options) {
  const bool may_take_steps = options.clients > 1 && takes_local_steps(options) &&
                              options.stabilization == Stabilization::absorption &&
                              options.precision != Precision::digits50;
  if (may_take_steps && draw.chance(0.06)) options.local_steps = 2 + static_cast<std::int64_t>(draw.below(3));
  const bool is_plain = is_asynchronous(options) || options.local_steps > 1 ||
                        options.stabilization == Stabilization::log || options.precision == Precision::digits50;
  using Names = std::vector<std::string>;
  options.method =
      is_plain ? draw.one_of(Names{"auto", "sinkhorn"})
               : draw.one_of(Names{"auto", "auto", "sinkhorn", "sinkhorn", "anderson", "newton", "overrelaxed"});
  // A grid may cut rows, which Newton's method needs whole.
  if (options.method == "newton" && options.topology == "grid") options.method = "auto";
  options.max_iterations = options.precision == Precision::digits50 ? 1000 : 3000;
  options.check_every = draw.chance(0.3) ? 1 + static_cast<std::int64_t>(draw.below(20)) : 1;
  options.norm = draw.one_of<Norm>({Norm::l1, Norm::l1, Norm::l2, Norm::linf});
}

/// Row-reduce may keep everything but sums from leaving. Drawn by itself, so that the rest of a case stays as it was.
void draw_policy(Draw& draw, Case& it) {
  Options& options = it.options;
  const bool is_row_reduce = options.topology == "row-reduce" || (options.topology == "auto" && options.clients > 1);
  // Then nobody can tell that no plan exists, nor what each component's masses add up to.
  const bool needs_pairs = it.is_infeasible || (it.float32_masses && std::ranges::count(it.cost, kInfinity) > 0);
  if (!is_row_reduce || needs_pairs || options.local_steps > 1 || options.method == "overrelaxed" ||
      options.method == "newton") {
    return;
  }
  if (!draw.chance(0.7)) return;
  options.policy = "sums";
  if (options.norm == Norm::linf) options.norm = Norm::l2;
  if (draw.chance(0.4)) options.server = Server::sums;
}

/// So that the sum of all marginal errors is less than 1e-9 of the mass, or what a kernel of seven digits allows.
double draw_tolerance(const Case& it) {
  const double lines = it.options.norm == Norm::l1 ? 1 : static_cast<double>(std::max(it.n, it.m));
  switch (it.options.precision) {
    case Precision::float32: return 1e-5 / lines;
    case Precision::mixed: return 1e-7 / lines;
    case Precision::digits50: return 1e-15 / lines;
    default: return 3e-10 / lines;
  }
}

}  // namespace

void forbid_pairs(Draw& draw, Case& it) {
  std::vector<bool> allowed(it.n * it.m);
  const double density = draw.uniform(0.2, 0.9);
  const bool in_blocks = draw.chance(0.4);
  for (std::size_t i = 0; i < it.n; ++i) {
    for (std::size_t j = 0; j < it.m; ++j) {
      allowed[i * it.m + j] = in_blocks ? i * 3 / it.n == j * 3 / it.m : draw.chance(density);
    }
  }
  for (std::size_t i = 0; i < it.n; ++i) allowed[i * it.m + (in_blocks ? i * it.m / it.n : draw.below(it.m))] = true;
  for (std::size_t j = 0; j < it.m; ++j) allowed[(in_blocks ? j * it.n / it.m : draw.below(it.n)) * it.m + j] = true;
  it.a.assign(it.n, 0);
  it.b.assign(it.m * it.targets, 0);
  for (double& mass : it.a) mass = draw.uniform(0.1, 1);
  for (std::size_t k = 0; k < it.targets; ++k) {
    for (std::size_t i = 0; i < it.n; ++i) {
      std::vector<double> shares(it.m);
      double total = 0;
      for (std::size_t j = 0; j < it.m; ++j) {
        if (allowed[i * it.m + j]) total += shares[j] = draw.uniform(0.1, 1);
      }
      for (std::size_t j = 0; j < it.m; ++j) it.b[j * it.targets + k] += it.a[i] * shares[j] / total;
    }
  }
  for (std::size_t p = 0; p < allowed.size(); ++p) {
    if (!allowed[p]) it.cost[p] = kInfinity;
  }
}

Problem Case::problem() const {
  Problem problem;
  if (cost.empty()) {
    problem.cost =
        PointClouds{MatrixView<double>{x.data(), n, dimension}, MatrixView<double>{y.data(), m, dimension}, metric};
  } else {
    problem.cost = CostMatrix{MatrixView<double>{cost.data(), n, m}};
  }
  problem.epsilon = epsilon;
  problem.a = a;
  if (!b.empty()) problem.b = {b.data(), m, targets};
  if (!initial_g.empty()) problem.initial_g = {initial_g.data(), m, 1};
  if (float32_masses) problem.mass_tolerance = 1e-5;
  return problem;
}

Case make_case(std::uint64_t seed, std::uint64_t number, const Without& without) {
  Draw draw(seed, number);
  Case it;
  it.seed = seed;
  it.number = number;
  it.n = 1 + draw.below(12);
  it.m = 1 + draw.below(15);
  if (draw.chance(0.2)) it.targets = 2 + draw.below(4);

  const double kind = draw.uniform();
  if (kind < 0.03) {
    make_infeasible(draw, it);
  } else if (kind < 0.45) {
    draw_points(draw, it);
  } else {
    draw_matrix(draw, it);
    if (kind < 0.6) forbid_pairs(draw, it);
  }
  draw_masses(draw, without, it);

  const double largest = largest_cost(it);
  const double range = draw.uniform();
  double share = draw.power(-2.5, 1);
  if (range < 0.2) share = draw.power(-4, -2);
  if (range > 0.8 && !without.large_epsilon) share = draw.power(1, 6);
  it.epsilon = largest > 0 ? share * largest : 1;

  draw_clients(draw, it.options);
  draw_arithmetic(draw, it.options);
  draw_method(draw, it.options);
  Draw for_policy(seed + 1'000'000'007, number);
  draw_policy(for_policy, it);
  it.options.tolerance = draw_tolerance(it);
  if (draw.chance(0.1)) {
    for (std::size_t j = 0; j < it.m; ++j) it.initial_g.push_back(draw.uniform(-1, 1) * largest);
  }
  it.options.backend = "cpu";
  return it;
}

}  // namespace fedsinkhorn::torture
