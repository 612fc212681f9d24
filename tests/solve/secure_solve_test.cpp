// Policy sums computes what policy open does: the same rounds, the same plan, to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/hard.hpp"
#include "support/line_of.hpp"
#include "support/plans.hpp"

namespace fedsinkhorn {
namespace {

using test::line_of;
using testing::OwnedProblem;

/// Of plans, in L1 and relative to the mass; of costs, relative to mass times the largest cost.
constexpr double kSame = 1e-11;

Options with(std::size_t clients, const std::string& method = "auto") {
  Options options;
  options.clients = clients;
  options.method = method;
  options.topology = "row-reduce";
  options.threads = 1;
  options.backend = "cpu";
  options.max_iterations = 2000;
  return options;
}

Options by_sums(Options options, Server server = Server::none) {
  options.policy = "sums";
  options.server = server;
  return options;
}

/// Relative to the mass, worst target.
double distance(const Problem& problem, const Result& one, const Result& other) {
  double worst = 0;
  for (std::size_t k = 0; k < one.targets; ++k) {
    const double far =
        testing::l1_distance(testing::whole_plan(problem, one, k), testing::whole_plan(problem, other, k));
    worst = std::max(worst, far / one.mass);
  }
  return worst;
}

/// costs: about as large as the largest.
void expect_as_open(const Problem& problem, const Result& open, const Result& sums, double costs = 1,
                    double same = kSame) {
  if (open.newton.steps > 0 || sums.newton.steps > 0) {  // their systems are solved in other ways
    EXPECT_EQ(open.status, sums.status);
    if (sums.status == Status::converged) {
      EXPECT_LE(distance(problem, open, sums), 1e-7);
    }
    return;
  }
  EXPECT_EQ(open.status, sums.status);
  EXPECT_EQ(open.iterations, sums.iterations);
  EXPECT_EQ(open.levels, sums.levels);
  EXPECT_EQ(open.absorptions, sums.absorptions);
  EXPECT_LE(distance(problem, open, sums), same);
  ASSERT_EQ(open.per_target.size(), sums.per_target.size());
  for (std::size_t k = 0; k < open.per_target.size(); ++k) {
    EXPECT_EQ(open.per_target[k].status, sums.per_target[k].status) << "target " << k;
    EXPECT_EQ(open.per_target[k].iterations, sums.per_target[k].iterations) << "target " << k;
  }
  // Relative to the mass and the largest cost or epsilon. Where that is not representable, both say the same.
  const auto expect_near = [&](double x, double y, double limit) {
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    const double unit = std::max(costs, problem.epsilon) * static_cast<double>(open.targets);
    EXPECT_NEAR(x / open.mass / unit, y / open.mass / unit, limit);
  };
  expect_near(open.cost.linear, sums.cost.linear, same);
  expect_near(open.cost.objective, sums.cost.objective, 10 * same);
  expect_near(open.cost.dual, sums.cost.dual, 10 * same);
  expect_near(open.cost.kl_objective, sums.cost.kl_objective, 10 * same);
  EXPECT_NEAR(open.error.a / open.mass, sums.error.a / open.mass, same);
  EXPECT_NEAR(open.error.b / open.mass, sums.error.b / open.mass, same);
}

/// As the clients of one problem, without and with a server.
void expect_same_by_sums(const Problem& problem, const Options& options, double costs = 1, double same = kSame) {
  const Result open = solve(problem, options);
  {
    SCOPED_TRACE("sums");
    expect_as_open(problem, open, solve(problem, by_sums(options)), costs, same);
  }
  SCOPED_TRACE("sums by a server");
  expect_as_open(problem, open, solve(problem, by_sums(options, Server::sums)), costs, same);
}

// ---------------------------------------------------------------------------------------------------------------------
// Hard problems

struct Size {
  std::size_t n, m, clients;
};
constexpr Size kSolvedSizes[] = {{60, 50, 2}, {50, 60, 3}, {150, 130, 7}};

class SecureSolve : public ::testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Families, SecureSolve, ::testing::ValuesIn(hard_families()), testing::name_of_family);

std::string where(const Size& size, double epsilon, const std::string& method) {
  std::ostringstream text;
  text << size.n << " x " << size.m << ", " << size.clients << " clients, epsilon " << epsilon << ", " << method;
  return text.str();
}

TEST_P(SecureSolve, GoesTheSameWay) {
  for (const Size& size : kSolvedSizes) {
    for (const double epsilon : {1e-1, 1e-2, 1e-3, 1e-4}) {
      const OwnedProblem owned = testing::hard(GetParam(), size.n, size.m, epsilon, size.clients);
      for (const std::string method : {"auto", "sinkhorn"}) {
        SCOPED_TRACE(where(size, epsilon, method));
        Options options = with(size.clients, method);
        if (method == "sinkhorn") options.max_iterations = 200;
        const Result open = solve(owned.view(), options);
        const Result sums = solve(owned.view(), by_sums(options));
        expect_as_open(owned.view(), open, sums);
      }
    }
  }
}

// Hundreds of accelerated rounds without levels make rounding visible: counts differ by a third either way, as they do
// between topologies. The answer is the same to what the tolerance allows.
TEST_P(SecureSolve, AloneAccelerationEndsInTheSamePlace) {
  for (const Size& size : kSolvedSizes) {
    for (const double epsilon : {1e-1, 1e-2, 1e-3}) {
      SCOPED_TRACE(where(size, epsilon, "anderson"));
      const OwnedProblem owned = testing::hard(GetParam(), size.n, size.m, epsilon, size.clients);
      const Options options = with(size.clients, "anderson");
      const Result open = solve(owned.view(), options);
      const Result sums = solve(owned.view(), by_sums(options));
      EXPECT_EQ(open.status, sums.status);
      if (open.iterations <= 40) {
        expect_as_open(owned.view(), open, sums);
      } else if (open.status == Status::converged) {
        EXPECT_LE(distance(owned.view(), open, sums), 1e-7);
        EXPECT_NEAR(open.cost.objective, sums.cost.objective, 1e-9);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Awkward problems

TEST(SecureSolve, WithAnyNumberOfClients) {
  const OwnedProblem owned = testing::random_problem(40, 33, 0.05, 5);
  for (const std::size_t clients : {1U, 2U, 3U, 7U, 12U}) {
    SCOPED_TRACE(std::to_string(clients) + " clients");
    Options options = with(clients);
    if (clients == 1) options.topology = "auto";
    expect_same_by_sums(owned.view(), options);
  }
}

TEST(SecureSolve, WithUnevenAndEmptySlices) {
  const OwnedProblem owned = testing::random_problem(41, 37, 0.02, 6);
  for (const std::vector<double>& weights :
       {std::vector<double>{1, 0, 3}, {0, 0, 1}, {1, 0, 0, 0, 5, 0, 2}, {0.01, 1, 0.01}}) {
    SCOPED_TRACE("weights for " + std::to_string(weights.size()));
    Options options = with(weights.size());
    options.row_weights = weights;
    for (const std::string method : {"auto", "sinkhorn"}) {
      SCOPED_TRACE(method);
      options.method = method;
      expect_same_by_sums(owned.view(), options);
    }
  }
  // Fewer rows than clients, fewer columns than clients.
  expect_same_by_sums(testing::random_problem(2, 30, 0.1, 7).view(), with(7));
  expect_same_by_sums(testing::random_problem(30, 2, 0.1, 7).view(), with(7));
  expect_same_by_sums(testing::random_problem(1, 1, 0.1, 7).view(), with(3));
}

TEST(SecureSolve, WithWeightsOfZero) {
  OwnedProblem owned = testing::random_problem(40, 30, 0.05, 8, 3);
  for (std::size_t i = 0; i < owned.n; ++i) {
    if (i % 3 == 0 || i < 14) owned.a[i] = 0;  // all of client 0
  }
  for (std::size_t j = 0; j < owned.m; ++j) {
    if (j % 4 == 1) owned.b[j * 3] = owned.b[j * 3 + 1] = owned.b[j * 3 + 2] = 0;
    if (j > 25) owned.b[j * 3 + 2] = 0;  // of one target alone
  }
  testing::normalise(owned.a);
  for (std::size_t k = 0; k < 3; ++k) testing::normalise(owned.b, k, 3);
  for (const std::string method : {"auto", "sinkhorn", "anderson"}) {
    SCOPED_TRACE(method);
    expect_same_by_sums(owned.view(), with(3, method));
  }
}

/// Every row may go to a third of the columns; the masses are those of a plan.
OwnedProblem forbidding(std::size_t n, std::size_t m, double epsilon, bool in_blocks) {
  OwnedProblem owned = testing::random_problem(n, m, epsilon, 9);
  Random random(9, 1);
  owned.b.assign(m, 0);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::size_t> allowed;
    for (std::size_t j = 0; j < m; ++j) {
      const bool may = in_blocks ? i * 3 / n == j * 3 / m : (random.uniform() < 0.3 || i % m == j % n);
      if (may) allowed.push_back(j);
      if (!may) owned.cost[i * m + j] = testing::kInfinity;
    }
    for (const std::size_t j : allowed) owned.b[j] += owned.a[i] / static_cast<double>(allowed.size());
  }
  return owned;
}

TEST(SecureSolve, WithForbiddenPairs) {
  for (const double epsilon : {0.1, 1e-2, 1e-3}) {
    SCOPED_TRACE("epsilon " + std::to_string(epsilon));
    expect_same_by_sums(forbidding(45, 39, epsilon, false).view(), with(3));
    expect_same_by_sums(forbidding(45, 39, epsilon, true).view(), with(3));
    expect_same_by_sums(forbidding(45, 39, epsilon, true).view(), with(7));
  }
}

TEST(SecureSolve, WithSeveralTargets) {
  for (const std::size_t targets : {1U, 3U, 10U}) {
    SCOPED_TRACE(std::to_string(targets) + " targets");
    const OwnedProblem owned = testing::random_problem(50, 44, 0.02, 10, targets);
    for (const std::string method : {"auto", "sinkhorn"}) {
      SCOPED_TRACE(method);
      expect_same_by_sums(owned.view(), with(3, method));
    }
  }
}

TEST(SecureSolve, FromAnInitialG) {
  const OwnedProblem owned = testing::random_problem(50, 44, 0.02, 11);
  Random random(11, 1);
  std::vector<double> near(owned.m);
  std::vector<double> far(owned.m);
  for (double& g : near) g = 0.1 * random.normal();
  for (double& g : far) g = 50 * random.normal();
  for (const std::vector<double>& g : {near, far}) {
    Problem problem = owned.view();
    problem.initial_g = {g.data(), owned.m, 1};
    for (const std::string method : {"auto", "sinkhorn"}) {
      SCOPED_TRACE(method);
      Options options = with(3, method);
      if (method == "sinkhorn") options.max_iterations = 300;
      expect_same_by_sums(problem, options);
    }
  }
}

TEST(SecureSolve, WithEpsilonFarAboveAndBelowTheCosts) {
  for (const double epsilon : {1e6, 10.0, 1e-5}) {
    SCOPED_TRACE("epsilon " + std::to_string(epsilon));
    expect_same_by_sums(testing::point_problem(40, 35, epsilon, 12).view(), with(3));
  }
}

TEST(SecureSolve, WithAnyUnitOfMassAndCost) {
  for (const double total : {1e-290, 1e-200, 1e-3, 1e5, 1e200, 1e290}) {
    for (const double costs : {1e-150, 1.0, 1e150}) {
      std::ostringstream label;
      label << "total " << total << ", costs " << costs;
      SCOPED_TRACE(label.str());
      OwnedProblem owned = testing::random_problem(40, 33, 0.03 * costs, 13);
      for (double& a : owned.a) a *= total;
      for (double& b : owned.b) b *= total;
      for (double& c : owned.cost) c *= costs;
      expect_same_by_sums(owned.view(), with(3), costs);
      expect_same_by_sums(owned.view(), with(3, "sinkhorn"), costs);
    }
  }
}

TEST(SecureSolve, WithEveryArithmetic) {
  const OwnedProblem owned = testing::point_problem(48, 40, 0.02, 14);
  Options options = with(3);
  {
    SCOPED_TRACE("log-domain");
    Options logs = options;
    logs.stabilization = Stabilization::log;
    logs.method = "sinkhorn";
    logs.max_iterations = 300;
    expect_same_by_sums(owned.view(), logs);
  }
  for (const Passes passes : {Passes::two, Passes::fused}) {
    for (const KernelKind kernel : {KernelKind::dense, KernelKind::online}) {
      for (const Precision precision : {Precision::float64, Precision::mixed, Precision::float32}) {
        SCOPED_TRACE("kernel " + KernelName(kernel).text() + ", precision " +
                     std::to_string(static_cast<int>(precision)));
        options.passes = passes;
        options.kernel = kernel;
        options.precision = precision;
        options.tolerance = precision == Precision::float32 ? 1e-5 : precision == Precision::mixed ? 1e-7 : 1e-9;
        // Scalings in float32 are rounded to seven digits: one is rounded another way when sums differ in the last.
        expect_same_by_sums(owned.view(), options, 1, precision == Precision::float32 ? 1e-6 : kSame);
      }
    }
  }
}

TEST(SecureSolve, InOtherNormsAndWithRareChecks) {
  const OwnedProblem owned = testing::random_problem(40, 33, 0.02, 15);
  Options options = with(3);
  options.norm = Norm::l2;
  expect_same_by_sums(owned.view(), options);
  options.check_every = 7;
  expect_same_by_sums(owned.view(), options);
  options.normalize = true;
  expect_same_by_sums(owned.view(), options);
  options.tolerance = 0;
  options.max_iterations = 40;
  expect_same_by_sums(owned.view(), options);
}

// Every client has its own points and masses alone.
class SecureParts : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(PointsY, SecureParts, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "InParts" : "Whole"; });

TEST_P(SecureParts, GiveWhatTheWholeGives) {
  constexpr std::size_t n = 40, m = 33, d = 3;
  constexpr std::size_t rows[] = {0, 7, 7, 28, 40};  // the second client has none
  constexpr std::size_t columns[] = {0, 10, 12, 12, 33};
  const OwnedProblem owned = testing::random_problem(n, m, 0.1, 16, 2);
  Random random(16, 1);
  std::vector<double> x(n * d);
  std::vector<double> y(m * d);
  for (double& c : x) c = random.uniform();
  for (double& c : y) c = random.uniform();
  for (const Metric metric : {Metric::sqeuclidean, Metric::euclidean, Metric::cosine}) {
    Problem whole = owned.view();
    whole.cost = PointClouds{MatrixView<double>{x.data(), n, d}, MatrixView<double>{y.data(), m, d}, metric};
    std::vector<Problem> parts(4, whole);
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t of_y = GetParam() ? columns[k] : 0;
      const std::size_t size_y = GetParam() ? columns[k + 1] - columns[k] : m;
      parts[k].cost = PointClouds{MatrixView<double>{x.data() + rows[k] * d, rows[k + 1] - rows[k], d},
                                  MatrixView<double>{y.data() + of_y * d, size_y, d}, metric};
      parts[k].a = std::span(owned.a).subspan(rows[k], rows[k + 1] - rows[k]);
      parts[k].b = {owned.b.data() + 2 * columns[k], columns[k + 1] - columns[k], 2};
      parts[k].parts = {true, GetParam(), true, true, false};
    }
    if (!GetParam()) {  // then columns are dealt evenly
      for (std::size_t k = 0; k < 4; ++k) {
        parts[k].b = owned.view().b;
        parts[k].parts.b = false;
      }
    }
    for (const Server server : {Server::none, Server::sums}) {
      SCOPED_TRACE(std::string(name_of(server)));
      const Result open = solve(parts, with(4));
      const Result sums = solve(parts, by_sums(with(4), server));
      expect_as_open(whole, open, sums, 2);
      // Rows dealt otherwise are added up otherwise.
      expect_as_open(whole, solve(whole, with(1)), sums, 2);
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Bits

Scenario unruly(std::uint64_t seed) {
  Scenario scenario;
  scenario.seed = seed;
  scenario.latency = HeavyTailedLaw{1e-4, 1.1};
  scenario.late = {0.05, 0.5};
  scenario.compute_factor = LogNormalLaw{1, 1};
  scenario.bandwidth = LogNormalLaw{1e6, 1};
  return scenario;
}

TEST(SecureSolve, BitsDependOnNoOrderOfArrivalAndNoKeys) {
  for (const double epsilon : {0.1, 1e-3}) {
    const OwnedProblem owned = testing::point_problem(40, 70, epsilon, 17);
    for (const std::size_t clients : {2U, 3U, 7U}) {
      Options options = by_sums(with(clients));
      options.timeout = 1e5;
      const Result first = solve(owned.view(), options);
      const auto expect_bits = [&](const Result& other) {
        EXPECT_EQ(first.iterations, other.iterations);
        EXPECT_EQ(first.f, other.f);
        EXPECT_EQ(first.f_rest, other.f_rest);
        EXPECT_EQ(first.g, other.g);
        EXPECT_EQ(first.g_rest, other.g_rest);
        EXPECT_EQ(first.cost.objective, other.cost.objective);
        EXPECT_EQ(first.error.a, other.error.a);
      };
      expect_bits(solve(owned.view(), options));
      expect_bits(solve(owned.view(), by_sums(options, Server::sums)));
      options.transport = "simulated";
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        options.scenario = unruly(seed);
        expect_bits(solve(owned.view(), options));
        expect_bits(solve(owned.view(), by_sums(options, Server::sums)));
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Refusals

std::string refusal_of_options(const Options& options) {
  const OwnedProblem owned = testing::random_problem(12, 10, 0.1, 18);
  return line_of<InputError>([&] { (void)solve(owned.view(), options); });
}

void expect_refused(const Options& options, const std::string& field) {
  const std::string line = refusal_of_options(options);
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  EXPECT_EQ(line.find(field), 0U) << line;
}

TEST(SecureSolve, RefusesWhatIsNoSum) {
  for (const Server server : {Server::none, Server::sums}) {
    SCOPED_TRACE("server " + std::string(name_of(server)));
    for (const std::string& topology : testing::topologies_of_several_clients()) {
      if (topology == "row-reduce") continue;
      SCOPED_TRACE(topology);
      Options options = by_sums(with(3), server);
      options.topology = topology;
      expect_refused(options, "policy");
    }
    Options options = by_sums(with(3), server);
    options.norm = Norm::linf;
    expect_refused(options, "norm");
    options = by_sums(with(3, "sinkhorn"), server);
    options.local_steps = 2;
    expect_refused(options, "local_steps");
    expect_refused(by_sums(with(3, "overrelaxed"), server), "method");
  }
  Options options = with(3);
  options.server = Server::sums;
  expect_refused(options, "server");
  options.policy = "sum";
  expect_refused(options, "policy");
}

// Nobody can tell which pairs of the others are forbidden, so only what single lines show is refused.
TEST(SecureSolve, RefusesLinesWithoutAllowedPairs) {
  OwnedProblem owned = testing::random_problem(12, 10, 0.1, 19);
  for (std::size_t i = 0; i < owned.n; ++i) owned.cost[i * owned.m + 4] = testing::kInfinity;
  const auto line = [&](Server server) {
    return line_of<InputError>([&] { (void)solve(owned.view(), by_sums(with(3), server)); });
  };
  for (const Server server : {Server::none, Server::sums}) EXPECT_NE(line(server).find("column 4"), std::string::npos);
  owned = testing::random_problem(12, 10, 0.1, 19);
  for (std::size_t j = 0; j < owned.m; ++j) owned.cost[9 * owned.m + j] = testing::kInfinity;
  for (const Server server : {Server::none, Server::sums}) EXPECT_NE(line(server).find("row 9"), std::string::npos);
}

}  // namespace
}  // namespace fedsinkhorn
