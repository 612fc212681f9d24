// Masses, epsilon and costs at the ends of what a double can hold.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/line_of.hpp"
#include "support/plans.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using Number = boost::multiprecision::cpp_bin_float_50;

Options one_thread() {
  Options options;
  options.threads = 1;
  options.tolerance = 1e-12;
  return options;
}

OwnedProblem of_mass(OwnedProblem owned, double mass) {
  for (double& x : owned.a) x *= mass;
  for (double& x : owned.b) x *= mass;
  return owned;
}

std::string complaint_about(const OwnedProblem& owned, const Options& options = {}) {
  return test::line_of<InputError>([&] { (void)solve(owned.view(), options); }, "");
}

/// exp((f_i + g_j - C_ij) / epsilon) as documented, in fifty digits; with or without the rests.
std::vector<double> plan_by_formula(const OwnedProblem& owned, const Result& result, bool with_rests) {
  std::vector<double> plan;
  for (std::size_t i = 0; i < owned.n; ++i) {
    for (std::size_t j = 0; j < owned.m; ++j) {
      Number sum = Number(result.f[i]) + result.g[j] - owned.cost[i * owned.m + j];
      if (with_rests) sum += Number(result.f_rest[i]) + result.g_rest[j];
      plan.push_back(exp(sum / owned.epsilon).convert_to<double>());
    }
  }
  return plan;
}

// ---------------------------------------------------------------------------------------------------------------------
// Total masses

struct NamedChoice {
  std::string name;
  std::function<void(Options&)> choose;
};

const std::vector<NamedChoice>& ways() {
  static const std::vector<NamedChoice> all = {
      {"Auto", [](Options&) {}},
      {"Plain", [](Options& options) { options.method = "sinkhorn"; }},
      {"Log", [](Options& options) { options.stabilization = Stabilization::log; }},
      {"Digits50", [](Options& options) { options.precision = Precision::digits50; }},
      {"Online", [](Options& options) { options.kernel = KernelKind::online; }},
      {"AllToAll", [](Options& options) { options.clients = 2; }},
      {"Star", [](Options& options) { options.clients = 3, options.topology = "star"; }},
      {"Grid", [](Options& options) { options.clients = 4, options.topology = "grid"; }},
      {"RowReduce", [](Options& options) { options.clients = 3, options.topology = "row-reduce"; }},
      {"Async",
       [](Options& options) {
         options.clients = 2, options.topology = "async", options.transport = "simulated";
         options.max_iterations = 100000;
       }},
  };
  return all;
}

class TotalMass : public ::testing::TestWithParam<NamedChoice> {};
INSTANTIATE_TEST_SUITE_P(Ways, TotalMass, ::testing::ValuesIn(ways()),
                         [](const auto& info) { return info.param.name; });

TEST_P(TotalMass, ScalesTheResultAndNothingElse) {
  const OwnedProblem unit = testing::random_problem(6, 7, 0.1, 4);
  Options options = one_thread();
  GetParam().choose(options);
  const Result expected = solve(unit.view(), options);
  ASSERT_EQ(expected.status, Status::converged);
  const std::vector<double> expected_plan = testing::whole_plan(unit.view(), expected);
  for (const double mass : {1e-300, 1e-295, 1e-100, 1e-3, 1e5, 1e100, 1e295, 1e298, 1e299, 1e300}) {
    SCOPED_TRACE(mass);
    const OwnedProblem owned = of_mass(unit, mass);
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.mass / mass, 1, 1e-14);
    EXPECT_LE(result.error.a, options.tolerance * result.mass);
    EXPECT_LE(result.error.b, options.tolerance * result.mass);
    const std::vector<double> plan = testing::whole_plan(owned.view(), result);
    const std::vector<double> by_formula = plan_by_formula(owned, result, true);
    for (std::size_t k = 0; k < plan.size(); ++k) {
      EXPECT_NEAR(plan[k] / mass, expected_plan[k], 1e-11 * expected_plan[k] + 1e-12) << k;
      EXPECT_NEAR(by_formula[k] / plan[k], 1, 1e-12) << k;
    }
    EXPECT_NEAR(result.cost.linear / mass, expected.cost.linear, 1e-10);
    const double shannon = expected.cost.shannon_entropy - std::log(mass);
    EXPECT_NEAR(result.cost.shannon_entropy / mass, shannon, 1e-10 * std::abs(shannon));
    EXPECT_NEAR(result.cost.entropy / mass, shannon + 1, 1e-10 * std::abs(shannon));
    const double objective = expected.cost.linear - owned.epsilon * (shannon + 1);
    EXPECT_NEAR(result.cost.objective / mass, objective, 1e-10 * (1 + std::abs(objective)));
    EXPECT_NEAR(result.cost.dual / mass, objective, 1e-9 * (1 + std::abs(objective)));
    ASSERT_FALSE(result.trace.empty());
    EXPECT_LE(result.trace.back().error_b, 2 * options.tolerance * result.mass);  // one half-step earlier
  }
}

