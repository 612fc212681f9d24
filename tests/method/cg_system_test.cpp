// Newton's linear systems by conjugate gradients: the same solutions as with a factor of the whole matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>

#include "core/random.hpp"
#include "iteration/topology_kernel.hpp"
#include "method/newton_system.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"
#include "synthetic/hard_problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using Vector = std::vector<double>;

OwnedProblem hard_system(const char* family, double epsilon) {
  HardProblem drawn = hard_problem(family, 90, 70, 5);
  return {drawn.n, drawn.m, 1, drawn.cost, drawn.a, drawn.b, epsilon};
}

/// All entries are equal: every choice of the largest is as good as any other.
OwnedProblem uniform() {
  OwnedProblem problem = testing::random_problem(60, 50, 1, 1);
  std::ranges::fill(problem.cost, 0.5);
  return problem;
}

/// Nearly all of the mass of a is in one row, which connects all columns.
OwnedProblem one_row() {
  OwnedProblem problem = testing::random_problem(60, 200, 0.05, 2);
  problem.a[7] = 1e6;
  testing::normalise(problem.a);
  return problem;
}

/// The second of two targets, without mass in every third column.
OwnedProblem gaps() {
  OwnedProblem problem = testing::random_problem(40, 60, 0.02, 3, 2);
  for (std::size_t j = 0; j < problem.m; j += 3) problem.b[2 * j + 1] = 0;
  testing::normalise(problem.b, 1, 2);
  return problem;
}

struct PlanCase {
  const char* name;
  OwnedProblem problem;
  double least_damping = 1e-15;  ///< more if the matrix is singular to rounding without
};
const std::vector<PlanCase>& plan_cases() {
  static const std::vector<PlanCase> cases = {{"random", testing::random_problem(80, 70, 0.01, 4)},
                                              {"wide", testing::random_problem(30, 700, 0.05, 5)},
                                              {"tiny", testing::random_problem(3, 2, 0.1, 6)},
                                              {"uniform", uniform()},
                                              {"one row", one_row()},
                                              {"gaps", gaps()},
                                              {"clusters", hard_system("clusters-2", 1e-3)},
                                              {"blocks", hard_system("blocks", 1e-2), 1e-9},
                                              {"bridges", hard_system("bridges", 1e-2), 1e-9},
                                              {"separate", hard_system("separate", 1e-2), 1e-9}};
  return cases;
}

/// The plan of the problem's last target as one client sees it, after a few of Sinkhorn's iterations.
class PlanOfClient {
 public:
  explicit PlanOfClient(const TopologyContext& context)
      : problem_(context.problem),
        topology_(make_topology(testing::topology_named(context.options.topology), context)),
        kernel(*topology_, context.problem, 1000, false) {
    const std::size_t n = problem_.n();
    const std::size_t m = problem_.m();
    const double* b = problem_.target(problem_.targets - 1);
    Vector q(n);
    Vector u(n);
    Vector c(m);
    Vector x(m, 1.0);
    for (std::size_t j = 0; j < m; ++j) x[j] = b[j] > 0 ? 1 : 0;
    std::vector<Note> notes(1);
    topology_->absorb(Vector(n), Vector(m));
    for (int k = 0; k < 20; ++k) {
      if (k > 0) {
        for (std::size_t j = 0; j < m; ++j) x[j] = b[j] > 0 ? b[j] / c[j] : 0;
      }
      topology_->share(1, x.data(), notes);
      topology_->rows(1, q.data(), u.data());
      topology_->columns(1, u.data(), c.data());
    }
    for (std::size_t i = 0; i < n; ++i) {
      plan.root_a.push_back(std::sqrt(problem_.a[i]));
      plan.row_scale.push_back(u[i] / plan.root_a[i]);
    }
    for (std::size_t j = 0; j < m; ++j) {
      plan.root_c.push_back(std::sqrt(x[j] * c[j]));
      plan.column_scale.push_back(x[j] > 0 ? x[j] / plan.root_c[j] : 0);
    }
  }

  /// Random numbers that do not depend on who owns them, orthogonal to root_c.
  Vector right_hand_side() {
    Vector h(problem_.m());
    for (std::size_t j = 0; j < h.size(); ++j) {
      Random random(kernel.first_column() + j);
      h[j] = plan.root_c[j] > 0 ? random.uniform() - 0.5 : 0;
    }
    const double share = dot(plan.root_c, h) / dot(plan.root_c, plan.root_c);
    for (std::size_t j = 0; j < h.size(); ++j) h[j] -= share * plan.root_c[j];
    return h;
  }
  double dot(const Vector& x, const Vector& y) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
    kernel.add_up({&sum, 1});
    return sum;
  }
  /// y' ((1 + damping) - B'B) y.
  double norm2(double damping, const Vector& y) {
    Vector w(plan.row_scale.size());
    std::ranges::transform(plan.row_scale, w.begin(), [](double x) { return x * x; });
    Vector scaled(y.size());
    Vector product(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) scaled[j] = plan.column_scale[j] * y[j];
    kernel.weighted(w, scaled, product);
    for (std::size_t j = 0; j < y.size(); ++j) product[j] = (1 + damping) * y[j] - plan.column_scale[j] * product[j];
    return dot(y, product);
  }

 private:
  const CheckedProblem& problem_;
  std::unique_ptr<Topology> topology_;

 public:
  TopologyKernel kernel;
  ScaledPlan plan;
};

