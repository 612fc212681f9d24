// The closed forms against the simulated network, which moves every message: seconds of an iteration agree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kAllowed = 0.02;
constexpr std::int64_t kFirst = 4;  // iterations until all clients are in step
constexpr std::int64_t kLast = 10;

/// Every pair of clients has a line of its own. Passes, latency and bytes take about the same time.
Profile own_ports() {
  Profile profile = read_profile("office");
  profile.name = "own";
  profile.links = LinkModel{10e-6, 1e7, 0, false, "direct"};
  return profile;
}

/// As above, but bytes take longest, through one port per client.
Profile narrow_ports() {
  Profile profile = read_profile("office");
  profile.name = "narrow";
  profile.links = LinkModel{1e-6, 1e7, 0, true, "direct"};
  return profile;
}

Profile profile_named(const std::string& name) {
  if (name == "own") return own_ports();
  return name == "narrow" ? narrow_ports() : read_profile(name);
}

SolveShape simulated_shape(const std::string& topology, std::size_t clients, std::size_t rows, std::size_t columns,
                           std::size_t targets) {
  SolveShape shape;
  shape.rows = rows;
  shape.columns = columns;
  shape.targets = targets;
  shape.clients = clients;
  shape.options.method = "sinkhorn";
  shape.options.topology = topology;
  shape.options.transport = "simulated";
  shape.options.threads = 1;
  shape.options.tolerance = 0;
  shape.options.max_iterations = kLast;
  return shape;
}

/// Virtual seconds of an iteration, as the network was simulated.
double simulated_seconds(const Profile& profile, const SolveShape& shape) {
  const testing::OwnedProblem owned = testing::random_problem(shape.rows, shape.columns, 0.3, 5, shape.targets);
  Options options = shape.options;
  options.clients = shape.clients;
  options.scenario = scenario_of(profile, shape);
  const Result result = solve(owned.view(), options);
  EXPECT_TRUE(result.clock_is_virtual);
  EXPECT_EQ(result.absorptions, 0);
  if (result.trace.size() != kLast) {
    ADD_FAILURE() << result.trace.size() << " checks";
    return 0;
  }
  return (result.trace.back().seconds - result.trace[kFirst - 1].seconds) / static_cast<double>(kLast - kFirst);
}

void expect_agreement(const Profile& profile, const SolveShape& shape) {
  const double predicted = predict(profile, shape).seconds_per_iteration;
  const double simulated = simulated_seconds(profile, shape);
  EXPECT_NEAR(predicted / simulated, 1, kAllowed) << fmt::format(
      "{} {} c={} {}x{} N={}: predicted {:.4g} s, simulated {:.4g} s, {}", profile.name, shape.options.topology,
      shape.clients, shape.rows, shape.columns, shape.targets, predicted, simulated, predict(profile, shape).formula);
}

using Case = std::tuple<std::string, std::string>;
class Simulated : public ::testing::TestWithParam<Case> {};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Networks, Simulated,
                         ::testing::Combine(::testing::Values("office", "wan", "cluster", "own", "narrow"),
                                            ::testing::Values("all-to-all", "star", "grid", "row-reduce")),
                         name_of_case);

TEST_P(Simulated, TimeIsThePredictedOne) {
  const auto& [network, topology] = GetParam();
  for (const std::size_t clients : {2, 3, 7, 16, 64}) {
    expect_agreement(profile_named(network), simulated_shape(topology, clients, 640, 512, 1));
  }
}

TEST_P(Simulated, TimeOfSeveralTargetsIsThePredictedOne) {
  const auto& [network, topology] = GetParam();
  for (const std::size_t clients : {3, 16}) {
    expect_agreement(profile_named(network), simulated_shape(topology, clients, 320, 480, 5));
  }
}

TEST(SimulatedSums, TakeThePredictedTime) {
  for (const char* network : {"office", "own", "narrow"}) {
    for (const std::size_t clients : {2, 3, 16}) {
      for (const Server server : {Server::none, Server::sums}) {
        SCOPED_TRACE(server == Server::sums ? "by a server" : "by clients");
        SolveShape shape = simulated_shape("row-reduce", clients, 320, 480, 2);
        shape.options.policy = "sums";
        shape.options.server = server;
        expect_agreement(profile_named(network), shape);
      }
    }
  }
}

TEST(ManySimulatedClients, TakeThePredictedTime) {
  for (const char* topology : {"row-reduce", "star"}) {
    for (const char* network : {"office", "own"}) {
      expect_agreement(profile_named(network), simulated_shape(topology, 256, 512, 512, 1));
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