TEST(TotalMass, KeepsTheGauge) {
  const double mass = 1e250;
  const OwnedProblem owned = of_mass(testing::random_problem(6, 7, 0.1, 4), mass);
  const Result balanced = solve(owned.view(), one_thread());
  double f_a = 0;
  double g_b = 0;
  for (std::size_t i = 0; i < owned.n; ++i) f_a += balanced.f[i] * (owned.a[i] / mass);
  for (std::size_t j = 0; j < owned.m; ++j) g_b += balanced.g[j] * (owned.b[j] / mass);
  EXPECT_NEAR(f_a, g_b, 1e-11);

  Options plain = one_thread();
  plain.method = "sinkhorn";
  const Result small = solve(testing::random_problem(6, 7, 0.1, 4).view(), plain);
  const Result large = solve(owned.view(), plain);
  for (std::size_t j = 0; j < owned.m; ++j) EXPECT_NEAR(large.g[j], small.g[j], 1e-12) << j;
  for (std::size_t i = 0; i < owned.n; ++i) {
    EXPECT_NEAR(large.f[i], small.f[i] + owned.epsilon * std::log(mass), 1e-11) << i;
  }
}

TEST(TotalMass, MayBeTooSmallForAllDigits) {
  const double mass = 1e-310;
  const OwnedProblem owned = of_mass(testing::random_problem(6, 7, 0.1, 4), mass);
  const Result result = solve(owned.view(), one_thread());
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_NEAR(result.cost.linear / mass, solve(testing::random_problem(6, 7, 0.1, 4).view(), one_thread()).cost.linear,
              1e-9);
}

TEST(TotalMass, BesideTinyMasses) {
  OwnedProblem owned = of_mass(testing::random_problem(5, 5, 0.1, 4), 1e250);
  owned.a[2] = owned.b[3] = 1e-100;
  const double total = owned.a[0] + owned.a[1] + owned.a[3] + owned.a[4];
  const double total_b = owned.b[0] + owned.b[1] + owned.b[2] + owned.b[4];
  for (const std::size_t j : {0, 1, 2, 4}) owned.b[j] *= total / total_b;
  const Result result = solve(owned.view(), one_thread());
  EXPECT_EQ(result.status, Status::converged);
  const std::vector<double> plan = testing::whole_plan(owned.view(), result);
  double row = 0;
  for (std::size_t j = 0; j < 5; ++j) row += plan[2 * 5 + j];
  EXPECT_NEAR(row / 1e-100, 1, 1e-9);

  owned.a[2] = 1e-308;
  for (double& mass : owned.b) mass *= 1e50;
  for (const std::size_t i : {0, 1, 3, 4}) owned.a[i] *= 1e50;
  const std::string complaint = complaint_about(owned);
  EXPECT_NE(complaint.find("too far apart"), std::string::npos) << complaint;
}

TEST(TotalMass, ComplaintsNameTheMassesGiven) {
  OwnedProblem owned = testing::random_problem(2, 2, 0.1, 4);
  owned.cost = {0, testing::kInfinity, testing::kInfinity, 0};
  owned.a = {2.5e-200, 7.5e-200};
  owned.b = {5e-200, 5e-200};
  const std::string complaint = complaint_about(owned);
  EXPECT_NE(complaint.find("mass 7.5e-200 but"), std::string::npos) << complaint;
  owned.a[0] = 5e-200;
  EXPECT_NE(complaint_about(owned).find("1.25e-199"), std::string::npos) << complaint_about(owned);
}

