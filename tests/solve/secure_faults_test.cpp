// Policy sums on bad networks, with clients and servers that are lost, and with a client that changes its messages: the
// right answer, to the last bit, or one line that says who was lost. Never a wrong sum, never a wait for ever.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include <string>
#include <vector>

#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "solve/client_solve.hpp"
#include "support/hostile.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::Attack;
using testing::HostileCommunicator;
using testing::OwnedProblem;

Options few_rounds_by_sums(std::size_t clients, bool has_server) {
  Options options;
  options.clients = clients;
  options.policy = "sums";
  options.server = has_server ? Server::sums : Server::none;
  options.topology = "row-reduce";
  options.transport = "simulated";
  options.threads = 1;
  options.backend = "cpu";
  options.max_iterations = 25;
  return options;
}

/// Messages of every lateness, clients of every speed, pauses.
Scenario bad_network(Random& random, std::size_t processes) {
  Scenario scenario;
  scenario.seed = random.below(1'000'000);
  scenario.seconds_per_entry = 1e-6;
  switch (random.below(4)) {
    case 0: scenario.latency = HeavyTailedLaw{1e-4, 0.7 + random.uniform()}; break;
    case 1: scenario.latency = LogNormalLaw{1e-3, 2}; break;
    case 2: scenario.latency = UniformLaw{0, 0.1}; break;
    default: scenario.latency = ConstantLaw{0};
  }
  if (random.below(2) == 0) scenario.late = {random.uniform(0, 0.2), random.uniform(0, 2)};
  if (random.below(2) == 0) scenario.compute_factor = LogNormalLaw{1, 1};
  for (std::size_t k = 0; k < processes; ++k) {
    ClientScenario client;
    client.client = k;
    if (random.below(3) == 0) client.slower = random.uniform(1, 1000);
    if (random.below(4) == 0) client.pauses.push_back({random.uniform(0, 2), random.uniform(0, 3)});
    scenario.clients.push_back(client);
  }
  return scenario;
}

void expect_same_bits(const Result& expected, const Result& result) {
  EXPECT_EQ(expected.iterations, result.iterations);
  EXPECT_EQ(expected.f, result.f);
  EXPECT_EQ(expected.g, result.g);
  EXPECT_EQ(expected.cost.objective, result.cost.objective);
  EXPECT_EQ(expected.error.a, result.error.a);
}

class SecureFaults : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Adding, SecureFaults, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "ByAServer" : "ByClients"; });

TEST_P(SecureFaults, ABadNetworkChangesNoBit) {
  const OwnedProblem owned = testing::random_problem(9, 8, 0.05, 31);
  for (const std::size_t clients : {2U, 3U, 5U}) {
    Options options = few_rounds_by_sums(clients, GetParam());
    options.timeout = 1e6;
    const Result expected = solve(owned.view(), options);
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
      SCOPED_TRACE(std::to_string(clients) + " clients, seed " + std::to_string(seed));
      Random random(seed, clients);
      options.scenario = bad_network(random, clients + (GetParam() ? 1 : 0));
      expect_same_bits(expected, solve(owned.view(), options));
    }
  }
}

TEST_P(SecureFaults, LostClientsAndServersAreNamed) {
  const OwnedProblem owned = testing::random_problem(9, 8, 0.05, 32);
  constexpr std::size_t kClients = 3;
  const std::size_t processes = kClients + (GetParam() ? 1 : 0);
  Options options = few_rounds_by_sums(kClients, GetParam());
  options.timeout = 1e6;
  const Result expected = solve(owned.view(), options);
  std::size_t right = 0;
  std::size_t named = 0;
  std::size_t late = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, 77);
    options.scenario = bad_network(random, processes);
    options.timeout = 5;
    // About as long as the run takes without pauses, or any part of it.
    const std::size_t lost = random.below(processes);
    options.scenario.clients[lost].lost_at = std::pow(10.0, random.uniform(-4, 2));
    try {
      expect_same_bits(expected, solve(owned.view(), options));
      ++right;
    } catch (const ClientLost& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      // Several: a last message came too late, and those who have ended do not answer either.
      if (error.lost().size() == 1) {
        EXPECT_EQ(error.lost()[0], lost) << error.what();
      }
      error.lost().empty() ? ++late : ++named;
    }
  }
  EXPECT_GT(right, 20U);
  EXPECT_GT(named, 100U);
  EXPECT_EQ(right + named + late, 500U);
}

