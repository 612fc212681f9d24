// A kernel is written by the pass that first goes over it, and may find phi on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "backend/cpu/make_kernel.hpp"
#include "core/names.hpp"
#include "problem/checked_problem.hpp"
#include "support/kernels.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
constexpr double kGrid = 0x1p-40;

using OpeningCase = std::tuple<KernelKind, Precision>;

class Opening : public ::testing::TestWithParam<OpeningCase> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Opening,
                         ::testing::Combine(::testing::Values(KernelKind::dense, KernelKind::online),
                                            ::testing::Values(Precision::float64, Precision::float32,
                                                              Precision::mixed)),
                         [](const auto& info) {
                           return KernelName(std::get<0>(info.param)).text() + "_" +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

struct Pass {
  std::vector<double> q, u, r;
  [[nodiscard]] bool operator==(const Pass&) const = default;
};

enum class Way { fused, two_passes, columns_first };

Pass make_pass(Kernel& kernel, Way way, std::size_t targets, const std::vector<double>& a,
               const std::vector<double>& v) {
  const std::size_t n = a.size();
  const std::size_t m = v.size() / targets;
  Pass pass{std::vector<double>(targets * n), std::vector<double>(targets * n, 1.0), std::vector<double>(targets * m)};
  if (way == Way::fused) {
    kernel.fused(targets, {a}, v.data(), pass.q.data(), pass.u.data(), pass.r.data());
  } else if (way == Way::two_passes) {
    kernel.apply(targets, v.data(), pass.q.data());
    kernel.apply_transposed(targets, pass.u.data(), pass.r.data());
  } else {
    kernel.apply_transposed(targets, pass.u.data(), pass.r.data());
    kernel.apply(targets, v.data(), pass.q.data());
  }
  return pass;
}

// The first pass, which builds, and the second, which does not, by every verb, for few and for many targets: the bits
// of a kernel that was given the same phi. Rows longer than a strip, blocks that are not full, one thread and three.
TEST_P(Opening, FindsPhiAndGivesTheBitsOfAKernelThatWasGivenIt) {
  const auto [kind, precision] = GetParam();
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {9, 300}, {301, 257}, {1100, 700}}) {
    OwnedProblem owned = testing::random_problem(n, m, 0.3, 5 + n);
    if (n > 1) owned.cost[m + 1] = testing::kInfinity;
    const Problem problem = owned.view();
    const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
    const auto& simd = cpu::simd("auto");
    const auto cost = make_cost_source(checked.block(), simd);
    Random random(11);
    std::vector<double> psi(m);
    for (double& x : psi) x = std::nearbyint(random.uniform(-0.5, 0.5) / kGrid) * kGrid;
    std::vector<double> phi(n);
    for (std::size_t i = 0; i < n; ++i) {
      double greatest = -std::numeric_limits<double>::infinity();
      for (std::size_t j = 0; j < m; ++j) greatest = std::max(greatest, psi[j] - owned.cost[i * m + j]);
      phi[i] = -std::nearbyint(greatest / kGrid) * kGrid;
    }
    for (const std::size_t targets : {1, 5}) {
      std::vector<double> v(targets * m);
      for (double& x : v) x = random.uniform(0.5, 2);
      for (const Way way : {Way::fused, Way::two_passes, Way::columns_first}) {
        // Products of matrices are shared out by threads, which may show in their last bits.
        const auto given =
            testing::make_kernel(kind, {precision, owned.epsilon, targets == 1 ? 1 : 3}, checked.block(), *cost, simd);
        given->absorb(phi, psi);
        const Pass expected = make_pass(*given, way, targets, checked.a, v);
        EXPECT_EQ(make_pass(*given, way, targets, checked.a, v), expected);
        const auto opened = testing::make_kernel(kind, {precision, owned.epsilon, 3}, checked.block(), *cost, simd);
        opened->open(psi, kGrid);
        EXPECT_EQ(make_pass(*opened, way, targets, checked.a, v), expected);
        EXPECT_EQ(std::vector<double>(opened->opened().begin(), opened->opened().end()), phi);
        EXPECT_EQ(make_pass(*opened, way, targets, checked.a, v), expected);
        // Another epsilon is for potentials that come after it.
        opened->absorb(phi, psi);
        opened->set_epsilon(7);
        EXPECT_EQ(make_pass(*opened, way, targets, checked.a, v), expected);
        opened->set_epsilon(owned.epsilon);
        // And given other potentials, nothing of it is left.
        const std::vector<double> zeros(n);
        opened->absorb(zeros, psi);
        given->absorb(zeros, psi);
        EXPECT_EQ(make_pass(*opened, way, targets, checked.a, v), make_pass(*given, way, targets, checked.a, v));
      }
    }
  }
}

TEST(Opening, ARowWithoutAllowedPairsGetsNoPhi) {
  OwnedProblem owned = testing::random_problem(3, 4, 0.3, 1);
  const Problem problem = owned.view();
  const CheckedProblem checked = check_problem(problem, Feasibility::check, 1);
  for (std::size_t j = 0; j < 4; ++j) owned.cost[4 + j] = testing::kInfinity;
  const auto& simd = cpu::simd("auto");
  const auto cost = make_cost_source(checked.block(), simd);
  const auto kernel =
      testing::make_kernel(KernelKind::dense, {Precision::float64, owned.epsilon, 1}, checked.block(), *cost, simd);
  kernel->open(std::vector<double>(4), kGrid);
  const Pass pass = make_pass(*kernel, Way::fused, 1, {0.3, 0.3, 0.4}, std::vector<double>(4, 1.0));
  EXPECT_EQ(pass.q[1], 0);
  EXPECT_EQ(kernel->opened()[1], 0);
  EXPECT_GE(pass.q[0], 1 - 1e-9);  // the largest entry of a row is 1
}

}  // namespace
}  // namespace fedsinkhorn