class CgSystem : public ::testing::TestWithParam<std::string> {
 protected:
  static Options options(std::size_t clients, Vector weights = {}) {
    Options options;
    options.topology = clients == 1 ? "centralized" : GetParam();
    options.clients = clients;
    options.threads = 1;
    options.row_weights = std::move(weights);
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Topologies, CgSystem, ::testing::Values("row-reduce", "all-to-all", "star"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(CgSystem, SolvesWhatTheDenseOneSolves) {
  for (const PlanCase& plan_case : plan_cases()) {
    const Problem problem = plan_case.problem.view();
    for (const Options& how : {options(1), options(3, {5, 0, 1}), options(7, {1, 0, 0, 9, 1, 1, 2})}) {
      for (const double damping : {plan_case.least_damping, 1e-6, 0.5}) {
        SCOPED_TRACE(std::string(plan_case.name) + ", " + std::to_string(how.clients) + " clients, log of damping " +
                     std::to_string(std::log10(damping)));
        testing::at_every_client(problem, how, [&](const TopologyContext& context, const CountingCommunicator&) {
          PlanOfClient client(context);
          const Vector h = client.right_hand_side();
          Vector y(h.size());
          Vector expected(h.size());
          const auto dense = make_dense_system(1);
          const auto cg = make_cg_system(1, {1e-16, 300});
          dense->assemble(client.kernel, client.plan);
          cg->assemble(client.kernel, client.plan);
          EXPECT_TRUE(dense->solve(client.kernel, damping, h, expected));
          EXPECT_TRUE(cg->solve(client.kernel, damping, h, y));
          EXPECT_LT(cg->products(), 300);
          EXPECT_NEAR(client.dot(client.plan.root_c, y), 0, 1e-9 * std::sqrt(client.dot(y, y)));
          const double whole = client.norm2(damping, expected);
          for (std::size_t j = 0; j < y.size(); ++j) y[j] -= expected[j];
          EXPECT_LE(client.norm2(damping, y), 1e-12 * whole);
        });
      }
    }
  }
}

// Decisions must not depend on anything but shared numbers: all clients count the same products, and one that holds
// nothing stays in step with the others.
TEST_P(CgSystem, NeedsFewProducts) {
  const OwnedProblem owned = hard_system("clusters-2", 1e-3);
  const Problem problem = owned.view();
  for (const Options& how : {options(1), options(3, {5, 0, 1})}) {
    std::mutex mutex;
    std::vector<std::int64_t> products;
    testing::at_every_client(problem, how, [&](const TopologyContext& context, const CountingCommunicator&) {
      PlanOfClient client(context);
      const Vector h = client.right_hand_side();
      Vector y(h.size());
      const auto cg = make_cg_system(1);
      cg->assemble(client.kernel, client.plan);
      EXPECT_TRUE(cg->solve(client.kernel, 1e-12, h, y));
      const std::lock_guard lock(mutex);
      products.push_back(cg->products());
    });
    EXPECT_EQ(products.size(), how.clients);
    for (const std::int64_t count : products) {
      EXPECT_EQ(count, products[0]);
      EXPECT_LE(count, 12);
    }
  }
}

// The preconditioner is good for columns of little mass, too: residuals end up there.
TEST_P(CgSystem, NeedsFewProductsWithMassesOfAllSizes) {
  OwnedProblem owned = testing::random_problem(500, 600, 0.1, 9);
  Random random(9);
  for (auto* masses : {&owned.a, &owned.b}) {
    for (double& mass : *masses) mass = std::pow(10.0, random.uniform(-8, 0));
    testing::normalise(*masses);
  }
  testing::at_every_client(owned.view(), options(3), [&](const TopologyContext& context, const CountingCommunicator&) {
    PlanOfClient client(context);
    const Vector h = client.right_hand_side();
    Vector y(h.size());
    const auto cg = make_cg_system(1);
    cg->assemble(client.kernel, client.plan);
    EXPECT_TRUE(cg->solve(client.kernel, 1e-12, h, y));
    EXPECT_LE(cg->products(), 5);
  });
}

TEST_P(CgSystem, ZeroIsTheSolutionForZero) {
  const OwnedProblem owned = testing::random_problem(20, 15, 0.1, 8);
  testing::at_every_client(owned.view(), options(3), [&](const TopologyContext& context, const CountingCommunicator&) {
    PlanOfClient client(context);
    Vector y(context.problem.m(), 1.0);
    const auto cg = make_cg_system(1);
    cg->assemble(client.kernel, client.plan);
    EXPECT_TRUE(cg->solve(client.kernel, 1e-3, Vector(y.size()), y));
    EXPECT_EQ(y, Vector(y.size()));
    EXPECT_EQ(cg->products(), 0);
  });
}

}  // namespace
}  // namespace fedsinkhorn
