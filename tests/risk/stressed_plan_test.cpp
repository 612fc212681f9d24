// The paper's variant of worst-case risk, in which the stress fixes the distribution over scenarios.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "risk/reference.hpp"
#include "support/line_of.hpp"
#include "support/transport_lp.hpp"

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;

/// Three assets, three clients.
RiskInstance toy(double epsilon) {
  RiskInstance instance;
  instance.n = instance.m = 3;
  instance.costs = {0.164, 0.163, 0.214, 0.163, 0.161, 0.232, 0.214, 0.232, 0.163};
  instance.a = {0.30, 0.15, 5.15};
  instance.scenario_losses = {-0.4, -0.1, -0.5};
  instance.settings.epsilon = epsilon;
  return instance;
}
const std::vector<double> kStress = {1.24, 0.01, 4.67};

struct Printed {
  double epsilon;
  std::vector<std::string> plan;
};
const std::vector<Printed> kPaper = {
    {0.01,
     {"5.26796e-2", "8.78775e-4", "1.30831e-5", "2.62999e-2", "4.84863e-4", "9.7693e-7", "1.30480e-1", "3.25552e-4",
      "7.88837e-1"}},
    {0.001,
     {"5.28459e-2", "7.25524e-4", "4.36e-45", "2.58220e-2", "9.63665e-4", "1.19e-53", "1.30792e-1", "1.006e-11",
      "7.88851e-1"}},
};

/// Half a unit of the last digit printed, and a little.
double rounding_of(const std::string& number) {
  const std::size_t exponent = number.find('e');
  const auto decimals = static_cast<double>(exponent - number.find('.') - 1);
  return 0.51 * std::pow(10.0, std::atof(number.c_str() + exponent + 1) - decimals);
}

void expect_plan(const RiskResult& result, const RiskInstance& instance, const std::vector<std::string>& printed) {
  ASSERT_TRUE(result.coupling.has_value());
  const Result& coupling = *result.coupling;
  ASSERT_EQ(coupling.f.size(), 3U);
  ASSERT_EQ(coupling.g.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const double mass =
          std::exp((coupling.f[i] + coupling.g[j] - instance.costs[3 * i + j]) / instance.settings.epsilon);
      const std::string& text = printed[3 * i + j];
      EXPECT_NEAR(mass, std::atof(text.c_str()), rounding_of(text)) << i << ", " << j;
    }
  }
  const double loss = (-0.4 * 1.24 - 0.1 * 0.01 - 0.5 * 4.67) / 5.92;
  EXPECT_NEAR(loss, -0.47838, 5e-6);
  EXPECT_NEAR(result.worst.loss, loss, 1e-12);
  EXPECT_NEAR(result.worst.transport_cost, coupling.cost.linear, 1e-15);
  EXPECT_EQ(result.worst.lambda, 1);
  EXPECT_EQ(result.status, Status::converged);
}

RiskOptions stress_options(const std::string& topology) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.topology = topology;
  options.options.tolerance = 1e-13;
  options.options.max_iterations = 1000000;
  options.options.backend = "cpu";
  return options;
}

std::vector<RiskProblem> toy_rows(const RiskInstance& instance) {
  return {instance.part(0, 1), instance.part(1, 2), instance.part(2, 3)};
}