// ---------------------------------------------------------------------------------------------------------------------
// Totals that are rounded

TEST(Normalize, MakesTotalsOfOne) {
  OwnedProblem owned = testing::random_problem(6, 7, 0.1, 4, 2);
  const auto round = [](double& mass) { mass = std::round(mass * 100) / 100; };
  for (double& mass : owned.a) round(mass);
  for (double& mass : owned.b) round(mass);
  owned.a[0] += 0.02;  // whatever rounding has done: the totals differ
  const std::string complaint = complaint_about(owned);
  EXPECT_NE(complaint.find("total mass of target 0"), std::string::npos) << complaint;
  EXPECT_NE(complaint.find("`normalize`"), std::string::npos) << complaint;

  Options options = one_thread();
  options.normalize = true;
  const Result one = solve(owned.view(), options);
  EXPECT_EQ(one.status, Status::converged);
  EXPECT_NEAR(one.mass, 1, 1e-14);
  std::vector<double> a = owned.a;
  testing::normalise(a);
  for (const std::size_t k : {0, 1}) {
    std::vector<double> b;
    for (std::size_t j = 0; j < owned.m; ++j) b.push_back(owned.b[2 * j + k]);
    testing::normalise(b);
    EXPECT_LT(testing::plan_error(testing::whole_plan(owned.view(), one, k), a, b), 3e-12);
  }
  options.clients = 3;
  options.topology = "row-reduce";
  const Result three = solve(owned.view(), options);
  EXPECT_EQ(three.mass, one.mass);
  EXPECT_NEAR(three.cost.linear, one.cost.linear, 1e-10);
}

// ---------------------------------------------------------------------------------------------------------------------
// Epsilon

TEST(LargeEpsilon, IsRightOrRefused) {
  OwnedProblem owned = testing::random_problem(6, 7, 1e289, 4);
  const Result result = solve(owned.view(), one_thread());
  EXPECT_EQ(result.status, Status::converged);
  double linear = 0;
  for (std::size_t i = 0; i < owned.n; ++i) {
    EXPECT_TRUE(std::isfinite(result.f[i]));
    for (std::size_t j = 0; j < owned.m; ++j) linear += owned.a[i] * owned.b[j] * owned.cost[i * owned.m + j];
  }
  EXPECT_NEAR(result.cost.linear, linear, 1e-14);
  for (const double epsilon : {1e291, 1e308}) {
    owned.epsilon = epsilon;
    const std::string complaint = complaint_about(owned);
    EXPECT_NE(complaint.find("epsilon: "), std::string::npos) << complaint;
    EXPECT_NE(complaint.find("too large"), std::string::npos) << complaint;
  }
}

/// Two pairs of rows and columns that are cheap for each other, up to a few units in the last place: at an epsilon of
/// that size all four entries of a pair have mass, and the last digits of the potentials decide how much.
OwnedProblem nearly_tied(double epsilon) {
  OwnedProblem owned = testing::random_problem(4, 4, epsilon, 4);
  const double unit = std::nextafter(600.0, 700.0) - 600;
  owned.cost = {600 + 3 * unit, 600,  900, 1000,           600, 600 + 9 * unit, 950, 980, 930, 970, 610,
                610 + 7 * unit, 1000, 940, 610 - 5 * unit, 610};
  owned.a = {0.2, 0.3, 0.1, 0.4};
  owned.b = {0.35, 0.15, 0.25, 0.25};
  return owned;
}

TEST(SmallEpsilon, FiftyDigitsAndFloat64Agree) {
  for (const double costs_per_epsilon : {7e8, 7.6e8, 1e9, 1e12, 1e15, 1e16}) {
    SCOPED_TRACE(costs_per_epsilon);
    const OwnedProblem owned = nearly_tied(1000 / costs_per_epsilon);
    Options options = one_thread();
    const Result fast = solve(owned.view(), options);
    options.precision = Precision::digits50;
    const Result precise = solve(owned.view(), options);
    EXPECT_EQ(fast.status, Status::converged);
    EXPECT_EQ(precise.status, Status::converged);
    const std::vector<double> plan = testing::whole_plan(owned.view(), precise);
    EXPECT_LT(testing::plan_error(plan, owned.a, owned.b), 3e-12);
    EXPECT_LT(testing::l1_distance(testing::whole_plan(owned.view(), fast), plan), 1e-11);
    EXPECT_NEAR(fast.cost.linear, precise.cost.linear, 1e-9);
    EXPECT_NEAR(fast.cost.shannon_entropy, precise.cost.shannon_entropy, 1e-10);
  }
}

