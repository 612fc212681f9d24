#include "backend/cpu/simd.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/environment.hpp"

namespace fedsinkhorn::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class EveryVariant : public ::testing::TestWithParam<std::string> {
 protected:
  const Simd& simd_ = simd(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Simd, EveryVariant, ::testing::ValuesIn(simd_variants()),
                         [](const auto& info) { return info.param; });

TEST_P(EveryVariant, IsTheOneAskedFor) { EXPECT_EQ(simd_.name, GetParam()); }

TEST(SimdChoice, AnUnknownNameListsTheKnownOnes) {
  try {
    (void)simd("mmx");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos);
  }
}

// A run of the tests under a forced variant would otherwise pass without having tested it.
TEST(SimdChoice, AutoIsTheBestUnlessTheEnvironmentSaysOtherwise) {
  const std::string forced = testing::variable(kForcedSimd);
  EXPECT_EQ(simd("auto").name, forced.empty() ? simd_variants().front() : forced);
  {
    const testing::ScopedVariable unset(kForcedSimd, "");
    EXPECT_EQ(simd("auto").name, simd_variants().front());
  }
  for (const std::string& variant : simd_variants()) {
    const testing::ScopedVariable set(kForcedSimd, variant);
    EXPECT_EQ(simd("auto").name, variant);
    EXPECT_STREQ(simd("baseline").name, "baseline");  // an explicit choice is not overruled
  }
}

TEST(SimdChoice, AVariableThatCannotBeIsRefusedByName) {
  const testing::ScopedVariable set(kForcedSimd, "mmx");
  try {
    (void)simd("auto");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("FEDSINKHORN_SIMD: this machine cannot run the variant 'mmx'; one of "),
              0U)
        << error.what();
  }
}

template <class S>
std::vector<S> random_rows(std::size_t rows, std::size_t columns, Random& random) {
  std::vector<S> values(rows * padded<S>(columns));
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) values[i * padded<S>(columns) + j] = static_cast<S>(random.uniform());
  }
  return values;
}

template <class S, class V>
void check_loops(const RowLoops<S, V>& loops, double tolerance) {
  Random random(7);
  for (const std::size_t columns : {1U, 7U, 8U, 9U, 16U, 17U, 100U, 2048U, 5001U}) {
    const std::size_t stride = padded<S>(columns);
    const std::size_t rows = 15;
    const std::vector<S> kernel = random_rows<S>(rows, columns, random);
    std::vector<V> v(stride);
    for (std::size_t j = 0; j < columns; ++j) v[j] = static_cast<V>(random.uniform());
    std::vector<double> u(rows);
    for (double& x : u) x = static_cast<double>(static_cast<V>(random.uniform()));

    std::vector<double> q(rows);
    loops.dot_rows(kernel.data(), stride, rows, stride, v.data(), q.data());
    std::vector<double> r(stride, 1.0);
    loops.add_rows(kernel.data(), stride, rows, stride, u.data(), r.data());
    for (std::size_t i = 0; i < rows; ++i) {
      long double exact = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        exact += static_cast<long double>(kernel[i * stride + j]) * static_cast<long double>(v[j]);
      }
      EXPECT_NEAR(q[i] / static_cast<double>(exact), 1, tolerance) << columns;
      // One row at a time gives the same bits: the order of additions does not depend on the company.
      double alone = 0;
      loops.dot_rows(kernel.data() + i * stride, stride, 1, stride, v.data(), &alone);
      EXPECT_EQ(alone, q[i]);
    }
    std::vector<double> one_by_one(stride, 1.0);
    for (std::size_t i = 0; i < rows; ++i) {
      loops.add_rows(kernel.data() + i * stride, stride, 1, stride, u.data() + i, one_by_one.data());
    }
    for (std::size_t j = 0; j < columns; ++j) {
      long double exact = 1;
      for (std::size_t i = 0; i < rows; ++i) exact += static_cast<long double>(kernel[i * stride + j]) * u[i];
      EXPECT_NEAR(r[j] / static_cast<double>(exact), 1, 1e-14);
      EXPECT_EQ(one_by_one[j], r[j]);
    }
  }
}

/// However memory is asked, which no result shows.
template <class S, class V>
void check_products(const ProductOps<S, V>& ops, double tolerance) {
  for (const Asking asking : kAskings) check_loops(ops.asking(asking), tolerance);
}

