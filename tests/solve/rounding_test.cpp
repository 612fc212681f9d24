// Who has converged on the kernel as stored, but not on the costs as given.
#include "solve/rounding.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kFloor = 6e-8;  // of float32

Status status_with(double error_on_exact_costs, const Options& options, Status status = Status::converged) {
  const CheckedProblem problem;  // of mass 1
  std::vector<Outcome> outcomes(1);
  outcomes[0].status = status;
  const std::vector<Evaluation> evaluations = {{{}, {0, error_on_exact_costs}}};
  require_exact_errors(problem, options, kFloor, evaluations, outcomes);
  return outcomes[0].status;
}

TEST(ExactErrors, MustBearOutThatARunHasConverged) {
  Options options;
  options.backend = "cpu";
  options.precision = Precision::mixed;
  options.tolerance = 1e-9;
  EXPECT_EQ(status_with(1e-7, options), Status::converged);
  options.tolerance = 1e-3;
  EXPECT_EQ(status_with(1e-3, options), Status::converged);
  options.tolerance = 1e-9;
  for (const double error : {1e-6, 1.0, 1e246, testing::kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(status_with(error, options), Status::diverged) << error;
    EXPECT_EQ(status_with(error, options, Status::iteration_limit), Status::iteration_limit) << error;
  }
}

TEST(ExactErrors, MayBeLargerWhereExponentsAreRounded) {
  Options options;
  options.backend = "cuda";
  options.kernel = KernelKind::online;
  options.precision = Precision::tf32;
  EXPECT_EQ(status_with(1e-3, options), Status::converged);
  EXPECT_EQ(status_with(testing::kInfinity, options), Status::diverged);
}

}  // namespace
}  // namespace fedsinkhorn
