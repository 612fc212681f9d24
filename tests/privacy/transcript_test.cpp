// The recorder: it sees all that leaves, in the order of sending.
#include "support/transcript.hpp"

#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::Message;
using testing::Recording;

constexpr std::size_t kRecordedClients = 3;

Recording record(const std::string& topology) {
  const testing::OwnedProblem owned = testing::random_problem(11, 10, 0.2, 51);
  Options options;
  options.topology = topology;
  options.threads = 1;
  options.backend = "cpu";
  return testing::record_solve(std::vector<Problem>(kRecordedClients, owned.view()), options);
}

class Recorder : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Topologies, Recorder, ::testing::ValuesIn(testing::topologies_in_step()),
                         [](const auto& info) { return testing::without_dashes(info.param); });

TEST_P(Recorder, MissesNothing) {
  const Recording recording = record(GetParam());
  for (std::size_t k = 0; k < kRecordedClients; ++k) {
    std::uint64_t bytes = 0;
    std::size_t order = 0;
    for (const Message& message : testing::sent_by(recording.messages, k)) {
      EXPECT_NE(message.to, k);
      EXPECT_EQ(message.order, order++);
      bytes += message.bytes.size();
    }
    // Reports are counted before they are sent; one byte to everybody ends the run.
    const std::uint64_t reported = recording.results[0].clients.at(k).sent.total();
    EXPECT_GT(bytes, reported);
    EXPECT_LE(bytes, reported + 15 * sizeof(double) + kRecordedClients * kRecordedClients);
  }
}

TEST_P(Recorder, IsTheSameEveryTime) {
  const Recording recording = record(GetParam());
  const Recording again = record(GetParam());
  ASSERT_EQ(recording.messages.size(), again.messages.size());
  for (std::size_t k = 0; k < recording.messages.size(); ++k) {
    const Message& one = recording.messages[k];
    const Message& other = again.messages[k];
    EXPECT_EQ(one.from, other.from);
    EXPECT_EQ(one.to, other.to);
    EXPECT_EQ(one.tag, other.tag);
    EXPECT_EQ(one.kind, other.kind);
    EXPECT_EQ(one.bytes.size(), other.bytes.size());
    // Reports have times, and shapes sizes of memory.
    const bool is_the_same = one.kind == Payload::slice || one.kind == Payload::sum || one.kind == Payload::note;
    if (is_the_same) {
      EXPECT_EQ(one.bytes, other.bytes) << k;
    }
  }
}

/// What client 1 sends to client 0 of that kind and size, counted from 0.
std::vector<std::byte> message_of(const Recording& recording, Payload kind, std::size_t size, std::size_t number) {
  for (const Message& message : testing::between(recording.messages, 1, 0)) {
    const bool is_such = message.kind == kind && message.bytes.size() == size;
    if (is_such && number-- == 0) return message.bytes;
  }
  ADD_FAILURE() << "no such message";
  return {};
}

// Names of machines and costs: equal ones cannot be recognised from one run to the next.
TEST(DigestsOfASolve, AreOthersInEveryRun) {
  const testing::OwnedProblem owned = testing::random_problem(9, 9, 0.2, 52);
  const std::vector<Problem> problems(kRecordedClients, owned.view());
  Options options;
  options.topology = "all-to-all";
  options.threads = 1;
  options.backend = "cpu";
  Options scalings = options;
  scalings.policy = "private";
  scalings.mechanism = "scalings";
  scalings.releases = 1;
  scalings.noise = 1;
  scalings.clip = 6;
  for (const Options& of : {options, scalings}) {
    const Recording once = testing::record_solve(problems, of);
    const Recording again = testing::record_solve(problems, of);
    // The machine's name and four needs of memory.
    const auto machine = message_of(once, Payload::shape, 5 * sizeof(double), 0);
    const auto machine_again = message_of(again, Payload::shape, 5 * sizeof(double), 0);
    EXPECT_FALSE(std::equal(machine.begin(), machine.begin() + sizeof(double), machine_again.begin()));
    EXPECT_TRUE(std::equal(machine.begin() + sizeof(double), machine.end(), machine_again.begin() + sizeof(double)));
    if (of.policy != "open") continue;
    // The largest cost and whether pairs are forbidden, then fingerprints of C and C'.
    constexpr std::size_t kPair = 2 * sizeof(double);
    EXPECT_EQ(message_of(once, Payload::note, kPair, 0), message_of(again, Payload::note, kPair, 0));
    EXPECT_NE(message_of(once, Payload::note, kPair, 1), message_of(again, Payload::note, kPair, 1));
  }
}

}  // namespace
}  // namespace fedsinkhorn