class StressedToy : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Topologies, StressedToy, ::testing::Values("all-to-all", "star", "row-reduce", "async"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(StressedToy, IsThePapersPlan) {
  for (const Printed& printed : kPaper) {
    SCOPED_TRACE("epsilon " + std::to_string(printed.epsilon));
    const RiskInstance instance = toy(printed.epsilon);
    const StressMarginal stress{kStress, 1.0};
    RiskOptions options = stress_options(GetParam());
    options.options.clients = 3;
    expect_plan(stressed_plan(instance.view(), stress, options), instance, printed.plan);
  }
}

TEST_P(StressedToy, InParts) {
  for (const Printed& printed : kPaper) {
    SCOPED_TRACE("epsilon " + std::to_string(printed.epsilon));
    const RiskInstance instance = toy(printed.epsilon);
    const StressMarginal stress{kStress, 1.0};
    if (GetParam() == "star") {  // its server has all costs
      const std::string line = test::line_of<InputError>(
          [&] { (void)stressed_plan(toy_rows(instance), stress, stress_options(GetParam())); });
      EXPECT_EQ(line.find("costs: is given in parts"), 0U) << line;
      continue;
    }
    const RiskResult result = stressed_plan(toy_rows(instance), stress, stress_options(GetParam()));
    expect_plan(result, instance, printed.plan);
    EXPECT_EQ(result.client_count, 3U);
    EXPECT_EQ(result.clients.size(), 3U);
  }
}

TEST(StressedPlan, OfOneClient) {
  for (const Printed& printed : kPaper) {
    const RiskInstance instance = toy(printed.epsilon);
    expect_plan(stressed_plan(instance.view(), {kStress, 1.0}, stress_options("auto")), instance, printed.plan);
  }
}

TEST(StressedPlan, BySums) {
  for (const Printed& printed : kPaper) {
    SCOPED_TRACE("epsilon " + std::to_string(printed.epsilon));
    const RiskInstance instance = toy(printed.epsilon);
    RiskOptions options = stress_options("row-reduce");
    options.options.policy = "sums";
    options.options.tolerance = 1e-11;
    const RiskResult result = stressed_plan(toy_rows(instance), {kStress, 1.0}, options);
    expect_plan(result, instance, printed.plan);
    EXPECT_EQ(result.policy, "sums");
  }
}

// ---------------------------------------------------------------------------------------------------------------------

RiskInstance random_instance(std::size_t n, std::size_t m) {
  RiskInstance instance = testing::random_points(n, m, 2, 9);
  testing::draw_masses(instance, 4);
  instance.settings.epsilon = 0.01;
  return instance;
}

std::vector<double> random_stress(std::size_t m) {
  RiskInstance masses;
  masses.n = m;
  testing::draw_masses(masses, 8);
  return masses.a;
}

struct Ends {
  double least = 0;
  double independent = 0;
};

Ends ends_of(const RiskInstance& instance, std::vector<double> b) {
  const testing::WideProblem wide = testing::widened(instance);
  const double total = std::accumulate(b.begin(), b.end(), 0.0);
  for (double& mass : b) mass /= total;
  const std::vector<double> costs(wide.costs.begin(), wide.costs.end());
  const std::vector<double> a(wide.a.begin(), wide.a.end());
  Ends ends;
  ends.least = testing::TransportLp(costs, a, b).value;
  for (std::size_t k = 0; k < costs.size(); ++k) ends.independent += a[k / wide.m] * b[k % wide.m] * costs[k];
  return ends;
}

void search(RiskInstance instance, const RiskOptions& options, std::size_t parts) {
  const std::vector<double> b = random_stress(instance.m);
  const Ends ends = ends_of(instance, b);
  double lambda = std::numeric_limits<double>::infinity();
  for (const double share : {0.01, 0.1, 0.5, 0.99}) {
    SCOPED_TRACE("share " + std::to_string(share));
    instance.settings.radius = ends.least + share * (ends.independent - ends.least);
    std::vector<RiskProblem> problems = {instance.view()};
    if (parts > 1) {
      problems.clear();
      for (std::size_t k = 0; k < parts; ++k) {
        problems.push_back(instance.part(k * instance.n / parts, (k + 1) * instance.n / parts));
      }
    }
    const RiskResult result = stressed_plan(problems, {b, {}}, options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_TRUE(result.worst.is_binding);
    EXPECT_NEAR(result.worst.transport_cost / instance.settings.radius, 1, 1e-7);
    EXPECT_NEAR(result.coupling->cost.linear, result.worst.transport_cost, 1e-15);
    EXPECT_LT(result.worst.lambda, lambda);
    lambda = result.worst.lambda;
    double loss = 0;
    double total = 0;
    for (std::size_t j = 0; j < b.size(); ++j) {
      loss += b[j] * result.scenario_losses[j];
      total += b[j];
    }
    EXPECT_NEAR(result.worst.loss, loss / total, 1e-12);
    EXPECT_NEAR(result.largest_radius, ends.independent, 1e-12);
  }
}

TEST(StressedSearch, SpendsTheRadius) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.backend = "cpu";
  search(random_instance(12, 15), options, 1);
}

TEST(StressedSearch, OfWhitenedPoints) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.backend = "cpu";
  RiskInstance instance = random_instance(12, 15);
  instance.settings.cost = RiskCost::mahalanobis;
  search(instance, options, 1);
  search(instance, options, 3);
}

TEST(StressedSearch, BySums) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.backend = "cpu";
  options.options.policy = "sums";
  options.options.topology = "row-reduce";
  search(random_instance(12, 15), options, 3);
}

TEST(StressedSearch, AboveTheIndependentCostDoesNotBind) {
  RiskInstance instance = random_instance(12, 15);
  const std::vector<double> b = random_stress(15);
  const Ends ends = ends_of(instance, b);
  for (const double factor : {1.0001, 2.0, 1e6}) {
    instance.settings.radius = factor * ends.independent;
    const RiskResult result = stressed_plan(instance.view(), {b, {}});
    EXPECT_FALSE(result.worst.is_binding) << factor;
    EXPECT_EQ(result.worst.lambda, 0);
    EXPECT_NEAR(result.worst.transport_cost, ends.independent, 1e-6 * ends.independent);
    EXPECT_EQ(result.status, Status::converged);
  }
}

