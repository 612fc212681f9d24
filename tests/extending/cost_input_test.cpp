// A cost input in one file: costs that are computed when they are asked for, from nothing that the engine knows of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {
namespace {

/// Hours on a clock: the shorter way round, squared. Night trips from midnight to two are forbidden.
class AroundTheClock final : public CostFunction {
 public:
  [[nodiscard]] std::size_t rows() const override { return 24; }
  [[nodiscard]] std::size_t columns() const override { return 24; }
  void fill(std::size_t row, std::size_t first, std::span<double> out) const override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = cost(row, first + k);
  }
  static double cost(std::size_t from, std::size_t to) {
    if (from == 0 && to == 2) return std::numeric_limits<double>::infinity();
    const double way = std::abs(static_cast<double>(from) - static_cast<double>(to));
    return std::pow(std::min(way, 24 - way) / 12, 2);
  }
};

TEST(AToyCostInput, GivesTheBitsOfTheMatrixWithTheSameNumbers) {
  std::vector<double> matrix;
  for (std::size_t i = 0; i < 24; ++i) {
    for (std::size_t j = 0; j < 24; ++j) matrix.push_back(AroundTheClock::cost(i, j));
  }
  std::vector<double> a(24);
  for (std::size_t i = 0; i < 24; ++i) a[i] = static_cast<double>(i + 1) / 300;
  for (const std::size_t clients : {1, 3}) {
    Options options;
    options.clients = clients;
    Problem problem;
    problem.epsilon = 0.01;
    problem.a = a;
    problem.cost = CostMatrix{MatrixView<double>{matrix.data(), 24, 24}};
    const Result expected = solve(problem, options);
    problem.cost = std::make_shared<AroundTheClock>();
    const Result result = solve(problem, options);
    EXPECT_EQ(result.status, Status::converged);
    EXPECT_EQ(result.f, expected.f);
    EXPECT_EQ(result.g, expected.g);
    EXPECT_EQ(result.cost.linear, expected.cost.linear);
  }
}

}  // namespace
}  // namespace fedsinkhorn
