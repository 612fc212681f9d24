// What leaves a client of a private run: releases, as many and as large as declared, and nothing that depends on data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "comm/ring.hpp"
#include "fedsinkhorn/solve.hpp"
#include "mechanism/ways.hpp"
#include "support/problems.hpp"
#include "support/repeatable_random.hpp"
#include "support/transcript.hpp"
#include "topology/round.hpp"

namespace fedsinkhorn {
namespace {

using testing::kInfinity;
using testing::Message;
using testing::OwnedProblem;
using testing::Recording;
using testing::Way;

constexpr std::size_t kClients = 3;
constexpr std::size_t kReleases = 5;

class Leaving : public ::testing::TestWithParam<Way> {
 protected:
  [[nodiscard]] Options options(double noise = 0.01) const {
    return testing::options_of(GetParam(), kClients, kReleases, noise);
  }
  [[nodiscard]] Recording record(const OwnedProblem& owned) const {
    Problem view = owned.view();
    if (GetParam().mechanism == "marginal") view.a = {};
    return testing::record_solve(std::vector<Problem>(kClients, view), options());
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Leaving, ::testing::ValuesIn(testing::private_ways()),
                         [](const auto& info) { return testing::name_of(info.param); });

TEST_P(Leaving, OnlyReleasesAreAboutData) {
  const OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51, 3);
  const bool is_masked = GetParam().mechanism == "marginal";
  for (const Result& result : record(owned).results) {
    ASSERT_EQ(result.clients.size(), 1U) << "reports of others are theirs";
    std::uint64_t releases = 0;
    for (const SentMessages& sent : result.clients[0].left) {
      SCOPED_TRACE(sent.phase + " " + sent.kind);
      if (sent.kind == "release") {
        EXPECT_EQ(sent.phase, "rounds");
        EXPECT_EQ(sent.is_masked, is_masked);
        releases += sent.messages;
        continue;
      }
      const std::vector<std::string> harmless = {"options", "shape", "text", "control", "keys"};
      EXPECT_NE(std::ranges::find(harmless, sent.kind), harmless.end());
      if (sent.phase == "rounds") {
        EXPECT_EQ(sent.kind, "control");
      }
    }
    EXPECT_GT(releases, 0U);
  }
}

/// What client k sends as releases in one iteration.
Sent declared(const Way& way, const ClientReport& client, std::size_t columns, std::size_t targets,
              std::span<const Result> all) {
  if (way.mechanism == "marginal") {
    const std::size_t words = columns * targets + 1;  // and whether somebody wants to stop
    // A request to the server is of kind control; a word more is for checking.
    return way.server == Server::sums ? Sent{(words + 1) * sizeof(Word), 1}
                                      : secure_sum_exchange(kClients, client.client, words).sent();
  }
  const auto bytes_of = [targets](const ClientReport& of) {
    return targets * sizeof(double) * ((of.last_row - of.first_row) + (of.last_column - of.first_column));
  };
  if (way.topology != "star") return {(kClients - 1) * bytes_of(client), 2 * (kClients - 1)};
  if (client.client > 0) return {bytes_of(client), 2};
  // The server tells the others their products, a target at a time.
  Sent sent;
  for (std::size_t k = 1; k < kClients; ++k) sent = sent + Sent{bytes_of(all[k].clients[0]), targets * 2};
  return sent;
}

TEST_P(Leaving, ReleasesAreAsManyAndAsLargeAsDeclared) {
  for (const std::size_t targets : {1U, 3U}) {
    const OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51, targets);
    const Recording recording = record(owned);
    for (const Result& result : recording.results) {
      const ClientReport& client = result.clients[0];
      const Sent each = declared(GetParam(), client, 10, targets, recording.results);
      const auto count = static_cast<std::uint64_t>(client.iterations);
      for (const SentMessages& sent : client.left) {
        if (sent.kind != "release") continue;
        SCOPED_TRACE("client " + std::to_string(client.client) + ", " + std::to_string(targets) + " targets");
        if (testing::is_asynchronous(GetParam())) {  // others may end it between the releases of an iteration
          EXPECT_LE(sent.messages, (kClients - 1) * static_cast<std::uint64_t>(result.privacy.releases));
          continue;
        }
        EXPECT_EQ(sent.bytes, each.bytes * count);
        EXPECT_EQ(sent.messages, each.messages * count);
      }
      EXPECT_LE(client.iterations, static_cast<std::int64_t>(kReleases));
    }
    if (testing::is_asynchronous(GetParam())) continue;
    EXPECT_EQ(recording.results[0].privacy.releases, GetParam().mechanism == "marginal" ? kReleases : 2 * kReleases);
  }
}

// Other costs, other masses, pairs that are forbidden, rows and (of mechanism scalings) columns without mass.
TEST_P(Leaving, MessagesBesidesReleasesDoNotDependOnData) {
  if (testing::is_asynchronous(GetParam())) return;  // their number depends on time
  const testing::RepeatableRandom repeatable;
  const OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51);
  OwnedProblem other = testing::random_problem(11, 10, 0.2, 52);
  for (double& cost : other.cost) cost = 30 * cost - 10;
  for (std::size_t k = 0; k < other.cost.size(); k += 7) other.cost[k] = kInfinity;
  other.a[3] = 0;
  if (GetParam().mechanism == "marginal") {
    other.b = owned.b;
  } else {
    other.b[4] = 0;
  }
  const Recording one = record(owned);
  const Recording two = record(other);
  ASSERT_EQ(one.messages.size(), two.messages.size());
  for (std::size_t k = 0; k < one.messages.size(); ++k) {
    const Message& left = one.messages[k];
    const Message& right = two.messages[k];
    SCOPED_TRACE("message " + std::to_string(k) + ": " + std::string(fedsinkhorn::name_of(left.kind)));
    EXPECT_EQ(left.from, right.from);
    EXPECT_EQ(left.to, right.to);
    EXPECT_EQ(left.kind, right.kind);
    EXPECT_EQ(left.form, right.form);
    EXPECT_EQ(left.bytes.size(), right.bytes.size());
    const bool is_public = left.kind != Payload::release && left.form == Form::plain;
    EXPECT_TRUE(!is_public || left.bytes == right.bytes);
  }
}

