#include "simd/simd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/environment.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::cpu {
namespace {

using testing::kInfinity;
using testing::kNan;

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
std::vector<S> random_padded_rows(std::size_t rows, std::size_t columns, Random& random) {
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
    const std::vector<S> kernel = random_padded_rows<S>(rows, columns, random);
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

// ---------------------------------------------------------------------------------------------------------------------
// Loops that take several vectors at once, bit by bit against obvious ones.

constexpr std::array<std::size_t, 17> kAwkwardSizes = {0,  1,  3,  4,   5,   7,   8,    15,  16,
                                                       17, 31, 33, 511, 512, 515, 1000, 1003};

void expect_same_bits(const std::vector<double>& x, const std::vector<double>& y, const std::string& what) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(x[j]), std::bit_cast<std::uint64_t>(y[j])) << what << ", " << j;
  }
}

ExactSum obvious_dot(const std::vector<double>& x, const std::vector<double>& y) {
  std::array<ExactSum, 4> lanes;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const volatile double product = x[j] * y[j];  // rounded before it is added
    lanes[j % lanes.size()].add(product);
  }
  for (std::size_t lane = 1; lane < lanes.size(); ++lane) lanes[0].add(lanes[lane]);
  return lanes[0];
}

void check_exact_dots(const Simd& simd, std::size_t size, const std::vector<double>& odd) {
  Random random(size + 1);
  std::vector<std::vector<double>> vectors(6, std::vector<double>(size));
  for (auto& values : vectors) {
    for (double& x : values) x = random.uniform(-1, 1) * std::exp(random.uniform(-30, 30));
  }
  for (std::size_t k = 0; k < odd.size() && size > 0; ++k) vectors[1][(7 * k) % size] = odd[k];
  for (std::size_t pairs = 1; pairs <= 5; ++pairs) {
    std::vector<DotPair> asked;
    for (std::size_t k = 0; k < pairs; ++k) asked.push_back({vectors[k].data(), vectors[k + 1].data()});
    std::vector<ExactSum> sums(pairs);
    simd.sums.exact_dots(asked.data(), pairs, size, sums.data());
    for (std::size_t k = 0; k < pairs; ++k) {
      const ExactSum expected = obvious_dot(vectors[k], vectors[k + 1]);
      if (std::isnan(expected.value)) {
        EXPECT_TRUE(std::isnan(sums[k].value));
      } else if (std::isinf(expected.value)) {
        EXPECT_EQ(sums[k].value, expected.value);
      } else {
        expect_same_bits({sums[k].value, sums[k].rest}, {expected.value, expected.rest}, std::to_string(size));
      }
    }
  }
}

TEST_P(EveryVariant, ExactDotsAreThoseOfTheObviousLoop) {
  for (const std::size_t size : kAwkwardSizes) {
    check_exact_dots(simd_, size, {});
    check_exact_dots(simd_, size, {0.0, -0.0});
    check_exact_dots(simd_, size, {kInfinity});
    check_exact_dots(simd_, size, {0.0, kNan});
  }
}

template <class T>
void check_magnitudes(double (*largest)(const T*, std::size_t)) {
  Random random(5);
  for (const std::size_t size : kAwkwardSizes) {
    std::vector<T> values(size);
    for (T& x : values) x = static_cast<T>(random.uniform(-1, 1));
    T expected = 0;
    for (const T x : values) expected = std::max(expected, std::abs(x));
    EXPECT_EQ(largest(values.data(), size), static_cast<double>(expected));
    for (std::size_t j = 0; j < size; j += 1 + size / 9) {
      for (const double odd : {kInfinity, -kInfinity, kNan}) {
        std::vector<T> spoiled = values;
        spoiled[j] = static_cast<T>(odd);
        EXPECT_TRUE(std::isnan(largest(spoiled.data(), size))) << size << ", " << j;
      }
    }
  }
}

TEST_P(EveryVariant, TheLargestMagnitudeIsFoundWhereverItIs) {
  check_magnitudes<double>(simd_.magnitudes.largest64);
  check_magnitudes<float>(simd_.magnitudes.largest32);
}

/// Rows of costs, some of them infinite, and what else belongs to rows and columns. Padding is as it has to be.
struct PlanCase {
  PlanCase(std::size_t row_count, std::size_t column_count, std::uint64_t seed)
      : columns(column_count), stride((column_count + kPanel - 1) / kPanel * kPanel) {
    Random random(seed);
    for (std::size_t i = 0; i < row_count; ++i) {
      phi.push_back(random.uniform(-0.1, 0.1));
      u.push_back(random.uniform(0.1, 1));
      costs.emplace_back();
      for (std::size_t j = 0; j < columns; ++j) {
        costs.back().push_back(random.uniform() < 0.1 ? kInfinity : random.uniform(-0.2, 1));
      }
    }
    psi.assign(stride, -kInfinity);
    v.assign(stride, 0.0);
    for (std::size_t j = 0; j < columns; ++j) {
      psi[j] = random.uniform(-0.1, 0.1);
      v[j] = random.uniform(0.1, 1);
    }
  }
  [[nodiscard]] std::size_t rows() const { return phi.size(); }

