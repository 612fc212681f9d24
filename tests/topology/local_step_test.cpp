// Steps that a client makes without asking anybody: where they lead, and when they are not made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

using Values = std::vector<double>;
constexpr std::size_t kTargets = 2;

Options with_local_steps(const std::string& topology, std::size_t clients) {
  Options options;
  options.topology = topology;
  options.clients = clients;
  options.threads = 1;
  options.local_steps = 2;
  return options;
}

/// A client after one round from v = 1.
struct AfterARound {
  AfterARound(const TopologyContext& context, const std::string& name)
      : problem(context.problem),
        topology(make_topology(testing::topology_named(name), context)),
        u(kTargets * problem.n()),
        v(kTargets * problem.m(), 1.0) {
    Values q(u.size());
    Values r(v.size());
    std::vector<Note> notes(kTargets);
    topology->absorb(Values(problem.n()), Values(problem.m()));
    topology->share(kTargets, v.data(), notes);
    topology->rows(kTargets, q.data(), u.data());
    topology->columns(kTargets, u.data(), r.data());
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = problem.b[k] / r[k];
    topology->share(kTargets, v.data(), notes);
  }

  double step(const std::vector<const double*>& b) { return topology->local_step(kTargets, b, u.data(), v.data()); }
  double step() { return step({problem.target(0), problem.target(1)}); }

  const CheckedProblem& problem;
  std::unique_ptr<Topology> topology;
  Values u, v;
};

/// The part of one target.
Values of_target(const Values& values, std::size_t k) {
  const auto size = static_cast<std::ptrdiff_t>(values.size() / kTargets);
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(k) * size;
  return {first, first + size};
}

/// body(client, context) at every client of every topology that takes local steps.
void after_a_round(std::size_t clients, const std::function<void(AfterARound&, const TopologyContext&)>& body) {
  const testing::OwnedProblem owned = testing::random_problem(13, 11, 0.1, 3, kTargets);
  for (const std::string& topology : testing::topologies_with_local_steps()) {
    SCOPED_TRACE(topology);
    testing::at_every_client(owned.view(), with_local_steps(topology, clients),
                             [&](const TopologyContext& context, const CountingCommunicator&) {
                               AfterARound client(context, topology);
                               body(client, context);
                             });
  }
}

/// In a star only the server has a kernel to take steps with.
bool has_kernel(const CheckedProblem& problem) { return !problem.block_rows().empty(); }

TEST(LocalStep, OfOneClientIsAnIteration) {
  after_a_round(1, [](AfterARound& client, const TopologyContext&) {
    double change = 1;
    for (int k = 0; k < 500 && change > 1e-13; ++k) change = client.step();
    EXPECT_LE(change, 1e-13);
    // Where nothing changes any more, v is b / K' u.
    Values q(client.u.size());
    Values r(client.v.size());
    client.topology->products(kTargets, client.u.data(), client.v.data(), q.data(), r.data());
    for (std::size_t k = 0; k < r.size(); ++k) EXPECT_NEAR(client.v[k] * r[k], client.problem.b[k], 1e-12);
  });
}

TEST(LocalStep, ChangesOwnSlicesAndSaysByHowMuch) {
  after_a_round(3, [](AfterARound& client, const TopologyContext&) {
    const Values u = client.u;
    const Values v = client.v;
    const double change = client.step();
    if (!has_kernel(client.problem)) {
      EXPECT_EQ(change, 0);
      EXPECT_EQ(client.u, u);
      EXPECT_EQ(client.v, v);
      return;
    }
    EXPECT_GT(change, 1e-6);
    EXPECT_NE(client.u, u);
    EXPECT_NE(client.v, v);
    for (std::size_t k = 0; k < v.size(); ++k) {
      EXPECT_LE(std::abs(client.v[k] - v[k]), change * std::max(client.v[k], v[k])) << k;
    }
  });
}

/// A step that is usable for the first target alone.
void expect_the_second_left_alone(AfterARound& client, const std::vector<const double*>& b) {
  if (!has_kernel(client.problem)) return;
  const Values u = client.u;
  const Values v = client.v;
  const double change = client.step(b);
  EXPECT_GT(change, 0);
  EXPECT_TRUE(std::isfinite(change));
  EXPECT_NE(of_target(client.u, 0), of_target(u, 0));
  EXPECT_NE(of_target(client.v, 0), of_target(v, 0));
  EXPECT_EQ(of_target(client.u, 1), of_target(u, 1));
  EXPECT_EQ(of_target(client.v, 1), of_target(v, 1));
}

TEST(LocalStep, ATargetWhoseVWouldBeInfiniteIsLeftAlone) {
  after_a_round(3, [](AfterARound& client, const TopologyContext&) {
    Values spoiled(client.problem.target(1), client.problem.target(1) + client.problem.m());
    spoiled.front() = testing::kInfinity;
    expect_the_second_left_alone(client, {client.problem.target(0), spoiled.data()});
  });
}

// One client says so of its v, and so q is infinite everywhere.
TEST(LocalStep, ATargetWhoseUWouldBeZeroIsLeftAlone) {
  after_a_round(3, [](AfterARound& client, const TopologyContext& context) {
    Values spoiled = client.v;
    if (context.clients.rank() == 1) spoiled.back() = testing::kInfinity;
    std::vector<Note> notes(kTargets);
    client.topology->share(kTargets, spoiled.data(), notes);
    expect_the_second_left_alone(client, {client.problem.target(0), client.problem.target(1)});
  });
}

TEST(LocalStep, IsNotMadeBeforeTheOthersHaveBeenHeard) {
  after_a_round(3, [](AfterARound& client, const TopologyContext&) {
    client.topology->absorb(Values(client.problem.n()), Values(client.problem.m()));  // what was heard is of no use
    std::vector<Note> notes(kTargets);
    client.topology->share(kTargets, client.v.data(), notes);
    const Values u = client.u;
    const Values v = client.v;
    EXPECT_EQ(client.step(), 0);
    EXPECT_EQ(client.u, u);
    EXPECT_EQ(client.v, v);
  });
}

TEST(LocalStep, IsNotMadeWhereEveryProductNeedsOthers) {
  const testing::OwnedProblem owned = testing::random_problem(13, 11, 0.1, 3, kTargets);
  testing::at_every_client(owned.view(), with_local_steps("grid", 4),
                           [&](const TopologyContext& context, const CountingCommunicator&) {
                             AfterARound client(context, "grid");
                             const Values v = client.v;
                             EXPECT_EQ(client.step(), 0);
                             EXPECT_EQ(client.v, v);
                           });
}

}  // namespace
}  // namespace fedsinkhorn
