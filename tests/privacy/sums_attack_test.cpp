// What an ordinary client can work out about the others under policy sums, from sums it has unmasked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/random.hpp"
#include "io/sums_report.hpp"
#include "privacy/attackers.hpp"
#include "privacy/insider.hpp"
#include "privacy/rows_from_sums.hpp"

namespace fedsinkhorn {
namespace {

using testing::FoundRows;
using testing::InsiderSolve;
using testing::kInsider;
using testing::OwnedProblem;
using testing::Vectors;

double greatest_difference(std::span<const double> x, std::span<const double> y) {
  double greatest = 0;
  for (std::size_t j = 0; j < x.size(); ++j) greatest = std::max(greatest, std::abs(x[j] - y[j]));
  return greatest;
}

/// What an attack got of the others' rows.
struct Loot {
  std::size_t rows = 0;       ///< of the others, but for those that are guessed
  std::size_t recovered = 0;  ///< ten times closer than any guess
  double error = 0;           ///< the greatest of a share of the mass of a row
  double mass_error = 0;      ///< the greatest, relative
};

/// Guesses at a row: all of it goes to one column, or it is shared out like the whole plan.
double error_of_guess(std::span<const double> shares, std::span<const double> columns) {
  double least = greatest_difference(shares, columns);
  const double total = std::reduce(shares.begin(), shares.end());
  for (const double share : shares) least = std::min(least, std::max(total - share, 0.0));
  return least;
}

Loot loot(const OwnedProblem& owned, const InsiderSolve& solved, std::size_t own_rows,
          const std::optional<FoundRows>& found) {
  Loot loot;
  if (!found) return loot;
  std::vector<double> truth = testing::plan_rows(owned, solved.psi, found->v, {own_rows, owned.n});
  std::vector<double> columns(owned.m);
  for (std::size_t k = 0; k < truth.size(); ++k) columns[k % owned.m] += truth[k];
  const double mass = std::reduce(columns.begin(), columns.end());
  for (double& x : columns) x /= mass;
  for (std::size_t i = 0; i < owned.n - own_rows; ++i) {
    const std::span<double> shares = std::span(truth).subspan(i * owned.m, owned.m);
    const double a = owned.a[own_rows + i];
    for (double& x : shares) x /= a;
    const double guessed = error_of_guess(shares, columns);
    if (guessed < 1e-3) continue;
    ++loot.rows;
    double error = 1;
    double mass_error = 1;
    for (std::size_t k = 0; k < found->shares.size(); ++k) {
      const double difference = greatest_difference(found->shares[k], shares);
      if (!(difference < error)) continue;
      error = difference;
      mass_error = std::abs(found->masses[k] / a - 1);
    }
    if (error < guessed / 10) ++loot.recovered;
    loot.error = std::max(loot.error, error);
    loot.mass_error = std::max(loot.mass_error, mass_error);
  }
  return loot;
}

bool is_warned(const Result& result) { return are_rows_determined({result.sums, result.client_count}); }

Options asked(bool share_matrices) {
  Options options;
  options.share_matrices = share_matrices;
  return options;
}

// ---------------------------------------------------------------------------------------------------------------------
// Two sums of matrices give every row and mass of the others away, if these rows are at most as many as the columns.

struct Size {
  std::vector<std::size_t> rows;  // of each client
  std::size_t columns;
  double epsilon;
};

const std::vector<Size>& sizes() {
  static const std::vector<Size> all = {{{12, 12, 12, 12}, 50, 0.005},
                                        {{25, 25, 25, 25}, 100, 0.002},
                                        {{0, 30, 70}, 100, 0.001},
                                        {{50, 50, 50, 50}, 200, 0.001}};
  return all;
}

OwnedProblem problem_of(const Size& size) {
  OwnedProblem owned =
      testing::random_problem(std::reduce(size.rows.begin(), size.rows.end()), size.columns, size.epsilon, 17);
  std::ranges::fill(owned.a, 1.0 / static_cast<double>(owned.n));
  std::ranges::fill(owned.b, 1.0 / static_cast<double>(owned.m));
  return owned;
}

class Insider : public ::testing::TestWithParam<std::tuple<std::size_t, std::string>> {
 protected:
  const Size size = sizes().at(std::get<0>(GetParam()));
  const OwnedProblem owned = problem_of(size);
  const std::string method = std::get<1>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Attacks, Insider,
                         ::testing::Combine(::testing::Range(std::size_t{0}, sizes().size()),
                                            ::testing::Values("auto", "anderson", "newton")),
                         [](const auto& info) {
                           const Size& size = sizes()[std::get<0>(info.param)];
                           return fmt::format("{}Of{}Rows{}Columns", std::get<1>(info.param),
                                              fmt::join(size.rows, "And"), size.columns);
                         });

TEST_P(Insider, RecoversNoRowFromWhatIsAddedUp) {
  const InsiderSolve solved = solve_with_an_insider(owned, size.rows, method, asked(false));
  ASSERT_EQ(solved.result.status, Status::converged);
  EXPECT_EQ(solved.result.sums.matrices, 0U);
  EXPECT_EQ(rows_from_matrices(solved.seen, 1), std::nullopt);
  const Loot got =
      loot(owned, solved, size.rows[kInsider], rows_from_products(solved.seen, owned.n - size.rows[kInsider]));
  EXPECT_EQ(got.recovered, 0U) << "of " << got.rows;
  EXPECT_EQ(got.rows > owned.n / 2, method != "anderson");  // which has nothing to try this on
}

TEST_P(Insider, RecoversAllRowsFromMatricesThatWereAskedFor) {
  if (method == "anderson") return;
  const InsiderSolve solved = solve_with_an_insider(owned, size.rows, method, asked(true));
  ASSERT_EQ(solved.result.status, Status::converged);
  EXPECT_GE(solved.result.sums.matrices, 2U);
  const Loot got =
      loot(owned, solved, size.rows[kInsider], rows_from_matrices(solved.seen, owned.n - size.rows[kInsider]));
  EXPECT_EQ(got.recovered, got.rows);
  EXPECT_GT(got.rows, owned.n / 2);
  EXPECT_LT(got.error, 1e-6);
  EXPECT_LT(got.mass_error, 1e-6);
  Options options;
  options.policy = "sums";
  const std::string said = privacy_sentence({solved.result.sums, size.rows.size()}, options);
  EXPECT_NE(said.find("give the others' rows away"), std::string::npos) << said;
}

// The control: with as many products at a point as columns, the same attack recovers what the matrices do.
TEST(InsiderControl, RecoversRowsFromManyProducts) {
  const Size size = sizes()[0];
  const OwnedProblem owned = problem_of(size);
  InsiderSolve solved = solve_with_an_insider(owned, size.rows, "newton", asked(true));
  ASSERT_GE(solved.seen.steps.size(), 2U);
  testing::Seen views;
  Random random(5);
  for (const std::size_t k : {std::size_t{0}, solved.seen.steps.size() - 1}) {
    testing::SeenStep step = solved.seen.steps[k];
    for (std::size_t product = 0; product < 2 * size.columns; ++product) {
      std::vector<double> direction(size.columns);
      for (double& x : direction) x = random.uniform(-1, 1);
      std::vector<double> image(size.columns);
      const double* entry = step.matrix.data();
      for (std::size_t i = 0; i < size.columns; ++i) {
        for (std::size_t j = 0; j <= i; ++j, ++entry) {
          image[i] += *entry * direction[j];
          if (j < i) image[j] += *entry * direction[i];
        }
      }
      step.directions.push_back(std::move(direction));
      step.products.push_back(std::move(image));
    }
    for (std::size_t j = 0; j < size.columns; ++j) step.diagonal.push_back(1 - step.matrix[j * (j + 3) / 2]);
    step.matrix.clear();
    views.steps.push_back(std::move(step));
  }
  const Loot got = loot(owned, solved, size.rows[kInsider], rows_from_products(views, owned.n - size.rows[kInsider]));
  EXPECT_EQ(got.recovered, got.rows);
}

// ---------------------------------------------------------------------------------------------------------------------
// Sums of vectors: each number is an equation.

/// Fixed rounds: what is seen is then known beforehand.
Options rounds(std::int64_t count) {
  Options options;
  options.tolerance = 0;
  options.max_iterations = count;
  return options;
}

class TwoOthers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Methods, TwoOthers, ::testing::Values("sinkhorn", "anderson"));

// Of three clients with one row each, one has both rows of the others and their masses from thirty rounds.
TEST_P(TwoOthers, LoseTheirRows) {
  const OwnedProblem owned = testing::random_problem(3, 40, 0.1, 34);
  const InsiderSolve solved = solve_with_an_insider(owned, {1, 1, 1}, GetParam(), rounds(30));
  EXPECT_TRUE(is_warned(solved.result));
  testing::Knowledge knowledge;
  knowledge.epsilon = owned.epsilon;
  Vectors summands;
  for (std::size_t t = 0; t < solved.seen.v.size(); ++t) {
    summands.push_back(solved.seen.r[t]);
    for (std::size_t j = 0; j < owned.m; ++j) summands[t][j] -= solved.seen.own_plans[t][j] / solved.seen.v[t][j];
  }
  const auto rows = testing::two_rows(knowledge, solved.seen.v, summands);
  ASSERT_TRUE(rows);
  // Costs less psi, less their mean. Nothing says which row is which.
  const auto error_of = [&](std::size_t found, std::size_t row) {
    std::vector<double> truth;
    for (std::size_t j = 0; j < owned.m; ++j) truth.push_back(owned.cost[row * owned.m + j] - solved.psi[j]);
    const double mean = std::reduce(truth.begin(), truth.end()) / static_cast<double>(owned.m);
    for (double& x : truth) x -= mean;
    return std::max(greatest_difference(rows->costs[found], truth), std::abs(rows->masses[found] - owned.a[row]));
  };
  const double error = std::min(std::max(error_of(0, 1), error_of(1, 2)), std::max(error_of(0, 2), error_of(1, 1)));
  EXPECT_LT(error, GetParam() == "sinkhorn" ? 1e-8 : 1e-5);
}

/// The greatest error of a share, first in logs of K that are off by up to a tenth, then in what an attack makes of
/// them.
struct Improvement {
  double before = 0;
  double after = 0;
};

Improvement improvement(const OwnedProblem& owned, std::size_t own_rows, const InsiderSolve& solved) {
  Random random(9);
  Vectors log_kernel;
  std::vector<double> log_masses;
  for (std::size_t i = own_rows; i < owned.n; ++i) {
    log_kernel.emplace_back();
    for (std::size_t j = 0; j < owned.m; ++j) {
      log_kernel.back().push_back((solved.psi[j] - owned.cost[i * owned.m + j]) / owned.epsilon +
                                  random.uniform(-0.1, 0.1));
    }
    log_masses.push_back(std::log(owned.a[i]) + random.uniform(-0.1, 0.1));
  }
  const auto error_of = [&](const std::optional<FoundRows>& found) {
    const std::vector<double> truth = testing::plan_rows(owned, solved.psi, found->v, {own_rows, owned.n});
    double error = 0;
    for (std::size_t k = 0; k < truth.size(); ++k) {
      const std::size_t i = k / owned.m;
      error = std::max(error, std::abs(found->shares[i][k % owned.m] - truth[k] / owned.a[own_rows + i]));
    }
    return error;
  };
  return {error_of(rows_from_vectors(solved.seen, log_kernel, log_masses, 0)),
          error_of(rows_from_vectors(solved.seen, log_kernel, log_masses, 60))};
}

// Whoever knows the rows to a tenth already has them to the last digits from sums that determine them, ...
TEST_P(TwoOthers, AreDeterminedBySumsThatOutnumberWhatIsUnknown) {
  const OwnedProblem owned = testing::random_problem(3, 8, 0.2, 35);
  const InsiderSolve solved = solve_with_an_insider(owned, {1, 1, 1}, GetParam(), rounds(20));
  EXPECT_TRUE(is_warned(solved.result));
  const Improvement got = improvement(owned, 1, solved);
  EXPECT_GT(got.before, 1e-2);
  EXPECT_LT(got.after, 1e-6);
}

// ... and learns next to nothing from fewer.
class ManyOthers : public TwoOthers {};
INSTANTIATE_TEST_SUITE_P(Methods, ManyOthers, ::testing::Values("sinkhorn", "anderson"));

TEST_P(ManyOthers, AreNotDeterminedBelowTheLimit) {
  const OwnedProblem owned = testing::random_problem(50, 8, 0.2, 36);
  Options options = rounds(1000);
  options.most_sums = 380;
  const InsiderSolve solved = solve_with_an_insider(owned, {4, 23, 23}, GetParam(), options);
  EXPECT_EQ(solved.result.status, Status::sums_limit);
  EXPECT_GE(solved.seen.v.size(), 4U);
  EXPECT_LT(solved.result.sums.seen, solved.result.clients.at(kInsider).unknown);
  EXPECT_FALSE(is_warned(solved.result));
  const Improvement got = improvement(owned, 4, solved);
  EXPECT_GT(got.before, 1e-2);
  EXPECT_GT(got.after, got.before / 2);
}

}  // namespace
}  // namespace fedsinkhorn