TEST(StressedSearch, BelowTheLeastCostIsRefused) {
  RiskInstance instance = random_instance(12, 15);
  const std::vector<double> b = random_stress(15);
  const Ends ends = ends_of(instance, b);
  for (const double radius : {0.0, 0.5 * ends.least, 0.999 * ends.least}) {
    instance.settings.radius = radius;
    for (const std::size_t clients : {1U, 3U}) {
      RiskOptions options;
      options.options.clients = clients;
      options.options.threads = 1;
      const std::string line = test::line_of<InputError>([&] {
        (void)stressed_plan(instance.view(), {b, {}}, options);
      });
      EXPECT_EQ(line.find("radius: "), 0U) << radius << ": " << line;
      EXPECT_EQ(line.find('\n'), std::string::npos);
    }
  }
}

TEST(StressedSearch, WithoutCosts) {
  RiskInstance instance = testing::random_costs(4, 5, 0, 3);
  std::fill(instance.costs.begin(), instance.costs.end(), 0.0);
  instance.settings.epsilon = 0.1;
  const std::vector<double> b = random_stress(5);
  for (const double radius : {0.0, 1.0}) {
    instance.settings.radius = radius;
    const RiskResult result = stressed_plan(instance.view(), {b, {}});
    EXPECT_FALSE(result.worst.is_binding);
    EXPECT_EQ(result.worst.lambda, 0);
    EXPECT_EQ(result.worst.transport_cost, 0);
    EXPECT_EQ(result.status, Status::converged);
  }
}

/// A client without days, with and without masses.
TEST(StressedPlan, WithAnEmptyPart) {
  for (const bool has_masses : {true, false}) {
    RiskInstance instance = random_instance(12, 15);
    if (!has_masses) instance.a.clear();
    const std::vector<double> b = random_stress(15);
    RiskOptions options;
    options.options.threads = 1;
    const RiskResult alone = stressed_plan(instance.view(), {b, 1.0}, options);
    std::vector<RiskProblem> parts = {instance.part(0, 5), instance.part(5, 5), instance.part(5, 12)};
    const RiskResult dealt = stressed_plan(parts, {b, 1.0}, options);
    EXPECT_NEAR(dealt.worst.transport_cost, alone.worst.transport_cost, 1e-8) << has_masses;
    EXPECT_NEAR(dealt.expected_loss, alone.expected_loss, 1e-12);
  }
}

TEST(StressedPlan, NamesTheCulprit) {
  RiskInstance instance = random_instance(4, 5);
  instance.settings.radius = 1;
  const auto line_of = [&](const std::vector<double>& b, std::optional<double> lambda = 1.0) {
    return test::line_of<InputError>([&] { (void)stressed_plan(instance.view(), {b, lambda}); });
  };
  EXPECT_EQ(line_of({1, 2}).find("stress marginal: has 2 numbers"), 0U);
  EXPECT_EQ(line_of({}).find("stress marginal: has 0 numbers"), 0U);
  EXPECT_EQ(line_of({1, 1, 1, -1, 1}).find("stress marginal: number 4 is -1"), 0U);
  EXPECT_EQ(line_of({1, 1, NAN, 1, 1}).find("stress marginal: number 3 is nan"), 0U);
  EXPECT_EQ(line_of({0, 0, 0, 0, 0}).find("stress marginal: has no mass"), 0U);
  EXPECT_EQ(line_of({1, 1, 1, 1, 1}, 0.0).find("lambda: 0 is no multiplier"), 0U);
  EXPECT_EQ(line_of({1, 1, 1, 1, 1}, -1.0).find("lambda: -1 is no multiplier"), 0U);
  EXPECT_EQ(line_of({1, 1, 1, 1, 1}, NAN).find("lambda: nan is no multiplier"), 0U);
  instance.settings.may_stay = true;
  EXPECT_EQ(line_of({1, 1, 1, 1, 1}).find("may_stay: "), 0U);
}

TEST(StressedPlan, TailOfTheStressMarginal) {
  RiskInstance instance = toy(0.01);
  instance.settings.cvar_level = 0.9;  // 0.01 / 5.92 lose 0.1, the rest of a tenth loses 0.4: losses are negative
  const RiskResult result = stressed_plan(instance.view(), {kStress, 1.0});
  const double worst = 0.01 / 5.92;
  EXPECT_NEAR(result.worst.loss, (-0.1 * worst - 0.4 * (0.1 - worst)) / 0.1, 1e-12);
}

TEST(StressedPlan, IsInterrupted) {
  const std::atomic<bool> stop = true;
  RiskInstance instance = random_instance(12, 15);
  RiskOptions options;
  options.options.interrupt = &stop;
  EXPECT_THROW((void)stressed_plan(instance.view(), {random_stress(15), 1.0}, options), Interrupted);
  std::atomic<bool> later = false;
  options.options.interrupt = &later;
  options.on_pass = [&](const RiskProgress& progress) { later = later || progress.passes == 2; };
  const std::vector<double> b = random_stress(15);
  const Ends ends = ends_of(instance, b);
  instance.settings.radius = (ends.least + ends.independent) / 2;
  EXPECT_THROW((void)stressed_plan(instance.view(), {b, {}}, options), Interrupted);
}

}  // namespace
}  // namespace fedsinkhorn