TEST(SmallEpsilon, IsRefusedBeyondWhatPotentialsCanHold) {
  for (const auto& choose : {+[](Options&) {}, +[](Options& options) { options.precision = Precision::digits50; },
                             +[](Options& options) { options.stabilization = Stabilization::log; },
                             +[](Options& options) { options.clients = 2; }}) {
    for (const double costs_per_epsilon : {1.1e17, 1e19, 1e25, 1e200}) {
      Options options = one_thread();
      choose(options);
      const std::string complaint = complaint_about(nearly_tied(1000 / costs_per_epsilon), options);
      EXPECT_NE(complaint.find("epsilon: "), std::string::npos) << complaint;
      EXPECT_NE(complaint.find("too small beside costs up to 1000"), std::string::npos) << complaint;
    }
  }
}

TEST(SmallEpsilon, IsMeasuredByDistancesNotByTheOrigin) {
  // Squared coordinates are 1e20 times epsilon, squared distances 1e4 times.
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t i = 0; i < 5; ++i) {
    x.push_back(1e8 + static_cast<double>(i));
    y.push_back(1e8 + 0.25 + static_cast<double>(4 - i));
  }
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), 5, 1}, MatrixView<double>{y.data(), 5, 1}};
  problem.epsilon = 1e-3;
  for (const std::size_t clients : {1, 3}) {
    Options options = one_thread();
    options.clients = clients;
    const Result result = solve(problem, options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_NEAR(result.cost.linear, 0.0625, 1e-9);
  }
  problem.epsilon = 1e-18;
  EXPECT_THROW((void)solve(problem, one_thread()), InputError);
}

// ---------------------------------------------------------------------------------------------------------------------
// Potentials rounded to float64

TEST(Rests, AreSaidToMatterWhereTheyDo) {
  const OwnedProblem owned = nearly_tied(1e-12);
  for (const std::size_t clients : {1, 2}) {
    Options options = one_thread();
    options.tolerance = 1e-9;
    options.clients = clients;
    const Result result = solve(owned.view(), options);
    ASSERT_EQ(result.status, Status::converged);
    const double without = testing::plan_error(plan_by_formula(owned, result, false), owned.a, owned.b);
    EXPECT_GT(without, 1e-3);
    EXPECT_LE(without, result.rounding_error + result.error.a + result.error.b);
    EXPECT_TRUE(result.rests_matter);
    EXPECT_LT(testing::plan_error(plan_by_formula(owned, result, true), owned.a, owned.b), 2e-9);
    EXPECT_LT(testing::plan_error(testing::whole_plan(owned.view(), result), owned.a, owned.b), 2e-9);
    EXPECT_LT(result.error_floor, 1e-14);
  }
}

TEST(Rests, DoNotMatterAtOrdinaryEpsilon) {
  const OwnedProblem owned = testing::random_problem(6, 7, 0.01, 4);
  const Result result = solve(owned.view(), one_thread());
  EXPECT_FALSE(result.rests_matter);
  EXPECT_LT(result.rounding_error, 1e-13);
  EXPECT_LT(testing::l1_distance(plan_by_formula(owned, result, false), testing::whole_plan(owned.view(), result)),
            1e-13);
}

TEST(Rests, TheLogDomainHasNoneAndSaysHowFarItGets) {
  const OwnedProblem owned = nearly_tied(1e-9);
  Options options = one_thread();
  options.stabilization = Stabilization::log;
  options.max_iterations = 100;
  const Result result = solve(owned.view(), options);
  EXPECT_GT(result.error_floor, 1e-5);
  EXPECT_FALSE(result.rests_matter);
}

}  // namespace
}  // namespace fedsinkhorn
