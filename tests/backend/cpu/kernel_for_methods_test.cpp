// The verbs that methods ask for between rounds, against sums written out by hand.
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
using Vector = std::vector<double>;

constexpr std::pair<std::size_t, std::size_t> kShapes[] = {{1, 1}, {1, 40}, {37, 1}, {9, 300}, {70, 33}, {301, 257}};

using MethodsCase = std::tuple<KernelKind, Precision, int>;

class ForMethods : public ::testing::TestWithParam<MethodsCase> {
 protected:
  /// A kernel and its entries.
  struct Held {
    std::size_t n, m;
    OwnedProblem owned;
    CheckedProblem checked;
    std::unique_ptr<CostSource> cost;
    std::unique_ptr<Kernel> kernel;
    Vector entries;
  };

  static Held hold(std::size_t n, std::size_t m, int threads) {
    Held held{n, m, testing::random_problem(n, m, 0.3, 5 + n), {}, nullptr, nullptr, {}};
    if (n > 1 && m > 1) held.owned.cost[m + 1] = testing::kInfinity;
    held.checked = check_problem(held.owned.view(), Feasibility::check, 1);
    const auto& simd = cpu::simd("auto");
    held.cost = make_cost_source(held.checked.block(), simd);
    const auto [kind, precision, _] = GetParam();
    held.kernel =
        testing::make_kernel(kind, {precision, held.owned.epsilon, threads}, held.checked.block(), *held.cost, simd);
    absorb(held, 11);
    return held;
  }
  static void absorb(Held& held, std::uint64_t seed) {
    Random random(seed);
    Vector phi(held.n);
    Vector psi(held.m);
    for (double& x : phi) x = random.uniform(-0.5, 0.5);
    for (double& x : psi) x = random.uniform(-0.5, 0.5);
    held.kernel->absorb(phi, psi);
    held.entries.clear();
    for (std::size_t i = 0; i < held.n; ++i) {
      for (std::size_t j = 0; j < held.m; ++j) {
        held.entries.push_back(std::exp((phi[i] + psi[j] - held.owned.cost[i * held.m + j]) / held.owned.epsilon));
      }
    }
  }
  static double tolerance() {
    switch (std::get<Precision>(GetParam())) {
      case Precision::float32: return 1e-4;
      case Precision::mixed: return 1e-6;
      default: return 1e-12;
    }
  }
  static int threads() { return std::get<int>(GetParam()); }

