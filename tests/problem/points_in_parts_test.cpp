// Points that every client has a part of.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

struct Clouds {
  std::vector<double> x;  // rows x 2
  std::vector<double> y;  // columns x 2
};

Clouds random_clouds(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  Random random(seed);
  Clouds clouds{std::vector<double>(2 * rows), std::vector<double>(2 * columns)};
  for (auto* cloud : {&clouds.x, &clouds.y}) {
    for (double& coordinate : *cloud) coordinate = random.uniform();
  }
  return clouds;
}

Problem with(const Clouds& clouds, std::size_t dimension = 2) {
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{clouds.x.data(), clouds.x.size() / dimension, dimension},
                             MatrixView<double>{clouds.y.data(), clouds.y.size() / dimension, dimension}};
  problem.epsilon = 0.1;
  problem.parts.rows = true;
  problem.parts.columns = true;
  return problem;
}

Options by(const char* topology) {
  Options options;
  options.topology = topology;
  options.threads = 1;
  return options;
}

std::string refusal(const std::vector<Problem>& clients, const Options& options) {
  return test::line_of<InputError>([&] { (void)solve(clients, options); }, "");
}

std::vector<Clouds> three_parts() { return {random_clouds(5, 4, 1), random_clouds(0, 3, 2), random_clouds(6, 0, 3)}; }

std::vector<Problem> problems_of(const std::vector<Clouds>& parts) {
  std::vector<Problem> problems;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    problems.push_back(with(parts[k]));
    problems.back().names.x = "X-" + std::to_string(k);
    problems.back().names.y = "Y-" + std::to_string(k);
  }
  return problems;
}

TEST(PointsInParts, RowsAndColumnsOfTheirOwnGiveThePotentialsOfTheWhole) {
  const std::vector<Clouds> parts = three_parts();
  Clouds whole;
  for (const Clouds& part : parts) {
    whole.x.insert(whole.x.end(), part.x.begin(), part.x.end());
    whole.y.insert(whole.y.end(), part.y.begin(), part.y.end());
  }
  Problem together = with(whole);
  together.parts = {};
  const Result expected = solve(together, by("centralized"));
  const Result result = solve(problems_of(parts), by("row-reduce"));
  ASSERT_EQ(result.f.size(), expected.f.size());
  for (std::size_t i = 0; i < result.f.size(); ++i) EXPECT_NEAR(result.f[i], expected.f[i], 1e-9);
  for (std::size_t j = 0; j < result.g.size(); ++j) EXPECT_NEAR(result.g[j], expected.g[j], 1e-9);
}

TEST(PointsInParts, AllToAllRefusesRowsWhoseColumnsNobodyKnows) {
  const std::vector<Clouds> parts = three_parts();
  const std::string line = refusal(problems_of(parts), by("all-to-all"));
  EXPECT_NE(line.find("all-to-all and async need all costs of a column"), std::string::npos) << line;
  EXPECT_NE(line.find("row-reduce"), std::string::npos) << line;
}

TEST(PointsInParts, ABadCoordinateIsNamedByItsOwner) {
  std::vector<Clouds> parts = three_parts();
  parts[1].y[3] = NAN;
  EXPECT_EQ(refusal(problems_of(parts), by("row-reduce")).find("Y-1: coordinate 1 of point 1 is nan"), 0U);
}

TEST(PointsInParts, AnEmptyPartOfAnotherDimensionIsRefused) {
  const std::vector<Clouds> parts = three_parts();
  std::vector<Problem> problems = problems_of(parts);
  const Clouds empty;
  problems[1] = with(empty, 3);
  const std::string line = refusal(problems, by("row-reduce"));
  EXPECT_NE(line.find("coordinates"), std::string::npos) << line;
}

TEST(PointsInParts, ClientsWithDifferentMetricsAreRefused) {
  const std::vector<Clouds> parts = three_parts();
  std::vector<Problem> problems = problems_of(parts);
  std::get<PointClouds>(problems[2].cost).metric = Metric::euclidean;
  EXPECT_EQ(refusal(problems, by("row-reduce")).find("metric: "), 0U);
}

}  // namespace
}  // namespace fedsinkhorn
