#include "core/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;

ExactSum exact_sum_of(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  return sum;
}

/// Over sixteen decades, of both signs.
std::vector<double> uneven_terms(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> terms;
  for (int k = 0; k < 1000; ++k) terms.push_back(random.normal() * std::pow(10, random.uniform(-8, 8)));
  return terms;
}

TEST(ExactSum, KeepsWhatPlainSummationLoses) {
  EXPECT_EQ(exact_sum_of({1e16, 1, -1e16}).total(), 1);
  EXPECT_EQ(exact_sum_of({1, 1e100, 1, -1e100}).total(), 2);
  EXPECT_EQ(exact_sum_of({}).total(), 0);
}

TEST(ExactSum, DoesNotDependOnTheOrder) {
  std::vector<double> terms = uneven_terms(1);
  const double expected = exact_sum_of(terms).total();
  std::sort(terms.begin(), terms.end());
  EXPECT_EQ(exact_sum_of(terms).total(), expected);
  std::reverse(terms.begin(), terms.end());
  EXPECT_EQ(exact_sum_of(terms).total(), expected);
}

TEST(ExactSum, OfPartsIsThatOfTheWhole) {
  const std::vector<double> terms = uneven_terms(2);
  for (const std::size_t parts : {2U, 3U, 7U, 40U}) {
    std::vector<ExactSum> part(parts);
    for (std::size_t k = 0; k < terms.size(); ++k) part[k % parts].add(terms[k]);
    ExactSum all;
    for (const ExactSum& sum : part) all.add(sum);
    EXPECT_EQ(all.total(), exact_sum_of(terms).total()) << parts;
  }
}

TEST(ExactSum, HasInfinitiesAsPlainSummationDoes) {
  EXPECT_EQ(exact_sum_of({1, kInfinity, 2}).total(), kInfinity);
  EXPECT_EQ(exact_sum_of({-kInfinity, 1}).total(), -kInfinity);
  EXPECT_TRUE(std::isnan(exact_sum_of({kInfinity, -kInfinity}).total()));
}

}  // namespace
}  // namespace fedsinkhorn
