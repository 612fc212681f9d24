#include "iteration/potentials.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/random.hpp"

namespace fedsinkhorn {
namespace {

TEST(Potentials, SumsOnTheGridAreExact) {
  Random random(1);
  for (const double scale : {1e-12, 1.0, 3.7, 1e9}) {
    const double grid = exact_grid(scale);
    for (int round = 0; round < 1000; ++round) {
      const double x = round_to_grid(random.uniform(-scale, scale), grid);
      const double y = round_to_grid(random.uniform(-scale, scale), grid);
      const long double exact = static_cast<long double>(x) + static_cast<long double>(y);
      EXPECT_EQ(static_cast<long double>(x + y), exact);
    }
    EXPECT_LE(grid, scale * 1e-15);
  }
}

TEST(Potentials, JoinAndSplitKeepMoreDigitsThanADouble) {
  const double epsilon = 1e-6;
  const std::vector<double> base = {1.25, -0.75, 0};
  const std::vector<double> scaling = {0.3, 17, 0};
  const Potential potential = join(base, scaling, epsilon);
  EXPECT_EQ(potential.value[2], -std::numeric_limits<double>::infinity());
  const long double exact = 1.25L + 1e-6L * std::log(0.3L);
  const long double kept = static_cast<long double>(potential.value[0]) + static_cast<long double>(potential.rest[0]);
  EXPECT_NEAR(static_cast<double>((kept - exact) / 1e-6L), 0, 1e-14);

  std::vector<double> base_again(3);
  std::vector<double> scaling_again(3);
  const std::vector<double> mass = {0.25, 0.5, 0};
  split(potential, mass, epsilon, exact_grid(2), base_again, scaling_again);
  for (std::size_t i = 0; i < 2; ++i) {
    const double difference = (base_again[i] - base[i]) / epsilon + std::log(scaling_again[i]) - std::log(scaling[i]);
    EXPECT_NEAR(difference, 0, 1e-12);
    EXPECT_NEAR(scaling_again[i], mass[i], 1e-6);
  }
  EXPECT_EQ(scaling_again[2], 0);
}

}  // namespace
}  // namespace fedsinkhorn
