#include "risk/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/random.hpp"

namespace fedsinkhorn::testing {
namespace {

constexpr Wide kWideInfinity = std::numeric_limits<Wide>::infinity();

/// x' S^-1 x by elimination, S symmetric and positive definite.
Wide quadratic_form(std::vector<Wide> s, std::vector<Wide> x) {
  const std::size_t d = x.size();
  const std::vector<Wide> before = x;
  for (std::size_t k = 0; k < d; ++k) {
    for (std::size_t i = k + 1; i < d; ++i) {
      const Wide factor = s[i * d + k] / s[k * d + k];
      for (std::size_t j = k; j < d; ++j) s[i * d + j] -= factor * s[k * d + j];
      x[i] -= factor * x[k];
    }
  }
  Wide form = 0;
  for (std::size_t k = d; k-- > 0;) {
    for (std::size_t j = k + 1; j < d; ++j) x[k] -= s[k * d + j] * x[j];
    x[k] /= s[k * d + k];
    form += x[k] * before[k];
  }
  return form;
}

std::vector<Wide> covariance_of(const RiskInstance& instance, const std::vector<Wide>& a) {
  const std::size_t d = instance.d;
  if (!instance.covariance.empty()) return {instance.covariance.begin(), instance.covariance.end()};
  std::vector<Wide> mean(d);
  Wide squares = 0;
  for (std::size_t i = 0; i < instance.n; ++i) {
    squares += a[i] * a[i];
    for (std::size_t k = 0; k < d; ++k) mean[k] += a[i] * instance.returns[i * d + k];
  }
  std::vector<Wide> s(d * d);
  for (std::size_t i = 0; i < instance.n; ++i) {
    for (std::size_t k = 0; k < d * d; ++k) {
      s[k] += a[i] * (instance.returns[i * d + k / d] - mean[k / d]) * (instance.returns[i * d + k % d] - mean[k % d]) /
              (1 - squares);
    }
  }
  return s;
}

Wide cost_between(const double* x, const double* y, std::size_t d, RiskCost cost, const std::vector<Wide>& s) {
  std::vector<Wide> difference(d);
  Wide squared = 0;
  Wide xx = 0;
  Wide yy = 0;
  Wide xy = 0;
  for (std::size_t k = 0; k < d; ++k) {
    difference[k] = static_cast<Wide>(x[k]) - y[k];
    squared += difference[k] * difference[k];
    xx += static_cast<Wide>(x[k]) * x[k];
    yy += static_cast<Wide>(y[k]) * y[k];
    xy += static_cast<Wide>(x[k]) * y[k];
  }
  switch (cost) {
    case RiskCost::sqeuclidean: return squared;
    case RiskCost::euclidean: return std::sqrt(squared);
    case RiskCost::cosine: return 1 - xy / std::sqrt(xx * yy);
    case RiskCost::mahalanobis: return quadratic_form(s, difference);
  }
  return 0;
}

Wide loss_at(const RiskInstance& instance, const double* x) {
  Wide loss = 0;
  for (std::size_t k = 0; k < instance.d; ++k) loss += static_cast<Wide>(instance.weights[k]) * x[k];
  return instance.settings.are_gains ? -loss : loss;
}

/// Bisection on log(lambda); the plan is the one that costs the radius or a little less.
WidePlan worst_expected(const WideProblem& problem) {
  WidePlan free = plan_at(problem, 0);
  if (free.transport_cost <= problem.radius) return free;
  Wide low = -200;
  Wide high = 200;
  for (int round = 0; round < 110; ++round) {
    const Wide middle = (low + high) / 2;
    (plan_at(problem, std::exp(middle)).transport_cost > problem.radius ? low : high) = middle;
  }
  WidePlan plan = plan_at(problem, std::exp(high));
  plan.is_binding = true;
  return plan;
}

}  // namespace

RiskProblem RiskInstance::view() const {
  RiskProblem problem = settings;
  if (d > 0) {
    problem.returns = MatrixView<double>{returns.data(), n, d};
    problem.scenarios = MatrixView<double>{scenarios.data(), m, d};
    if (!covariance.empty()) problem.covariance = {covariance.data(), d, d};
  } else {
    problem.costs = MatrixView<double>{costs.data(), n, m};
  }
  problem.weights = weights;
  problem.scenario_losses = scenario_losses;
  problem.return_losses = return_losses;
  problem.a = a;
  return problem;
}

RiskProblem RiskInstance::part(std::size_t first, std::size_t last) const {
  RiskProblem problem = view();
  problem.is_part = true;
  if (d > 0) {
    problem.returns = MatrixView<double>{returns.data() + first * d, last - first, d};
  } else {
    problem.costs = MatrixView<double>{costs.data() + first * m, last - first, m};
  }
  if (!return_losses.empty()) problem.return_losses = problem.return_losses.subspan(first, last - first);
  if (!a.empty()) problem.a = problem.a.subspan(first, last - first);
  return problem;
}

RiskOptions precise() {
  RiskOptions options;
  options.options.threads = 1;
  options.options.tolerance = 1e-12;
  return options;
}

RiskInstance random_points(std::size_t n, std::size_t m, std::size_t d, unsigned seed) {
  Random random(seed, 1);
  RiskInstance instance;
  instance.n = n;
  instance.m = m;
  instance.d = d;
  for (std::size_t k = 0; k < n * d; ++k) instance.returns.push_back(random.uniform(0.1, 0.9));
  for (std::size_t k = 0; k < m * d; ++k) instance.scenarios.push_back(random.uniform());
  for (std::size_t k = 0; k < d; ++k) instance.weights.push_back(random.uniform(-1, 1));
  return instance;
}

RiskInstance random_costs(std::size_t n, std::size_t m, double forbidden, unsigned seed) {
  Random random(seed, 2);
  RiskInstance instance;
  instance.n = n;
  instance.m = m;
  for (std::size_t k = 0; k < n * m; ++k) {
    const double cost = random.uniform();
    const bool is_forbidden = random.uniform() < forbidden && k % m != 0;
    instance.costs.push_back(is_forbidden ? std::numeric_limits<double>::infinity() : cost);
  }
  for (std::size_t j = 0; j < m; ++j) instance.scenario_losses.push_back(random.uniform());
  for (std::size_t i = 0; i < n; ++i) instance.return_losses.push_back(random.uniform());
  return instance;
}

void draw_masses(RiskInstance& instance, unsigned seed) {
  Random random(seed, 3);
  instance.a.assign(instance.n, 1.0);
  for (std::size_t i = 1; i < instance.n; ++i) {
    const double mass = random.uniform(0.1, 2);
    instance.a[i] = random.uniform() < 0.2 ? 0 : mass;
  }
}

WideProblem widened(const RiskInstance& instance) {
  const bool stays = instance.settings.may_stay;
  WideProblem wide;
  wide.n = instance.n;
  wide.m = instance.m + (stays ? 1 : 0);
  wide.epsilon = instance.settings.epsilon;
  wide.radius = instance.settings.radius;
  wide.level = instance.settings.cvar_level;
  wide.a.assign(instance.n, 1);
  if (!instance.a.empty()) wide.a.assign(instance.a.begin(), instance.a.end());
  Wide total = 0;
  for (const Wide mass : wide.a) total += mass;
  for (Wide& mass : wide.a) mass /= total;
  std::vector<Wide> s;
  if (instance.d > 0 && instance.settings.cost == RiskCost::mahalanobis) s = covariance_of(instance, wide.a);
  const std::size_t d = instance.d;
  for (std::size_t i = 0; i < instance.n; ++i) {
    for (std::size_t j = 0; j < instance.m; ++j) {
      wide.costs.push_back(
          d == 0 ? static_cast<Wide>(instance.costs[i * instance.m + j])
                 : cost_between(&instance.returns[i * d], &instance.scenarios[j * d], d, instance.settings.cost, s));
      wide.losses.push_back(instance.weights.empty() ? static_cast<Wide>(instance.scenario_losses[j])
                                                     : loss_at(instance, &instance.scenarios[j * d]));
    }
    if (!stays) continue;
    wide.costs.push_back(0);
    wide.losses.push_back(instance.weights.empty() ? static_cast<Wide>(instance.return_losses[i])
                                                   : loss_at(instance, &instance.returns[i * d]));
  }
  return wide;
}

WidePlan plan_at(const WideProblem& problem, Wide lambda) {
  WidePlan result;
  result.lambda = lambda;
  result.plan.assign(problem.n * problem.m, 0);
  result.columns.assign(problem.m, 0);
  result.dual = lambda * problem.radius;
  for (std::size_t i = 0; i < problem.n; ++i) {
    const Wide* const cost = &problem.costs[i * problem.m];
    const Wide* const loss = &problem.losses[i * problem.m];
    std::vector<Wide> tilted(problem.m, -kWideInfinity);
    for (std::size_t j = 0; j < problem.m; ++j) {
      if (cost[j] < kWideInfinity) tilted[j] = loss[j] - lambda * cost[j];
    }
    const Wide largest = *std::max_element(tilted.begin(), tilted.end());
    Wide sum = 0;
    for (Wide& t : tilted) sum += t = std::exp((t - largest) / problem.epsilon);
    result.dual += problem.a[i] * largest;
    for (std::size_t j = 0; j < problem.m; ++j) {
      if (tilted[j] == 0) continue;
      const Wide share = tilted[j] / sum;
      const Wide mass = problem.a[i] * share;
      result.plan[i * problem.m + j] = mass;
      result.columns[j] += mass;
      result.transport_cost += mass * cost[j];
      result.loss += mass * loss[j];
      result.entropic += mass * (loss[j] - problem.epsilon * std::log(share));
    }
  }
  return result;
}

WidePlan reference_worst_case(const WideProblem& problem) {
  if (problem.level == 0) return worst_expected(problem);
  // min over t of the worst case of l_t = t + max(L - t, 0) / (1 - level), which is convex in t: by the sign of its
  // slope, 1 - P(L > t) / (1 - level).
  const auto at = [&](Wide t) {
    WideProblem tail = problem;
    for (Wide& loss : tail.losses) loss = t + std::max<Wide>(0, loss - t) / (1 - problem.level);
    WidePlan plan = worst_expected(tail);
    plan.threshold = t;
    return plan;
  };
  const auto [least, most] = std::minmax_element(problem.losses.begin(), problem.losses.end());
  Wide low = *least - 1;
  Wide high = *most;
  for (int round = 0; round < 64; ++round) {
    const Wide middle = (low + high) / 2;
    const WidePlan plan = at(middle);
    Wide above = 0;
    for (std::size_t k = 0; k < plan.plan.size(); ++k) above += problem.losses[k] > middle ? plan.plan[k] : 0;
    (above > 1 - problem.level ? low : high) = middle;
  }
  return at(high);
}

Wide least_radius(const WideProblem& problem) {
  Wide radius = 0;
  for (std::size_t i = 0; i < problem.n; ++i) {
    if (problem.a[i] == 0) continue;
    const Wide* const cost = &problem.costs[i * problem.m];
    radius += problem.a[i] * *std::min_element(cost, cost + problem.m);
  }
  return radius;
}

}  // namespace fedsinkhorn::testing
