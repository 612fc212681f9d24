// The families of hard problems, as tests use them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "support/problems.hpp"
#include "support/registered.hpp"
#include "synthetic/hard_problems.hpp"

namespace fedsinkhorn::testing {

/// epsilon: of the largest cost, which is 1.
inline OwnedProblem hard(std::string_view family, std::size_t n, std::size_t m, double epsilon, std::uint64_t seed) {
  HardProblem drawn = hard_problem(family, n, m, seed);
  return {n, m, 1, std::move(drawn.cost), std::move(drawn.a), std::move(drawn.b), epsilon};
}

inline std::string name_of_family(const ::testing::TestParamInfo<std::string_view>& info) {
  return without_dashes(std::string(info.param));
}

}  // namespace fedsinkhorn::testing
