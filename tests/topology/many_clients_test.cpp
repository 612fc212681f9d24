// A thousand clients with hardly anything to do: setting up grows with their number, not with its square or cube.
#include <gtest/gtest.h>

#include <string>

#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kMany = 1000;

/// On 3 rows and 4 columns, compared with one client.
void expect_solved(const std::string& transport, const std::string& topology, const std::string& method,
                   std::size_t clients = kMany) {
  const testing::OwnedProblem owned = testing::random_problem(3, 4, 0.2, 5);
  Options options;
  options.method = method;
  options.threads = 1;
  options.passes = Passes::two;
  const Result alone = solve(owned.view(), options);
  options.clients = clients;
  options.timeout = 3600;  // the machine may be busy
  options.transport = transport;
  options.topology = topology;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.status, Status::converged);
  EXPECT_EQ(result.iterations, alone.iterations);
  ASSERT_EQ(result.f.size(), alone.f.size());
  for (std::size_t i = 0; i < alone.f.size(); ++i) EXPECT_NEAR(result.f[i], alone.f[i], 1e-12);
  for (std::size_t j = 0; j < alone.g.size(); ++j) EXPECT_NEAR(result.g[j], alone.g[j], 1e-12);
  // Version 0.1: c^2 messages in every small step, more than 150 MB of set-up for 200 clients.
  std::uint64_t sent = 0;
  for (const ClientReport& client : result.clients) sent += client.sent.rounds;
  EXPECT_LT(sent / clients, 40'000U * static_cast<std::uint64_t>(result.iterations)) << "bytes a client";
}

class ManyClientsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Topologies, ManyClientsTest, ::testing::ValuesIn(testing::topologies_in_step()),
                         [](const auto& info) { return testing::without_dashes(info.param); });

TEST_P(ManyClientsTest, AThousandSimulated) { expect_solved("simulated", GetParam(), "sinkhorn"); }

TEST(ManyClientsTest, AThousandOnThreads) { expect_solved("threads", "all-to-all", "sinkhorn"); }

TEST(ManyClientsTest, AcceleratedNotesAreCombinedOnce) { expect_solved("simulated", "all-to-all", "auto", 300); }

// The bits do not depend on whether notes and sums go through client 0.
TEST(ManyClientsTest, MoreThanThirtyTwoGiveTheSameBits) {
  const testing::OwnedProblem owned = testing::random_problem(80, 70, 0.05, 6);
  Options options;
  options.passes = Passes::two;
  options.threads = 1;
  const Result alone = solve(owned.view(), options);
  for (const std::size_t clients : {8U, 40U}) {
    options.clients = clients;
    options.topology = "all-to-all";
    const Result result = solve(owned.view(), options);
    EXPECT_EQ(result.f, alone.f) << clients;
    EXPECT_EQ(result.g, alone.g) << clients;
    EXPECT_EQ(result.iterations, alone.iterations) << clients;
  }
}

}  // namespace
}  // namespace fedsinkhorn
