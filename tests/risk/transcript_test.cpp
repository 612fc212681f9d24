// What leaves a client: under policy sums, masked sums alone.
#include "support/transcript.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "comm/digest.hpp"
#include "comm/numbering.hpp"
#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "risk/client_risk.hpp"
#include "risk/reference.hpp"
#include "solve/link.hpp"
#include "support/repeatable_random.hpp"

namespace fedsinkhorn {
namespace {

using testing::Message;
using testing::RiskInstance;
using testing::Transcript;

constexpr std::size_t kClients = 3;
constexpr std::size_t kRecordedDays = 17;

struct RiskRecording {
  Transcript messages;
  std::vector<RiskResult> results;
};

RiskOptions policy_options(const std::string& policy, Server server = Server::none) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.policy = policy;
  options.options.server = server;
  return options;
}

RiskRecording record(const std::vector<RiskProblem>& problems, const RiskOptions& options) {
  std::vector<Transcript> transcripts(problems.size());
  RiskRecording recording;
  recording.results.resize(problems.size());
  const bool is_served = has_server(options.options);
  run_on_threads(problems.size() + (is_served ? 1 : 0), Seconds(60), [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    if (me == problems.size()) return serve_sums(communicator);
    testing::draw_as_client(me);
    testing::RecordingCommunicator recorder(communicator, transcripts[me], is_served ? 0 : sizeof(MessageHeader));
    std::optional<ServerLease> lease;
    if (is_served) lease.emplace(recorder);
    recording.results[me] = worst_case_as_client(problems[me], options, recorder);
  });
  for (const Transcript& one : transcripts) {
    recording.messages.insert(recording.messages.end(), one.begin(), one.end());
  }
  return recording;
}

RiskInstance recorded_instance(unsigned seed, RiskCost cost, double level, bool stays) {
  RiskInstance instance = testing::random_points(kRecordedDays, 11, 2, seed);
  RiskInstance fixed = testing::random_points(kRecordedDays, 11, 2, 1);  // what all clients know
  instance.scenarios = fixed.scenarios;
  instance.weights = fixed.weights;
  testing::draw_masses(instance, seed);
  for (double& mass : instance.a) mass = std::max(mass, 0.05);  // the number of days with mass is known
  instance.a[0] = 1.0137;                                       // 1 is also a number of days
  instance.settings.cost = cost;
  instance.settings.epsilon = 0.03;
  instance.settings.radius = cost == RiskCost::mahalanobis ? 3.0 : 0.3;
  instance.settings.cvar_level = level;
  instance.settings.may_stay = stays;
  return instance;
}

std::vector<RiskProblem> recorded_parts(const RiskInstance& instance) {
  return {instance.part(0, 5), instance.part(5, 6), instance.part(6, kRecordedDays)};
}
constexpr std::array<std::size_t, kClients + 1> kEnds = {0, 5, 6, kRecordedDays};

/// Numbers that nobody else may see, of all clients.
struct Secrets {
  std::vector<double> of_days;   ///< returns, losses, masses, least costs, logs of sums of weights
  std::vector<double> partials;  ///< per client: sums of loss, cost, masses
};

Secrets secrets_of(const RiskInstance& instance, const WorstCase& worst) {
  Secrets secrets;
  secrets.of_days = instance.returns;
  const testing::WideProblem wide = testing::widened(instance);
  for (std::size_t k = 0; k < kClients; ++k) {
    double loss = 0;
    double least_cost = 0;
    double mass = 0;
    for (std::size_t i = kEnds[k]; i < kEnds[k + 1]; ++i) {
      double own_loss = 0;
      for (std::size_t d = 0; d < 2; ++d) own_loss += instance.weights[d] * instance.returns[2 * i + d];
      const long double* costs = &wide.costs[i * wide.m];
      const auto least = static_cast<double>(*std::min_element(costs, costs + wide.m));
      long double sum = 0;
      for (std::size_t j = 0; j < wide.m; ++j) {
        sum += std::exp((wide.losses[i * wide.m + j] - worst.lambda * costs[j]) / wide.epsilon);
      }
      const auto a = static_cast<double>(wide.a[i]);
      secrets.of_days.insert(secrets.of_days.end(), {own_loss, instance.a[i], a, static_cast<double>(std::log(sum)),
                                                     static_cast<double>(wide.epsilon * std::log(sum))});
      if (least > 0) secrets.of_days.push_back(least);
      loss += a * own_loss;
      least_cost += a * least;
      mass += instance.a[i];
    }
    secrets.partials.insert(secrets.partials.end(), {loss, mass});
    if (least_cost > 0) secrets.partials.push_back(least_cost);
  }
  return secrets;
}

/// How many of them occur, to a part in 2^40: rounding may differ.
std::size_t occurrences(const Transcript& messages, std::vector<double> secrets) {
  std::sort(secrets.begin(), secrets.end());
  std::vector<bool> is_there(secrets.size());
  for (const Message& message : messages) {
    for (std::size_t at = 0; at + sizeof(double) <= message.bytes.size(); ++at) {
      double value = 0;
      std::memcpy(&value, &message.bytes[at], sizeof value);
      if (!std::isfinite(value)) continue;
      const double room = std::ldexp(std::abs(value), -40);
      auto secret = std::lower_bound(secrets.begin(), secrets.end(), value - room);
      for (; secret != secrets.end() && *secret <= value + room; ++secret) {
        is_there[static_cast<std::size_t>(secret - secrets.begin())] = true;
      }
    }
  }
  return static_cast<std::size_t>(std::count(is_there.begin(), is_there.end(), true));
}

struct Kind {
  RiskCost cost = RiskCost::sqeuclidean;
  double level = 0;
  bool stays = false;
};

class RiskTranscript : public ::testing::TestWithParam<Kind> {
 protected:
  [[nodiscard]] static RiskInstance instance(unsigned seed) {
    return recorded_instance(seed, GetParam().cost, GetParam().level, GetParam().stays);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, RiskTranscript,
                         ::testing::Values(Kind{}, Kind{RiskCost::mahalanobis}, Kind{RiskCost::euclidean, 0.8},
                                           Kind{RiskCost::sqeuclidean, 0.8, true},
                                           Kind{RiskCost::sqeuclidean, 0, true}));

TEST_P(RiskTranscript, HasNoSecrets) {
  const RiskInstance own = instance(21);
  for (const Server server : {Server::none, Server::sums}) {
    const RiskRecording recording = record(recorded_parts(own), policy_options("sums", server));
    ASSERT_EQ(recording.results[0].status, Status::converged);
    const Secrets secrets = secrets_of(own, recording.results[0].worst);
    EXPECT_EQ(occurrences(recording.messages, secrets.of_days), 0U);
    EXPECT_EQ(occurrences(recording.messages, secrets.partials), 0U);
    // Every client knows its own days, and no others.
    for (std::size_t k = 0; k < kClients; ++k) {
      EXPECT_EQ(recording.results[k].moves.size(), kEnds[k + 1] - kEnds[k]);
    }
  }
}

/// The search finds what is there.
TEST_P(RiskTranscript, OpenShowsThem) {
  const RiskInstance own = instance(21);
  const RiskRecording recording = record(recorded_parts(own), policy_options("open"));
  const Secrets secrets = secrets_of(own, recording.results[0].worst);
  EXPECT_GT(occurrences(recording.messages, secrets.of_days), 0U);  // moves have masses and losses
  EXPECT_GT(occurrences(recording.messages, secrets.partials), 0U);
  EXPECT_EQ(recording.results[0].moves.size(), kRecordedDays);
}

TEST_P(RiskTranscript, OnlySumsDependOnData) {
  for (const Server server : {Server::none, Server::sums}) {
    const RiskRecording recording = record(recorded_parts(instance(21)), policy_options("sums", server));
    std::size_t masked = 0;
    for (const Message& message : recording.messages) {
      if (message.form == Form::masked) {
        ++masked;
        continue;
      }
      const bool is_public = message.kind == Payload::options || message.kind == Payload::shape ||
                             message.kind == Payload::control || message.kind == Payload::keys ||
                             message.kind == Payload::text || message.kind == Payload::result;
      EXPECT_TRUE(is_public) << name_of(message.kind) << " of client " << message.from << " in plain";
      if (message.kind == Payload::result || message.kind == Payload::text) {
        // Reports of times and bytes; agreement that nothing is wrong.
        EXPECT_LE(message.bytes.size(), 64 * sizeof(double)) << name_of(message.kind);
      }
    }
    EXPECT_GT(masked, 20U);
  }
}

/// By kind: what each client sends in plain, in order.
std::vector<Message> plain_of(const Transcript& messages, std::size_t client) {
  std::vector<Message> plain;
  for (const Message& message : messages) {
    const bool is_told = message.kind == Payload::options || message.kind == Payload::shape ||
                         message.kind == Payload::control || message.kind == Payload::text;
    if (message.from == client && message.form == Form::plain && is_told) plain.push_back(message);
  }
  return plain;
}

TEST_P(RiskTranscript, PlainMessagesAreTheSameForOtherReturns) {
  const testing::RepeatableRandom repeatable;  // keys, and so digests
  const RiskRecording one = record(recorded_parts(instance(21)), policy_options("sums"));
  const RiskRecording other = record(recorded_parts(instance(22)), policy_options("sums"));
  for (std::size_t k = 0; k < kClients; ++k) {
    const std::vector<Message> first = plain_of(one.messages, k);
    const std::vector<Message> second = plain_of(other.messages, k);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].kind, second[i].kind);
      EXPECT_EQ(first[i].to, second[i].to);
      EXPECT_EQ(first[i].bytes.size(), second[i].bytes.size());
      const bool is_the_same = first[i].bytes == second[i].bytes;
      EXPECT_TRUE(is_the_same) << name_of(first[i].kind) << ", message " << i << " of " << first.size() << " of client "
                               << k;
    }
  }
}

/// Of what all clients must have the same of, message by message.
std::vector<std::vector<std::byte>> digests_in(const Transcript& messages) {
  std::vector<std::vector<std::byte>> digests;
  for (const Message& message : messages) {
    if (message.kind == Payload::options && message.bytes.size() == 17 * sizeof(Digest)) {
      digests.push_back(message.bytes);
    }
  }
  return digests;
}

// Nobody can tell from them that two runs had the same data.
TEST(RiskDigests, AreOthersInEveryRun) {
  const RiskInstance own = recorded_instance(21, RiskCost::sqeuclidean, 0, false);
  const std::vector<RiskProblem> parts = recorded_parts(own);
  for (const char* policy : {"open", "sums"}) {
    const auto once = digests_in(record(parts, policy_options(policy)).messages);
    const auto again = digests_in(record(parts, policy_options(policy)).messages);
    ASSERT_EQ(once.size(), kClients * (kClients - 1));
    ASSERT_EQ(again.size(), once.size());
    EXPECT_EQ(once.front(), once.back());
    for (std::size_t at = 0; at < once[0].size(); at += sizeof(Digest)) {
      EXPECT_FALSE(std::equal(&once[0][at], &once[0][at] + sizeof(Digest), &again[0][at])) << policy;
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
