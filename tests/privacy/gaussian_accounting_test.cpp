// What Gaussian noise guarantees, against a table, 80 digits and convolved privacy losses.
#include "privacy/gaussian_accounting.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

namespace fedsinkhorn::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double mu_of(double sensitivity, double sigma, double count) {
  return composed_mu(std::array{GaussianRelease{sensitivity, sigma, count}});
}

TEST(GaussianAccounting, AgreesWithTheTable) {
  struct Row {
    double sigma, sensitivity, releases, delta, exact, tight, order, papers;
  };
  constexpr std::array kTable = {
      Row{1, 1, 1, 1e-5, 4.377178096, 4.728507067, 5.4, 5.298526139},
      Row{10, 1, 100, 1e-5, 4.377178096, 4.728507067, 5.4, 5.298526139},
      Row{4.530877117, 1, 1, 1e-6, 0.927392338, 1.000000290, 22, 1.184545532},
      Row{40, 2, 200, 1e-6, 3.307600723, 3.542361232, 7.9, 3.966960886},
      Row{4, 2, 50, 1e-6, 22.424515827, 23.703890514, 2.4, 24.835340372},
      Row{1, 0.01, 1000, 1e-9, 1.788024827, 1.881734788, 20, 2.086163292},
      Row{20, 2, 1, 1e-5, 0.340669365, 0.375291222, 41, 0.484852614},
      Row{0.5, 1, 10, 1e-5, 46.211210191, 48.801692825, 1.7, 50.391156831},
  };
  for (const Row& row : kTable) {
    SCOPED_TRACE(row.exact);
    const double mu = mu_of(row.sensitivity, row.sigma, row.releases);
    EXPECT_NEAR(exact_epsilon(mu, row.delta), row.exact, 1e-9);
    const RenyiBound tight = renyi_epsilon(mu, row.delta, Conversion::tight);
    EXPECT_NEAR(tight.epsilon, row.tight, 1e-9);
    EXPECT_EQ(tight.order, row.order);
    EXPECT_FALSE(tight.is_at_end);
    EXPECT_NEAR(renyi_epsilon(mu, row.delta, Conversion::papers).epsilon, row.papers, 1e-9);
  }
}

TEST(GaussianAccounting, CalibratesAsTheAnalyticMechanism) {
  EXPECT_NEAR(calibrated_sigma(1, 1e-5, 1, 1), 3.7306316348, 1e-10);
  EXPECT_NEAR(calibrated_sigma(1, 1e-6, 1, 1), 4.2246788893, 1e-10);
  EXPECT_NEAR(calibrated_sigma(0.5, 1e-6, 1, 1), 8.0576184807, 1e-10);
  EXPECT_NEAR(calibrated_sigma(3, 1e-6, 1, 1), 1.5438614178, 1e-10);
  EXPECT_NEAR(calibrated_sigma(1, 1e-5, 2, 9), 6 * 3.7306316348, 1e-9);
}

TEST(GaussianAccounting, IsRightWhereFormulasOverflowOrCancel) {
  struct Row {
    double mu, epsilon, delta;  // the formula with 80 digits
  };
  constexpr std::array kRows = {
      Row{1e-08, 0, 3.9894228040143268e-9},
      Row{1e-08, 3e-08, 3.8215432278003884e-12},
      Row{0.001, 0.02, 1.3837811770864424e-93},
      Row{0.25, 1, 2.9242721048564073e-6},
      Row{7.9, 60.0, 8.9019738929203066e-5},
      Row{8.1, 60.0, 0.00027011688182911641},
      Row{8.1, 0.125, 0.99994548498429117},
      Row{30, 500.0, 0.044652092298350787},
      Row{1000.0, 502000.0, 0.022696248801734397},
      Row{1000000.0, 500005000000.0, 2.8665008516711274e-7},
      Row{100000000.0, 5000000400000000.0, 3.1671240494817717e-5},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.mu);
    EXPECT_NEAR(exact_delta(row.mu, row.epsilon) / row.delta, 1, 1e-12);
    EXPECT_NEAR(exact_epsilon(row.mu, row.delta), row.epsilon, 1e-12 * std::max(row.mu, row.epsilon));
  }
}