// Releases of the same data have nothing in common: not even where the noise is tiny.
TEST_P(Leaving, ReleasesAreNeverTheSameBytes) {
  const OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51);
  const std::size_t reader = GetParam().server == Server::sums ? kClients : 0;
  std::vector<std::vector<std::byte>> seen;
  for (const Recording& recording : {record(owned), record(owned)}) {
    for (const Message& message : recording.messages) {
      if (message.kind == Payload::release && message.from == 1 && message.to == reader) seen.push_back(message.bytes);
    }
  }
  ASSERT_GE(seen.size(), 4U);
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST_P(Leaving, ResultsHaveNoCleanNumbers) {
  const OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51);
  for (const Result& result : record(owned).results) {
    for (const double number :
         {result.error.a, result.exact_error.a, result.exact_error.b, result.error_floor, result.cost.linear,
          result.cost.entropy, result.cost.objective, result.cost.dual, result.cost.shannon_entropy,
          result.cost.kl_objective, result.per_target.at(0).cost.linear, result.per_target.at(0).error.a}) {
      EXPECT_TRUE(std::isnan(number)) << number;
    }
    EXPECT_EQ(std::isnan(result.error.b), GetParam().mechanism == "scalings");
    for (const TraceRow& row : result.trace) EXPECT_TRUE(std::isnan(row.error_a));
    EXPECT_TRUE(result.privacy.own_errors.empty());
    EXPECT_TRUE(result.privacy.is_private) << result.privacy.why_not;
    // f is the client's own rows.
    EXPECT_EQ(result.f.size(), result.clients[0].last_row - result.clients[0].first_row);
  }
}

}  // namespace
}  // namespace fedsinkhorn
