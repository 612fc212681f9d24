// What a method may ask of the kernel between rounds, on every topology.
#include <gtest/gtest.h>

#include <cmath>

#include "iteration/topology_kernel.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;
using Vector = std::vector<double>;

struct Whole {
  OwnedProblem owned;
  Vector phi, psi, kernel;  ///< exp((phi + psi - C) / epsilon)
  Vector w, y, x;           ///< over the rows, the columns, the rows

  Whole(std::size_t n, std::size_t m) : owned(testing::random_problem(n, m, 0.3, 3)), phi(n), psi(m), w(n), y(m), x(n) {
    Random random(4);
    for (Vector* values : {&phi, &psi, &w, &y, &x}) {
      for (double& value : *values) value = random.uniform(-0.5, 0.5);
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) kernel.push_back(std::exp((phi[i] + psi[j] - owned.cost[i * m + j]) / 0.3));
    }
  }
  [[nodiscard]] Vector rows(const Vector& z) const {
    Vector products(owned.n);
    for (std::size_t k = 0; k < kernel.size(); ++k) products[k / owned.m] += kernel[k] * z[k % owned.m];
    return products;
  }
  [[nodiscard]] Vector columns(const Vector& z) const {
    Vector products(owned.m);
    for (std::size_t k = 0; k < kernel.size(); ++k) products[k % owned.m] += kernel[k] * z[k / owned.m];
    return products;
  }
};

Vector slice(const Vector& whole, Range range) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(range.first),
          whole.begin() + static_cast<std::ptrdiff_t>(range.last)};
}

void expect_near_slice(const Vector& values, const Vector& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-11) << "at " << k;
}

using Body = std::function<void(KernelAccess& kernel, const CheckedProblem& problem, const std::string& topology)>;

/// Runs at every client of every topology that waits, also of those with empty slices. Both numbers of passes.
void on_every_topology(const Whole& whole, const Body& body) {
  for (const TopologyEntry& entry : topologies()) {
    if (entry.is_asynchronous) continue;
    for (const std::size_t clients : {1, 3, 4, 7}) {
      if (clients > 1 && !entry.several_clients) continue;
      for (const Passes passes : {Passes::fused, Passes::two}) {
        SCOPED_TRACE(std::string(entry.name) + ", clients " + std::to_string(clients) +
                     (passes == Passes::two ? ", two passes" : ""));
        Options options;
        options.topology = entry.name;
        options.clients = clients;
        options.passes = passes;
        testing::at_every_client(
            whole.owned.view(), options, [&](const TopologyContext& context, const CountingCommunicator&) {
              const CheckedProblem& problem = context.problem;
              const std::unique_ptr<Topology> topology = make_topology(entry, context);
              topology->absorb(slice(whole.phi, problem.own_rows()), slice(whole.psi, problem.own_columns()));
              TopologyKernel kernel(*topology, problem, 1000, false);
              body(kernel, problem, options.topology);
            });
      }
    }
  }
}

/// Several of its clients have nothing.
const Whole& whole(std::size_t k) {
  static const Whole problems[] = {Whole(23, 17), Whole(5, 31), Whole(19, 4)};
  return problems[k];
}

class KernelOfTopologies : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Shapes, KernelOfTopologies, ::testing::Values(0, 1, 2));

TEST_P(KernelOfTopologies, ProductsAreThoseOfTheWhole) {
  const Whole& all = whole(GetParam());
  const Vector rows = all.rows(all.y);
  const Vector columns = all.columns(all.x);
  Vector weights = rows;
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= all.w[i];
  const Vector weighted = all.columns(weights);
  on_every_topology(all, [&](KernelAccess& kernel, const CheckedProblem& problem, const std::string&) {
    const Vector y = slice(all.y, problem.own_columns());
    Vector q(problem.n());
    kernel.rows(y, q);
    expect_near_slice(q, slice(rows, problem.own_rows()));
    Vector r(problem.m());
    kernel.columns(slice(all.x, problem.own_rows()), r);
    expect_near_slice(r, slice(columns, problem.own_columns()));
    kernel.weighted(slice(all.w, problem.own_rows()), y, r);
    expect_near_slice(r, slice(weighted, problem.own_columns()));
  });
}

// Together the clients hold every row once; each with what its owner knows about it, over all columns in the order of
// all_columns().
TEST_P(KernelOfTopologies, HeldRowsAreWhole) {
  const Whole& all = whole(GetParam());
  const auto& [n, m] = std::pair{all.owned.n, all.owned.m};
  const std::size_t columns = m;  // clang 14 cannot capture a structured binding
  const std::size_t rows = n;
  on_every_topology(all, [&](KernelAccess& kernel, const CheckedProblem& problem, const std::string&) {
    if (!kernel.holds_whole_rows()) return;
    EXPECT_EQ(kernel.clients(), problem.clients);
    const Vector order = kernel.all_columns(slice(all.psi, problem.own_columns()));
    ASSERT_EQ(order.size(), columns);
    expect_near_slice({order.begin() + static_cast<std::ptrdiff_t>(kernel.first_column()),
                       order.begin() + static_cast<std::ptrdiff_t>(kernel.first_column() + problem.m())},
                      slice(all.psi, problem.own_columns()));
    const Vector phi = kernel.held(slice(all.phi, problem.own_rows()));
    ASSERT_EQ(phi.size(), kernel.held_rows());
    // Each row is recognised by its phi.
    Vector seen(rows);
    for (std::size_t k = 0; k < phi.size(); ++k) {
      const auto found = std::find(all.phi.begin(), all.phi.end(), phi[k]);
      ASSERT_NE(found, all.phi.end());
      const auto i = static_cast<std::size_t>(found - all.phi.begin());
      seen[i] += 1;
      Vector row(columns, -7.0);
      kernel.copy_rows(k, 1, row.data());
      for (std::size_t j = 0; j < columns; ++j) {
        const double entry = std::exp((phi[k] + order[j] - all.owned.cost[i * columns + j]) / 0.3);
        EXPECT_NEAR(row[j], entry, 1e-12 * entry);
      }
    }
    Vector block(phi.size() * columns);
    kernel.copy_rows(0, phi.size(), block.data());
    if (!phi.empty()) {
      Vector last(columns);
      kernel.copy_rows(phi.size() - 1, 1, last.data());
      expect_near_slice({block.end() - static_cast<std::ptrdiff_t>(columns), block.end()}, last);
    }
    kernel.add_up(seen);
    EXPECT_EQ(seen, Vector(rows, 1.0));
  });
}

TEST(KernelAccess, AllButTrueGridsHoldWholeRows) {
  on_every_topology(whole(0), [&](KernelAccess& kernel, const CheckedProblem& problem, const std::string& topology) {
    EXPECT_EQ(kernel.holds_whole_rows(), topology != "grid" || grid_shape(problem.clients, {}).columns == 1);
  });
}

TEST(KernelAccess, SumsAndMaximaAreThoseOfAll) {
  on_every_topology(whole(1), [&](KernelAccess& kernel, const CheckedProblem& problem, const std::string&) {
    const auto clients = static_cast<double>(problem.clients);
    Vector values = {static_cast<double>(problem.client), 1};
    kernel.add_up(values);
    EXPECT_EQ(values, (Vector{clients * (clients - 1) / 2, clients}));
    EXPECT_EQ(kernel.greatest(-static_cast<double>(problem.client)), 0);
    EXPECT_EQ(kernel.greatest(static_cast<double>(problem.client)), clients - 1);
  });
}

}  // namespace
}  // namespace fedsinkhorn
