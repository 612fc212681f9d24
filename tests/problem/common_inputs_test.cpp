// What clients were given whole is compared, whoever of them has something else.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "comm/transports.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "solve/client_solve.hpp"
#include "support/line_of.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using test::line_of;
using testing::OwnedProblem;

constexpr std::size_t kRows = 12;
constexpr std::size_t kColumns = 9;

/// What one client was given.
struct Given {
  OwnedProblem costs = testing::random_problem(kRows, kColumns, 0.1, 41);
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> g = std::vector<double>(kColumns, 0.25);

  Given() {
    Random random(42);
    for (std::size_t k = 0; k < kRows * 2; ++k) x.push_back(random.uniform());
    for (std::size_t k = 0; k < kColumns * 2; ++k) y.push_back(random.uniform());
  }
  [[nodiscard]] Problem view(bool has_points) const {
    Problem problem = costs.view();
    problem.initial_g = {g.data(), kColumns, 1};
    if (has_points) {
      problem.cost = PointClouds{MatrixView<double>{x.data(), kRows, 2}, MatrixView<double>{y.data(), kColumns, 2}};
    }
    return problem;
  }
};

struct Difference {
  std::string name;
  bool has_points;
  std::function<void(Given&)> make;
};

std::vector<Difference> differences() {
  return {{"cost", false, [](Given& given) { given.costs.cost.back() += 1e-9; }},
          {"points x", true, [](Given& given) { given.x.front() += 1e-9; }},
          {"points y", true, [](Given& given) { given.y[5] += 1e-9; }},
          {"a", false, [](Given& given) { std::swap(given.costs.a[0], given.costs.a[7]); }},
          {"b", true, [](Given& given) { std::swap(given.costs.b[0], given.costs.b[7]); }},
          {"initial g", false, [](Given& given) { given.g[3] = 0.5; }}};
}

Result solve_given(const std::vector<Given>& given, bool has_points, const Options& options, const Parts& parts = {}) {
  std::vector<Problem> problems;
  for (const Given& one : given) {
    problems.push_back(one.view(has_points));
    problems.back().parts = parts;
  }
  std::vector<Result> results(given.size());
  run_on_threads(given.size(), Seconds(60), [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    results[me] = solve_as_client(problems[me], options, communicator, GivenBy::each_client);
  });
  return results[0];
}

TEST(CommonInputs, ThatDifferAreRefusedByName) {
  for (const std::string policy : {"open", "sums"}) {
    for (const std::string topology : {"row-reduce", "all-to-all", "grid"}) {
      for (const Difference& difference : differences()) {
        if (policy == "sums" && topology != "row-reduce") continue;
        SCOPED_TRACE(difference.name + ", " + topology + ", " + policy);
        Options options;
        options.topology = topology;
        options.policy = policy;
        std::vector<Given> given(4);
        EXPECT_EQ(solve_given(given, difference.has_points, options).status, Status::converged);
        difference.make(given[2]);
        const std::string line = line_of<InputError>([&] { (void)solve_given(given, difference.has_points, options); });
        EXPECT_EQ(line.find(difference.name + ": client 2 has others than client 0"), 0U) << line;
      }
    }
  }
}

// The server's costs are all that counts.
TEST(CommonInputs, OfAStarAreThoseOfTheServer) {
  Options options;
  options.topology = "star";
  std::vector<Given> given(3);
  const Result expected = solve_given(given, false, options);
  given[1].costs.cost.assign(kRows * kColumns, 7);
  EXPECT_EQ(solve_given(given, false, options).f, expected.f);
}

TEST(CommonInputs, ThatAreDeclaredToBePartsMayDiffer) {
  std::vector<Given> given(2);
  given[1].x.front() = 0.75;
  Parts parts;
  parts.rows = parts.a = true;
  Options options;
  options.normalize = true;
  const Result result = solve_given(given, true, options, parts);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.rows, 2 * kRows);
}

}  // namespace
}  // namespace fedsinkhorn
