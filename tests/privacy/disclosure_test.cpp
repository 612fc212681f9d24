// What leaves clients is what src/registry/disclosure.cpp says, and nothing else; under policy sums it tells nothing.
#include "registry/disclosure.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "privacy/evidence.hpp"
#include "privacy/reconstructions.hpp"
#include "privacy/trials.hpp"
#include "registry/registry.hpp"
#include "support/registered.hpp"
#include "support/transcript.hpp"

namespace fedsinkhorn {
namespace {

using testing::Recording;
using testing::Transcript;
using testing::Trial;

/// "rounds: masked slice"
using Kinds = std::set<std::string>;

std::string line(std::string_view phase, std::string_view form, std::string_view kind) {
  return fmt::format("{}: {} {}", phase, form, kind);
}

Kinds kinds_in(const Disclosures& listed) {
  Kinds kinds;
  for (const Disclosure& message : listed.messages) {
    for (const Phase phase : message.phases) {
      kinds.insert(line(kPhaseNames[static_cast<std::size_t>(phase)], name_of(message.form), name_of(message.kind)));
    }
  }
  return kinds;
}

/// What that client has sent. Its report is made before it is sent; what comes later belongs to the results.
Kinds kinds_sent(const Recording& recording, std::size_t client) {
  Kinds kinds;
  std::size_t reported = 0;
  for (const ClientReport& report : recording.results[client].clients) {
    if (report.client != client) continue;
    for (const SentMessages& messages : report.left) {
      kinds.insert(line(messages.phase, messages.is_masked ? "masked" : "plain", messages.kind));
      reported += messages.messages;
    }
  }
  const Transcript sent = testing::sent_by(recording.messages, client);
  EXPECT_LE(reported, sent.size());
  for (std::size_t k = reported; k < sent.size(); ++k) {
    kinds.insert(line("results", name_of(sent[k].form), name_of(sent[k].kind)));
  }
  return kinds;
}

/// A topology under a policy.
struct Pair {
  std::string topology;
  std::string policy;
  Server server;
  std::string mechanism = "";  // of policy private

