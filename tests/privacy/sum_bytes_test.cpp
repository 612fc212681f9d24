// Bytes of an iteration under policy sums, as docs/secure-sums.md has them.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"
#include "topology/round.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kSummingClients = 3;
constexpr std::size_t kColumns = 300;
constexpr std::size_t kWord = 16;

/// What each client sends in the rounds of that many iterations.
std::vector<std::uint64_t> sent_in_rounds(std::int64_t iterations, const std::string& policy, Server server) {
  const testing::OwnedProblem owned = testing::random_problem(60, kColumns, 1, 91);
  Options options;
  options.topology = "row-reduce";
  options.policy = policy;
  options.server = server;
  options.method = "sinkhorn";
  options.clients = kSummingClients;
  options.threads = 1;
  options.backend = "cpu";
  options.tolerance = 0;
  options.max_iterations = iterations;
  std::vector<std::uint64_t> bytes;
  for (const ClientReport& report : solve(owned.view(), options).clients) bytes.push_back(report.sent.rounds);
  return bytes;
}

std::vector<std::uint64_t> sent_in_a_round(const std::string& policy, Server server) {
  constexpr std::uint64_t more = 10;
  const std::vector<std::uint64_t> few = sent_in_rounds(5, policy, server);
  std::vector<std::uint64_t> bytes = sent_in_rounds(5 + more, policy, server);
  for (std::size_t k = 0; k < bytes.size(); ++k) bytes[k] = (bytes[k] - few[k]) / more;
  return bytes;
}

/// Without the check word, which is added.
constexpr std::size_t kProducts = kColumns + 1;
constexpr std::size_t kScalings = kColumns / 2 + 17;

TEST(SumBytes, AmongClients) {
  const std::vector<std::uint64_t> bytes = sent_in_a_round("sums", Server::none);
  ASSERT_EQ(bytes.size(), kSummingClients);
  for (std::size_t k = 0; k < kSummingClients; ++k) {
    EXPECT_EQ(bytes[k], secure_sum_exchange(kSummingClients, k, kProducts).sent().bytes +
                            secure_sum_exchange(kSummingClients, k, kScalings).sent().bytes)
        << k;
  }
}

TEST(SumBytes, ToAServer) {
  for (const std::uint64_t bytes : sent_in_a_round("sums", Server::sums)) {
    EXPECT_EQ(bytes, kWord * (kProducts + 1 + kScalings + 1) + 2 * 32);
  }
}

TEST(SumBytes, AreThreeTimesThoseInPlain) {
  const auto total = [](const std::vector<std::uint64_t>& bytes) {
    double sum = 0;
    for (const std::uint64_t x : bytes) sum += static_cast<double>(x);
    return sum;
  };
  EXPECT_NEAR(total(sent_in_a_round("sums", Server::none)) / total(sent_in_a_round("open", Server::none)), 3, 0.3);
}

}  // namespace
}  // namespace fedsinkhorn