TEST_P(EveryVariant, ProductsInFloat64) { check_products(simd_.float64, 1e-14); }
TEST_P(EveryVariant, ProductsOfFloat32StorageSumInFloat64) { check_products(simd_.mixed, 1e-14); }
TEST_P(EveryVariant, ProductsInFloat32SumColumnsInFloat64) { check_products(simd_.float32, 3e-5); }

TEST_P(EveryVariant, ExponentialsAreAccurateToTheLastPlaces) {
  using Wide = boost::multiprecision::cpp_bin_float_50;
  Random random(3);
  const std::size_t columns = 64;
  std::vector<double> cost(columns);
  std::vector<double> psi(columns);
  for (int round = 0; round < 200; ++round) {
    for (std::size_t j = 0; j < columns; ++j) {
      cost[j] = random.uniform(-600, 600);
      psi[j] = 0;
    }
    const double phi = 0;
    std::vector<double> out(columns);
    simd_.gibbs64.gibbs_rows(cost.data(), columns, 1, columns, &phi, psi.data(), 1, out.data(), columns);
    for (std::size_t j = 0; j < columns; ++j) {
      const auto exact = exp(Wide(-cost[j])).convert_to<double>();
      EXPECT_NEAR(out[j] / exact, 1, 4e-16) << -cost[j];
    }
    for (double& x : cost) x /= 8;  // float32 takes exponents up to 88
    std::vector<float> narrow(columns);
    simd_.gibbs32.gibbs_rows(cost.data(), columns, 1, columns, &phi, psi.data(), 1, narrow.data(), columns);
    for (std::size_t j = 0; j < columns; ++j) {
      EXPECT_NEAR(static_cast<double>(narrow[j]) / std::exp(-cost[j]), 1, 3e-7) << -cost[j];
    }
  }
}

TEST_P(EveryVariant, ExponentialsOfExtremesAreZeroOrFinite) {
  const std::vector<double> cost = {kInfinity, 1e300, 5000, 701, -5000, -1e300, 0, 690.5};
  const std::vector<double> psi(8, 0.0);
  const double phi = 0;
  std::vector<double> out(8);
  simd_.gibbs64.gibbs_rows(cost.data(), 8, 1, 8, &phi, psi.data(), 1, out.data(), 8);
  for (const std::size_t j : {0U, 1U, 2U, 3U, 7U}) EXPECT_EQ(out[j], 0);
  for (const std::size_t j : {4U, 5U}) EXPECT_TRUE(std::isfinite(out[j]) && out[j] > 1e300);
  EXPECT_EQ(out[6], 1);

  const std::vector<double> costs(16, kInfinity);
  const std::vector<double> potentials(16, -kInfinity);
  std::vector<float> narrow(16, 7.0F);
  simd_.gibbs32.gibbs_rows(costs.data(), 16, 1, 16, &phi, potentials.data(), 1, narrow.data(), 16);
  for (const float x : narrow) EXPECT_EQ(x, 0.0F);
}

TEST_P(EveryVariant, LogSumsSurviveTinyEpsilonAndForbiddenPairs) {
  const std::size_t columns = 16;
  std::vector<double> cost(columns, kInfinity);
  const std::vector<double> psi(columns, 0.0);
  EXPECT_EQ(simd_.log.row_log_sum_exp(cost.data(), columns, psi.data(), 1e6), -kInfinity);
  cost[3] = 2;
  cost[5] = 2;
  cost[9] = 7;
  EXPECT_NEAR(simd_.log.row_log_sum_exp(cost.data(), columns, psi.data(), 1e6), -2e6 + std::log(2.0), 1e-9);

  std::vector<double> maximum(columns, -kInfinity);
  std::vector<double> sum(columns, 0.0);
  std::vector<double> row(columns, kInfinity);
  simd_.log.column_log_sum_exp(row.data(), columns, 0, 0, 1e6, maximum.data(), sum.data());
  EXPECT_EQ(sum[0], 0);
  row[0] = 1;
  simd_.log.column_log_sum_exp(row.data(), columns, 0, 0, 1e6, maximum.data(), sum.data());
  row[0] = 0.5;
  simd_.log.column_log_sum_exp(row.data(), columns, 0, std::log(3.0), 1e6, maximum.data(), sum.data());
  EXPECT_NEAR(maximum[0] + std::log(sum[0]), -0.5e6 + std::log(3.0), 1e-9);
  EXPECT_EQ(sum[1], 0);
}

}  // namespace
}  // namespace fedsinkhorn::cpu