TEST(GaussianAccounting, HasNoSurprisesAtTheEnds) {
  EXPECT_EQ(composed_mu({}), 0);
  EXPECT_EQ(mu_of(0, 0, 3), 0);
  EXPECT_EQ(mu_of(1, 0, 1), kInfinity);
  EXPECT_EQ(mu_of(1, kInfinity, 1), 0);
  EXPECT_EQ(mu_of(kInfinity, 1, 1), kInfinity);
  EXPECT_DOUBLE_EQ(mu_of(1e200, 1, 4), 2e200);
  EXPECT_DOUBLE_EQ(mu_of(1e-200, 1, 4), 2e-200);
  EXPECT_EQ(exact_epsilon(0, 1e-6), 0);
  EXPECT_EQ(exact_epsilon(1e-8, 1e-6), 0);
  EXPECT_EQ(exact_epsilon(kInfinity, 1e-6), kInfinity);
  EXPECT_EQ(exact_epsilon(1e200, 1e-6), kInfinity);
  EXPECT_EQ(exact_delta(0, 0), 0);
  EXPECT_EQ(exact_delta(kInfinity, 1), 1);
  EXPECT_EQ(exact_delta(1, 1e300), 0);
  EXPECT_EQ(calibrated_sigma(1, 1e-6, 0, 5), 0);
  EXPECT_GT(calibrated_sigma(1e15, 1e-6, 1e-320, 1), 0);
  EXPECT_EQ(calibrated_sigma(1e-300, 1e-300, 1e300, 1), kInfinity);
}

TEST(GaussianAccounting, RefusesWhatHasNoMeaning) {
  const double nan = std::nan("");
  EXPECT_THROW((void)mu_of(-1, 1, 1), std::invalid_argument);
  EXPECT_THROW((void)mu_of(1, nan, 1), std::invalid_argument);
  EXPECT_THROW((void)mu_of(1, 1, -1), std::invalid_argument);
  EXPECT_THROW((void)exact_delta(-1, 1), std::invalid_argument);
  EXPECT_THROW((void)exact_delta(1, -1), std::invalid_argument);
  EXPECT_THROW((void)exact_epsilon(nan, 0.1), std::invalid_argument);
  EXPECT_THROW((void)exact_epsilon(1, 0), std::invalid_argument);
  EXPECT_THROW((void)renyi_epsilon(1, 1, Conversion::tight), std::invalid_argument);
  EXPECT_THROW((void)calibrated_mu(0, 0.1), std::invalid_argument);
  EXPECT_THROW((void)calibrated_sigma(1, 0.1, 1, 0.5), std::invalid_argument);
}

TEST(GaussianAccounting, SaysWhenTheBestOrderIsAtAnEnd) {
  for (const Conversion conversion : {Conversion::tight, Conversion::papers}) {
    EXPECT_TRUE(renyi_epsilon(100, 1e-6, conversion).is_at_end);
    EXPECT_EQ(renyi_epsilon(100, 1e-6, conversion).order, 1.1);
    EXPECT_TRUE(renyi_epsilon(1e-3, 1e-6, conversion).is_at_end);
    EXPECT_EQ(renyi_epsilon(1e-3, 1e-6, conversion).order, 1024);
    EXPECT_FALSE(renyi_epsilon(1, 1e-6, conversion).is_at_end);
  }
}

/// Powers of ten between those two.
class Sweep {
 public:
  double power(double least, double most) {
    return std::pow(10.0, std::uniform_real_distribution<double>(least, most)(engine_));
  }

 private:
  std::mt19937_64 engine_{7};
};

TEST(GaussianAccounting, RenyiBoundsAreNeverBelowTheExactValue) {
  Sweep sweep;
  for (int k = 0; k < 4000; ++k) {
    const double mu = sweep.power(-8, k % 2 == 0 ? 8 : 2);
    const double delta = sweep.power(k % 3 == 0 ? -300 : -12, -0.01);
    const double exact = exact_epsilon(mu, delta);
    const double tight = renyi_epsilon(mu, delta, Conversion::tight).epsilon;
    ASSERT_GE(tight, exact * (1 - 1e-12)) << mu << ' ' << delta;
    ASSERT_GE(renyi_epsilon(mu, delta, Conversion::papers).epsilon, tight) << mu << ' ' << delta;
    if (exact > 0) {
      // Of large numbers a rounding error moves delta by more than its share.
      ASSERT_NEAR(exact_delta(mu, exact) / delta, 1, 1e-11 + 1e-13 * mu) << mu << ' ' << delta;
    }
  }
}