  std::size_t columns, stride;
  std::vector<std::vector<double>> costs;
  std::vector<double> phi, psi, u, v;
};

void check_plan_dots(const Simd& simd, const PlanCase& plan, double inverse_epsilon) {
  const std::size_t rows = plan.rows();
  std::vector<const double*> pointers;
  std::vector<double> padded(rows * plan.stride);
  for (std::size_t i = 0; i < rows; ++i) {
    pointers.push_back(plan.costs[i].data());
    std::copy(plan.costs[i].begin(), plan.costs[i].end(), padded.data() + i * plan.stride);
  }
  std::vector<PlanDots> dots(rows);
  std::vector<double> r(plan.stride, 0.25);
  simd.log.plan_dots(pointers.data(), rows, plan.columns, plan.phi.data(), plan.psi.data(), inverse_epsilon,
                     plan.v.data(), plan.u.data(), dots.data(), r.data());

  std::vector<std::vector<double>> values(4, std::vector<double>(rows * plan.stride));
  for (std::size_t i = 0; i < rows; ++i) {  // vector by vector
    for (std::size_t j = 0; j < plan.stride; j += kRowPadding<double>) {
      const std::size_t at = i * plan.stride + j;
      simd.log.plan_rows(
          padded.data() + at, 0, 1, kRowPadding<double>, plan.phi.data() + i, plan.psi.data() + j, inverse_epsilon,
          {values[0].data() + at, values[1].data() + at, values[2].data() + at, values[3].data() + at, 0});
    }
  }
  std::vector<double> sums(4 * rows);
  for (std::size_t kind = 0; kind < 4; ++kind) {
    simd.float64.streaming().dot_rows(values[kind].data(), plan.stride, rows, plan.stride, plan.v.data(),
                                      sums.data() + kind * rows);
  }
  std::vector<double> expected_r(plan.stride, 0.25);
  simd.float64.streaming().add_rows(values[0].data(), plan.stride, rows, plan.stride, plan.u.data(), expected_r.data());
  std::vector<double> found(4 * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::array of_row = {dots[i].kernel, dots[i].logarithm, dots[i].cost, dots[i].divergence};
    for (std::size_t kind = 0; kind < 4; ++kind) found[kind * rows + i] = of_row[kind];
  }
  const std::string what = std::to_string(rows) + " x " + std::to_string(plan.columns);
  expect_same_bits(found, sums, what);
  expect_same_bits(r, expected_r, what);
}

TEST_P(EveryVariant, SumsOverAPlanAreThoseOfItsValues) {
  for (const std::size_t columns : kAwkwardSizes) {
    for (const std::size_t rows : {1U, 2U, 3U, 8U}) {
      // Nearly all exponents are small, some are, none is, and values vanish.
      for (const double inverse_epsilon : {0.1, 10.0, 1000.0, 5000.0}) {
        check_plan_dots(simd_, PlanCase(rows, columns, columns + rows), inverse_epsilon);
      }
    }
  }
}

TEST_P(EveryVariant, LogSumsOfRowsNeedNoPadding) {
  for (const std::size_t columns : kAwkwardSizes) {
    const PlanCase plan(1, columns, columns);
    std::vector<double> padded(plan.stride);
    std::copy(plan.costs[0].begin(), plan.costs[0].end(), padded.begin());
    for (const double inverse_epsilon : {1.0, 1000.0}) {
      const double sum = simd_.log.row_log_sum_exp(plan.costs[0].data(), columns, plan.psi.data(), inverse_epsilon);
      expect_same_bits({sum}, {simd_.log.row_log_sum_exp(padded.data(), plan.stride, plan.psi.data(), inverse_epsilon)},
                       std::to_string(columns));
    }
  }
}

// Alone a column keeps its maximum far more often than among others.
TEST_P(EveryVariant, LogSumsOfColumnsDoNotDependOnTheOthers) {
  for (const std::size_t columns : kAwkwardSizes) {
    const PlanCase plan(40, columns, columns);
    for (const double inverse_epsilon : {1.0, 1000.0}) {
      std::vector<double> maximum(plan.stride, -kInfinity);
      std::vector<double> sum(plan.stride, 0.0);
      std::vector<double> maximum_alone(plan.stride * kPanel, -kInfinity);
      std::vector<double> sum_alone(plan.stride * kPanel, 0.0);
      for (std::size_t i = 0; i < plan.rows(); ++i) {
        const double weight = std::log(plan.u[i]);
        simd_.log.column_log_sum_exp(plan.costs[i].data(), columns, plan.phi[i], weight, inverse_epsilon,
                                     maximum.data(), sum.data());
        for (std::size_t j = 0; j < columns; ++j) {
          simd_.log.column_log_sum_exp(&plan.costs[i][j], 1, plan.phi[i], weight, inverse_epsilon,
                                       &maximum_alone[j * kPanel], &sum_alone[j * kPanel]);
        }
      }
      for (std::size_t j = 0; j < columns; ++j) {
        expect_same_bits({maximum[j], sum[j]}, {maximum_alone[j * kPanel], sum_alone[j * kPanel]},
                         std::to_string(columns));
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn::cpu
