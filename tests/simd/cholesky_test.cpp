// Against loops over all entries.
#include "simd/cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/random.hpp"

namespace fedsinkhorn::cpu {
namespace {

using Vector = std::vector<double>;

/// On both sides of a tile, and several tiles with a rest.
class EverySize : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Cholesky, EverySize, ::testing::Values(1, 2, 127, 128, 129, 300));

Vector random_rows(std::size_t count, std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Vector rows(count * size);
  for (double& x : rows) x = random.uniform(-1, 1);
  return rows;
}

/// The lower triangle of B' B.
Vector gram_by_hand(const Vector& rows, std::size_t size) {
  Vector gram;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < rows.size(); k += size) sum += rows[k + i] * rows[k + j];
      gram.push_back(sum);
    }
  }
  return gram;
}

double entry(const Vector& triangle, std::size_t i, std::size_t j) {
  return i < j ? entry(triangle, j, i) : triangle[i * (i + 1) / 2 + j];
}

Vector times(const Vector& triangle, const Vector& x) {
  Vector product(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) product[i] += entry(triangle, i, j) * x[j];
  }
  return product;
}

void expect_near(const Vector& values, const Vector& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) ASSERT_NEAR(values[k], expected[k], tolerance) << k;
}

/// Half of it is the identity, so that it is well conditioned.
Vector positive_triangle(std::size_t size) {
  Vector triangle = gram_by_hand(random_rows(size + 3, size, 7), size);
  for (double& x : triangle) x /= static_cast<double>(size);
  for (std::size_t i = 0; i < size; ++i) triangle[i * (i + 1) / 2 + i] += 1;
  return triangle;
}

TEST(Cholesky, TwoByTwo) {
  SymmetricMatrix matrix(2);
  matrix.set_triangle(Vector{4, 2, 10});
  ASSERT_TRUE(matrix.factorize(1));
  EXPECT_EQ(matrix.triangle(), (Vector{2, 1, 3}));
  Vector x = {8, 22};  // 4 + 2 * 2, 2 + 10 * 2
  matrix.solve(x);
  expect_near(x, {1, 2}, 1e-15);
}

TEST_P(EverySize, GramIsTheSumOverTheRows) {
  const std::size_t size = GetParam();
  const Vector first = random_rows(11, size, 1);
  const Vector second = random_rows(150, size, 2);
  Vector expected = gram_by_hand(first, size);
  const Vector more = gram_by_hand(second, size);
  for (std::size_t k = 0; k < expected.size(); ++k) expected[k] += more[k];
  Vector alone;
  for (const int threads : {1, 3}) {
    SymmetricMatrix matrix(size);
    EXPECT_EQ(matrix.size(), size);
    matrix.add_gram(first.data(), 11, threads);
    matrix.add_gram(first.data(), 0, threads);
    matrix.add_gram(second.data(), 150, threads);
    expect_near(matrix.triangle(), expected, 1e-12);
    if (threads == 1) alone = matrix.triangle();
    EXPECT_EQ(matrix.triangle(), alone) << threads << " threads";
  }
}

TEST_P(EverySize, TheTriangleIsWhatWasSet) {
  const Vector triangle = positive_triangle(GetParam());
  SymmetricMatrix matrix(GetParam());
  matrix.set_triangle(triangle);
  EXPECT_EQ(matrix.triangle(), triangle);
  EXPECT_EQ(matrix.row(GetParam() - 1)[0], triangle[GetParam() * (GetParam() - 1) / 2]);
}

TEST_P(EverySize, SolvesWhatItFactorized) {
  const std::size_t size = GetParam();
  const Vector triangle = positive_triangle(size);
  const Vector expected = random_rows(1, size, 3);
  const Vector right_side = times(triangle, expected);
  Vector factor;
  Vector solution;
  for (const int threads : {1, 3}) {
    SymmetricMatrix matrix(size);
    // What is above the diagonal is nobody's business.
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = i + 1; j < size; ++j) matrix.row(i)[j] = std::numeric_limits<double>::quiet_NaN();
    }
    matrix.set_triangle(triangle);
    ASSERT_TRUE(matrix.factorize(threads));
    Vector x = right_side;
    matrix.solve(x);
    expect_near(x, expected, 1e-12);
    if (threads == 1) {
      factor = matrix.triangle();
      solution = x;
    }
    EXPECT_EQ(matrix.triangle(), factor) << threads << " threads";
    EXPECT_EQ(x, solution) << threads << " threads";
  }
}

// L L' = A, entry by entry.
TEST_P(EverySize, TheFactorIsTheOne) {
  const std::size_t size = GetParam();
  const Vector triangle = positive_triangle(size);
  SymmetricMatrix matrix(size);
  matrix.set_triangle(triangle);
  ASSERT_TRUE(matrix.factorize(3));
  Vector product;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k <= j; ++k) sum += matrix.row(i)[k] * matrix.row(j)[k];
      product.push_back(sum);
    }
  }
  expect_near(product, triangle, 1e-13);
}

// Wherever the first pivot that is not positive lies.
TEST_P(EverySize, RefusesWhatIsNotPositiveDefinite) {
  const std::size_t size = GetParam();
  const Vector triangle = positive_triangle(size);
  for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
    for (const double pivot : {-1.0, 0.0}) {
      Vector spoilt = triangle;
      spoilt[at * (at + 1) / 2 + at] = pivot;
      SymmetricMatrix matrix(size);
      matrix.set_triangle(spoilt);
      EXPECT_FALSE(matrix.factorize(2)) << "at " << at << ": " << pivot;
    }
  }
}

// As after a stop request, when products with the kernel are not numbers.
TEST_P(EverySize, RefusesWhatIsNotANumber) {
  const std::size_t size = GetParam();
  for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
    Vector spoilt = positive_triangle(size);
    spoilt[at * (at + 1) / 2] = std::numeric_limits<double>::quiet_NaN();
    SymmetricMatrix matrix(size);
    matrix.set_triangle(spoilt);
    EXPECT_FALSE(matrix.factorize(2)) << "row " << at;
  }
}

}  // namespace
}  // namespace fedsinkhorn::cpu