  [[nodiscard]] const MechanismEntry& mechanism_entry() const { return mechanisms().find(mechanism, "`mechanism`"); }
  [[nodiscard]] const PolicyEntry& policy_entry() const {
    return mechanism.empty() ? policies().find(policy, "`policy`") : mechanism_entry().policy;
  }
  [[nodiscard]] Disclosures listed() const {
    const TopologyEntry& entry = testing::topology_named(topology);
    const bool has_server = server == Server::sums;
    return mechanism.empty() ? disclosures(entry, policy_entry(), has_server)
                             : disclosures(entry, mechanism_entry(), has_server);
  }
  [[nodiscard]] std::vector<Trial> trials() const {
    const TopologyEntry& entry = testing::topology_named(topology);
    if (mechanism.empty()) return testing::trials(entry, policy, server);
    return testing::private_trials(entry, mechanism_entry(), server);
  }
};

std::vector<Pair> all_pairs() {
  std::vector<Pair> pairs;
  for (const TopologyEntry& topology : topologies()) {
    for (const PolicyEntry& policy : policies()) {
      if (policy.asks_mechanism || (policy.adds_securely && !topology.only_open.empty())) continue;
      pairs.push_back({std::string(topology.name), std::string(policy.name), Server::none});
      if (policy.adds_securely) pairs.push_back({std::string(topology.name), std::string(policy.name), Server::sums});
    }
  }
  for (const MechanismEntry& mechanism : mechanisms()) {
    for (const std::string_view topology : mechanism.topologies) {
      for (const Server server : {Server::none, Server::sums}) {
        if (server == Server::sums && !mechanism.policy.adds_securely) continue;
        pairs.push_back({std::string(topology), "private", server, std::string(mechanism.name)});
      }
    }
  }
  return pairs;
}

class Disclosed : public ::testing::TestWithParam<Pair> {};
INSTANTIATE_TEST_SUITE_P(Pairs, Disclosed, ::testing::ValuesIn(all_pairs()), [](const auto& info) {
  const Pair& pair = info.param;
  return testing::without_dashes(pair.topology) + "_" + pair.policy + pair.mechanism +
         (pair.server == Server::sums ? "_server" : "");
});

TEST_P(Disclosed, IsAllThatLeavesAndNothingElse) {
  const Kinds listed = kinds_in(GetParam().listed());
  Kinds ever;
  for (const Trial& trial : GetParam().trials()) {
    SCOPED_TRACE(trial.name);
    const Recording recording = testing::record_solve(trial.problems, trial.options);
    for (std::size_t client = 0; client < recording.results.size(); ++client) {
      for (const std::string& kind : kinds_sent(recording, client)) {
        EXPECT_TRUE(listed.contains(kind)) << kind << " has left client " << client;
        ever.insert(kind);
      }
    }
  }
  EXPECT_EQ(ever, listed);
}

TEST_P(Disclosed, IsWhatThePolicyAllows) {
  const PolicyEntry& policy = GetParam().policy_entry();
  for (const Disclosure& message : GetParam().listed().messages) {
    EXPECT_NO_THROW(policy.make()->check({message.kind, 1, 0, message.form})) << name_of(message.kind);
    EXPECT_FALSE(message.reveals.empty());
    EXPECT_TRUE(message.reveals.ends_with('.')) << message.reveals;
    EXPECT_FALSE(message.what.ends_with('.')) << message.what;
  }
}

TEST(Disclosures, RefuseWhatDoesNotExist) {
  const PolicyEntry& sums = policies().find("sums", "`policy`");
  for (const TopologyEntry& topology : topologies()) {
    if (!topology.only_open.empty()) {
      EXPECT_THROW((void)disclosures(topology, sums, false), InputError);
    }
    EXPECT_THROW((void)disclosures(topology, policies().find("open", "`policy`"), true), InputError);
  }
  for (const MechanismEntry& mechanism : mechanisms()) {
    EXPECT_THROW((void)disclosures(testing::topology_named("grid"), mechanism, false), InputError);
  }
  MechanismEntry other = mechanisms().find("marginal", "`mechanism`");
  other.name = "other";
  EXPECT_THROW((void)disclosures(testing::topology_named("row-reduce"), other, false), InputError);
  TopologyEntry unknown = testing::topology_named("row-reduce");
  unknown.name = "ring";
  EXPECT_THROW((void)disclosures(unknown, sums, false), InputError);
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<std::byte> masked_bytes(const Transcript& messages) {
  std::vector<std::byte> bytes;
  for (const testing::Message& message : messages) {
    if (message.form == Form::masked) bytes.insert(bytes.end(), message.bytes.begin(), message.bytes.end());
  }
  return bytes;
}

// Who adds up and sends the sum on sends the same words to everybody: these are joined once.
Transcript without_repetitions(const Transcript& messages) {
  Transcript once;
  for (const testing::Message& message : messages) {
    const bool is_repeated = !once.empty() && once.back().form == message.form && once.back().bytes == message.bytes;
    if (!is_repeated) once.push_back(message);
  }
  return once;
}

/// Masked words of all clients but one, in all trials.
class Masked : public ::testing::TestWithParam<Server> {};
INSTANTIATE_TEST_SUITE_P(Servers, Masked, ::testing::Values(Server::none, Server::sums),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Masked, WordsOfAllButOneLookRandom) {
  for (const Trial& trial : testing::trials(testing::topology_named("row-reduce"), "sums", GetParam())) {
    SCOPED_TRACE(trial.name);
    const Recording recording = testing::record_solve(trial.problems, trial.options);
    for (std::size_t left_out = 0; left_out < trial.problems.size(); ++left_out) {
      std::vector<std::byte> joined;
      for (std::size_t client = 0; client < trial.problems.size(); ++client) {
        if (client == left_out) continue;
        const auto bytes = masked_bytes(without_repetitions(testing::sent_by(recording.messages, client)));
        joined.insert(joined.end(), bytes.begin(), bytes.end());
      }
      EXPECT_GT(joined.size(), 1024U);
      EXPECT_TRUE(testing::looks_uniform(joined)) << "without client " << left_out;
    }
  }
}

// The control: without masks the same test sees numbers.
TEST(PlainWords, DoNotLookRandom) {
  const Trial trial = testing::trials(testing::topology_named("row-reduce"), "open", Server::none).front();
  std::vector<std::byte> joined;
  for (const testing::Message& message : testing::record_solve(trial.problems, trial.options).messages) {
    if (message.kind == Payload::sum) joined.insert(joined.end(), message.bytes.begin(), message.bytes.end());
  }
  EXPECT_FALSE(testing::looks_uniform(joined));
}

class AttacksOnSums : public ::testing::TestWithParam<testing::Reconstruction> {};
INSTANTIATE_TEST_SUITE_P(All, AttacksOnSums, ::testing::ValuesIn(testing::reconstructions()),
                         [](const auto& info) { return info.param.name; });

// Attacks on all-to-all meet a refusal: it does not follow the policy.
TEST_P(AttacksOnSums, GetNothing) {
  Options options;
  options.policy = "sums";
  std::vector<Transcript> messages;
  try {
    messages = GetParam().record(options);
  } catch (const InputError& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("sums is not for topology all-to-all"), std::string::npos);
    EXPECT_TRUE(GetParam().name == "PrivateBlock" || GetParam().name.ends_with("FromFingerprint"));
    return;
  }
  for (const testing::Reading read : {testing::doubles_in, testing::ring_numbers_in}) {
    const testing::Attempt attempt = GetParam().attempt(messages, read);
    EXPECT_FALSE(testing::better_than_a_guess(attempt.estimate, attempt.truth));
  }
}

// Two clients: what the masks cannot hide, docs/privacy.md says.
TEST(Disclosures, TellTwoClientsAboutSubtraction) {
  const Disclosures listed = disclosures(testing::topology_named("row-reduce"), policies().find("sums", ""), false);
  EXPECT_TRUE(std::ranges::any_of(listed.remarks, [](const Remark& remark) { return remark.about == "Two clients"; }));
}

}  // namespace
}  // namespace fedsinkhorn