TEST(GaussianAccounting, CalibratedNoiseKeepsTheBudgetAndWastesNone) {
  Sweep sweep;
  for (int k = 0; k < 1000; ++k) {
    const double epsilon = sweep.power(-6, 6);
    const double delta = sweep.power(-30, -0.1);
    const double sensitivity = sweep.power(-20, 20);
    const double releases = std::floor(sweep.power(0, 9));
    const double sigma = calibrated_sigma(epsilon, delta, sensitivity, releases);
    ASSERT_LE(exact_epsilon(mu_of(sensitivity, sigma, releases), delta), epsilon);
    ASSERT_GT(exact_epsilon(mu_of(sensitivity, sigma * (1 - 1e-11), releases), delta), epsilon)
        << epsilon << ' ' << delta;
    ASSERT_LE(exact_epsilon(calibrated_mu(epsilon, delta), delta), epsilon);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The slow way: densities of privacy losses on a lattice, one per release, convolved.

struct Density {
  long first = 0;  ///< in steps
  std::vector<double> values;
};

/// The loss of a release is N(mu^2/2, mu^2).
Density loss_density(double mu, double step) {
  const double mean = mu * mu / 2;
  constexpr double kReach = 12;
  Density density{std::lround((mean - kReach * mu) / step), {}};
  for (long k = density.first; static_cast<double>(k) * step < mean + kReach * mu; ++k) {
    const double z = (static_cast<double>(k) * step - mean) / mu;
    density.values.push_back(std::exp(-z * z / 2) / (mu * std::sqrt(2 * std::numbers::pi)));
  }
  return density;
}

Density convolved(const Density& x, const Density& y, double step) {
  Density sum{x.first + y.first, std::vector<double>(x.values.size() + y.values.size() - 1)};
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    for (std::size_t j = 0; j < y.values.size(); ++j) sum.values[i + j] += step * x.values[i] * y.values[j];
  }
  return sum;
}

/// The mean of (1 - e^{epsilon - loss})+ for epsilon = at * step, by Simpson's rule from there on.
double delta_of(const Density& loss, long at, double step) {
  const auto first = static_cast<std::size_t>(at - loss.first);
  double sum = 0;
  for (std::size_t k = first; k < loss.values.size(); ++k) {
    const double excess = static_cast<double>(k - first) * step;
    sum += ((k - first) % 2 == 0 ? 2 : 4) * -std::expm1(-excess) * loss.values[k];
  }
  return sum * step / 3;
}

TEST(GaussianAccounting, UnequalReleasesComposeAsTheirLossesConvolve) {
  const std::vector<std::vector<GaussianRelease>> cases = {
      {{1, 2, 1}, {1, 4, 3}, {0.5, 1, 2}},
      {{1, 1, 1}, {2, 1, 1}, {0.3, 1, 4}},
      {{0.1, 1, 5}, {0.2, 1.5, 4}, {0.05, 0.3, 3}, {1, 7, 1}},
  };
  for (const std::vector<GaussianRelease>& releases : cases) {
    const double mu = composed_mu(releases);
    const double step = mu / 200;
    Density loss;
    for (const GaussianRelease& release : releases) {
      const Density one = loss_density(release.sensitivity / release.sigma, step);
      for (int k = 0; k < static_cast<int>(release.count); ++k) {
        loss = loss.values.empty() ? one : convolved(loss, one, step);
      }
    }
    for (const double target : {0.0, 1.0, 3.0, 5.0}) {  // in deviations from the mean of the loss
      const long at = std::lround((mu * mu / 2 + target * mu) / step);
      const double epsilon = static_cast<double>(at) * step;
      const double delta = delta_of(loss, at, step);
      EXPECT_NEAR(exact_delta(mu, epsilon) / delta, 1, 1e-6) << mu << ' ' << epsilon;
      EXPECT_NEAR(exact_epsilon(mu, delta), epsilon, 1e-6) << mu << ' ' << delta;
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