  /// copy(first, count, to) is one of the ways.
  template <class Copy>
  static void expect_rows(const Held& held, const Copy& copy) {
    const std::size_t n = held.n;
    const std::size_t m = held.m;
    for (const auto& [first, count] :
         {std::pair<std::size_t, std::size_t>{0, n}, {n - 1, 1}, {n / 3, n - n / 3}, {n / 2, 0}, {n / 4, n / 2}}) {
      // One more on both sides, which must stay as they are.
      Vector to((count + 2) * m, -7.0);
      copy(first, count, to.data() + m);
      for (std::size_t j = 0; j < m; ++j) {
        ASSERT_EQ(to[j], -7);
        ASSERT_EQ(to[(count + 1) * m + j], -7);
        for (std::size_t i = 0; i < count; ++i) {
          const double entry = held.entries[(first + i) * m + j];
          ASSERT_NEAR(to[(1 + i) * m + j], entry, tolerance() * entry) << "row " << first + i << ", column " << j;
        }
      }
    }
  }
  template <class Weighted>
  static void expect_weighted(const Held& held, const Weighted& weighted) {
    Random random(17);
    Vector w(held.n);
    Vector y(held.m);
    for (double& x : w) x = random.uniform(0.1, 3);
    w[held.n / 2] = 0;
    for (double& x : y) x = random.uniform(-1, 1);  // steps of Newton's method have both signs
    Vector r(held.m, -7.0);
    weighted(w.data(), y.data(), r.data());
    Vector sums(held.m);
    Vector sizes(held.m);  // of the terms: those cancel
    for (std::size_t i = 0; i < held.n; ++i) {
      double q = 0;
      double size = 0;
      for (std::size_t j = 0; j < held.m; ++j) {
        q += held.entries[i * held.m + j] * y[j];
        size += held.entries[i * held.m + j] * std::abs(y[j]);
      }
      for (std::size_t j = 0; j < held.m; ++j) {
        sums[j] += held.entries[i * held.m + j] * w[i] * q;
        sizes[j] += held.entries[i * held.m + j] * w[i] * size;
      }
    }
    for (std::size_t j = 0; j < held.m; ++j) ASSERT_NEAR(r[j], sums[j], tolerance() * sizes[j]) << "column " << j;
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, ForMethods,
                         ::testing::Combine(::testing::Values(KernelKind::dense, KernelKind::online),
                                            ::testing::Values(Precision::float64, Precision::float32, Precision::mixed),
                                            ::testing::Values(1, 3)),
                         [](const auto& info) {
                           return KernelName(std::get<0>(info.param)).text() + "_" +
                                  std::string(name_of(std::get<1>(info.param))) + "_" +
                                  std::to_string(std::get<2>(info.param)) + "_threads";
                         });

// First thing after absorb, too: nothing else has built the kernel then.
TEST_P(ForMethods, RowsAreThoseOfTheKernel) {
  for (const auto& [n, m] : kShapes) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
    Held held = hold(n, m, threads());
    const auto copy = [&](auto... arguments) { held.kernel->copy_rows(arguments...); };
    expect_rows(held, copy);
    absorb(held, 12);
    expect_rows(held, copy);
    absorb(held, 13);
    expect_rows(held, [&](auto... arguments) { held.kernel->Kernel::copy_rows(arguments...); });
  }
}

TEST_P(ForMethods, WeightedIsTwoProducts) {
  for (const auto& [n, m] : kShapes) {
    SCOPED_TRACE(std::to_string(n) + " x " + std::to_string(m));
    Held held = hold(n, m, threads());
    const auto weighted = [&](auto... arguments) { held.kernel->weighted(arguments...); };
    expect_weighted(held, weighted);
    absorb(held, 12);
    expect_weighted(held, weighted);
    absorb(held, 13);
    expect_weighted(held, [&](auto... arguments) { held.kernel->Kernel::weighted(arguments...); });
  }
}

// A round before and after: verbs share scratch memory.
TEST_P(ForMethods, DoNotDisturbARound) {
  const Held held = hold(70, 33, threads());
  Kernel& kernel = *held.kernel;
  const Vector v(33, 1.5);
  const auto round = [&] {
    Vector q(70);
    Vector u(70);
    Vector r(33);
    kernel.fused(1, {held.checked.a}, v.data(), q.data(), u.data(), r.data());
    q.insert(q.end(), r.begin(), r.end());
    return q;
  };
  const Vector before = round();
  Vector rows(10 * 33);
  kernel.copy_rows(40, 10, rows.data());
  Vector r(33);
  kernel.weighted(Vector(70, 2.0).data(), v.data(), r.data());
  EXPECT_EQ(round(), before);
}

// Newton's decisions rest on these numbers.
TEST_P(ForMethods, AnyNumberOfThreadsGivesTheSameBits) {
  if (threads() == 1) return;
  const auto seen = [](int count) {
    const Held held = hold(301, 257, count);
    Vector r(257);
    held.kernel->weighted(Vector(301, 0.7).data(), Vector(257, 1.3).data(), r.data());
    Vector rows(301 * 257);
    held.kernel->copy_rows(0, 301, rows.data());
    rows.insert(rows.end(), r.begin(), r.end());
    return rows;
  };
  const Vector alone = seen(1);
  for (const int count : {2, 3, 5}) EXPECT_EQ(seen(count), alone) << count << " threads";
}

}  // namespace
}  // namespace fedsinkhorn