// ---------------------------------------------------------------------------------------------------------------------
// A client that follows the protocol but for one message

struct EndedSecurely {
  std::vector<std::string> lines;  // "" for who ended with a result
  std::vector<Result> results;     // of those
  std::size_t sent = 0;            // messages of the hostile one
};

EndedSecurely solve_securely(const Problem& problem, const Options& options, std::size_t hostile,
                             const std::vector<Attack>& attacks) {
  EndedSecurely ended{std::vector<std::string>(options.clients), std::vector<Result>(options.clients)};
  const bool has_server = options.server == Server::sums;
  const auto take_part = [&](Communicator& network) {
    const std::size_t me = network.rank();
    if (me == options.clients) return serve_sums(network);
    std::optional<ServerLease> lease;
    if (has_server) lease.emplace(network);
    ended.results[me] = solve_as_client(problem, options, network);
  };
  const auto body = [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    if (me == hostile) {
      HostileCommunicator network(communicator, attacks);
      try {
        take_part(network);
      } catch (const std::exception&) {  // leaves without a word
      }
      ended.sent = network.sent();
      return;
    }
    try {
      take_part(communicator);
    } catch (const ClientLost& error) {
      if (me < options.clients) ended.lines[me] = error.what();
    } catch (const ClientFailed& error) {
      if (me < options.clients) ended.lines[me] = error.what();
    } catch (const InputError& error) {
      if (me < options.clients) ended.lines[me] = error.what();
    } catch (const std::exception& error) {
      if (me < options.clients) ended.lines[me] = error.what();
      ADD_FAILURE() << "process " << me << ": " << error.what();
    }
  };
  Scenario scenario;
  scenario.seconds_per_entry = 1e-6;
  run_simulated(options.clients + (has_server ? 1 : 0), Seconds(5), scenario, body);
  return ended;
}

TEST_P(SecureFaults, AChangedMessageSpoilsNoResult) {
  const OwnedProblem owned = testing::random_problem(6, 7, 0.1, 33);
  Options options = few_rounds_by_sums(3, GetParam());
  options.max_iterations = 8;
  std::size_t noticed = 0;
  for (const std::size_t hostile : {0U, 1U}) {
    const EndedSecurely expected = solve_securely(owned.view(), options, hostile, {});
    ASSERT_GT(expected.sent, 20U);
    ASSERT_FALSE(expected.results[2].g.empty());
    Random random(7, hostile);
    for (std::size_t message = 0; message < expected.sent; message += 1 + random.below(2)) {
      const Attack attack{message, static_cast<Attack::Kind>(random.below(Attack::kKinds)), random.below(64),
                          random.below(testing::kSpecialNumbers.size())};
      SCOPED_TRACE("client " + std::to_string(hostile) + ", message " + std::to_string(message) + ", attack " +
                   std::to_string(static_cast<int>(attack.kind)) + " with " + std::to_string(attack.value));
      const EndedSecurely ended = solve_securely(owned.view(), options, hostile, {attack});
      bool is_noticed = false;
      for (std::size_t k = 0; k < options.clients; ++k) {
        if (k == hostile) continue;
        EXPECT_EQ(ended.lines[k].find('\n'), std::string::npos) << ended.lines[k];
        if (!ended.lines[k].empty()) {
          is_noticed = true;
          continue;
        }
        expect_same_bits(expected.results[k], ended.results[k]);
      }
      noticed += is_noticed ? 1 : 0;
    }
  }
  EXPECT_GT(noticed, 50U);
}

}  // namespace
}  // namespace fedsinkhorn
