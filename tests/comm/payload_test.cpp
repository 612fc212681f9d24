// Messages that say what they are about: what is in front of them, how they are counted, and what may leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "comm/alone.hpp"
#include "comm/collectives.hpp"
#include "comm/counting.hpp"
#include "comm/long_work.hpp"
#include "comm/numbering.hpp"
#include "comm/policy.hpp"
#include "comm/transports.hpp"
#include "comm/waiting.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/hostile.hpp"

namespace fedsinkhorn {
namespace {

using test::kVeryAmple;
using testing::Attack;
using testing::HostileCommunicator;
using testing::kHostile;

TEST(Payloads, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Payload kind : kPayloads) names.insert(name_of(kind));
  EXPECT_EQ(names.size(), kPayloads.size());
  EXPECT_EQ(name_of(Payload::options), "options");
  EXPECT_EQ(name_of(Payload::control), "control");
}

TEST(Payloads, ACollectiveWithoutAKindIsAMistake) {
  run_on_threads(2, kVeryAmple, [](Communicator& communicator) {
    const double x = 1;
    EXPECT_THROW((void)Collectives(communicator).allgather_numbers({&x, 1}), std::logic_error);
    EXPECT_EQ(Collectives(communicator).of(Payload::sum).allgather_numbers({&x, 1}).size(), 2U);
    Collectives(communicator).barrier();
    agree(Collectives(communicator), [] {});
  });
}

/// What client 0 ends with when client 1 changes its messages: in each session the options are told, then one number
/// from each.
std::string line_with(const std::vector<std::uint32_t>& sessions, const std::vector<Attack>& attacks) {
  std::string line;
  const auto sessions_on = [&](Communicator& communicator) {
    for (const std::uint32_t session : sessions) {
      NumberingCommunicator numbered(communicator, session);
      const Collectives all(numbered, Route::through_root);
      EXPECT_EQ(all.of(Payload::options).broadcast_text(communicator.rank() == 0 ? "epsilon" : "", 0), "epsilon");
      const double mine = 1;
      EXPECT_EQ(all.of(Payload::note).allgather_numbers({&mine, 1}), (std::vector<double>{1, 1}));
    }
  };
  run_on_threads(2, kVeryAmple, [&](Communicator& communicator) {
    try {
      if (communicator.rank() != kHostile) return sessions_on(communicator);
      HostileCommunicator hostile(communicator, attacks);
      sessions_on(hostile);
    } catch (const ClientLost& lost) {
      EXPECT_EQ(lost.lost(), std::vector{kHostile});
      if (communicator.rank() == 0) line = lost.what();
    }
  });
  return line;
}

std::string with_header(std::size_t byte) { return line_with({5}, {{0, Attack::Kind::header, byte, 0}}); }

std::string refusal(const std::string& sent) {
  return "client 1 sent " + sent + "; its program may be broken or of another version";
}

TEST(Frames, PassWhenAllIsAsExpected) {
  EXPECT_EQ(line_with({5}, {}), "");
  EXPECT_EQ(line_with({5, 7, 7, 0}, {}), "");
}

TEST(Frames, OfAnotherProtocolAreRefused) {
  EXPECT_EQ(with_header(0), refusal("a message in a protocol not known here"));
}

TEST(Frames, OfAnotherTagAreRefused) { EXPECT_EQ(with_header(4), refusal("a message of another kind than expected")); }

TEST(Frames, OfAnotherKindAreRefused) {
  EXPECT_EQ(with_header(6), refusal("a message of kind potential where one of kind note was expected"));
  EXPECT_EQ(with_header(7), refusal("a message of kind masked note where one of kind note was expected"));
}

TEST(Frames, OfAnotherNumberAreRefused) {
  EXPECT_EQ(with_header(8), refusal("message 1 of its kind where message 0 was expected"));
}

TEST(Frames, OfAnotherSessionAreRefused) { EXPECT_EQ(with_header(12), refusal("a message of another solve")); }

TEST(Frames, OfAnotherLengthAreRefused) {
  EXPECT_EQ(with_header(16), refusal("a message that says it has 9 bytes and has 8"));
}

// It has the number, the kind and the length of the one that is expected.
TEST(Frames, OfAnEarlierSolveAreRefused) {
  const std::vector<Attack> replay = {{1, Attack::Kind::replay, 0, 0}};
  EXPECT_EQ(line_with({5, 7}, replay), refusal("a message of another solve"));
  EXPECT_EQ(line_with({5, 5}, replay), "");
}

// A peer that never says yes or no would be waited for without end.
TEST(Frames, AnAnswerThatIsNeitherYesNorNoIsRefused) {
  std::string line;
  run_on_threads(2, kVeryAmple, [&](Communicator& communicator) {
    HostileCommunicator changed(communicator, communicator.rank() == kHostile
                                                  ? std::vector<Attack>{{0, Attack::Kind::number, 0, 0}}
                                                  : std::vector<Attack>{});
    NumberingCommunicator numbered(changed);
    try {
      agree_on_long_work(
          Collectives(numbered), [] {}, [] {});
    } catch (const ClientLost& lost) {
      if (communicator.rank() == 0) line = lost.what();
    }
  });
  EXPECT_NE(line.find("client 1 sent an answer to whether it is done of nan"), std::string::npos) << line;
}

TEST(Counting, IsByKind) {
  run_on_threads(3, kVeryAmple, [](Communicator& communicator) {
    CountingCommunicator counting(communicator);
    const Collectives all(counting);
    std::vector<double> values(6, 1.0);
    all.of(Payload::sum).allreduce(values);
    (void)all.of(Payload::note).allgather_numbers({values.data(), 1});
    all.barrier();
    const Traffic& traffic = counting.traffic();
    EXPECT_EQ(traffic.of(Payload::sum).bytes_sent, 2U * 4 * sizeof(double));
    EXPECT_EQ(traffic.of(Payload::sum).bytes_received, 2U * 4 * sizeof(double));
    EXPECT_EQ(traffic.of(Payload::sum).messages_sent, 4U);
    EXPECT_EQ(traffic.of(Payload::note).bytes_sent, 2U * sizeof(double));
    EXPECT_EQ(traffic.of(Payload::control).messages_sent, 2U);
    std::uint64_t bytes = 0;
    for (const Payload kind : kPayloads) bytes += traffic.of(kind).bytes_sent;
    EXPECT_EQ(bytes, traffic.bytes_sent[0]);
  });
}

class NoSlices final : public PayloadPolicy {
 public:
  void check(const Departure& message) override {
    if (message.kind == Payload::slice) throw InputError("--policy", "slices stay here");
    bytes += message.bytes;
  }
  std::size_t bytes = 0;
};

TEST(Policies, AreAskedBeforeAByteLeaves) {
  run_on_threads(2, kVeryAmple, [](Communicator& communicator) {
    CountingCommunicator counting(communicator);
    PolicedCommunicator policed(counting);
    const std::size_t other = 1 - communicator.rank();
    const double x = 1;
    double y = 0;
    const auto exchange = [&](Payload kind) {
      const auto receive = policed.start_receive(std::as_writable_bytes(std::span(&y, 1)), other, {Tag::slice, kind});
      policed.send(std::as_bytes(std::span(&x, 1)), other, {Tag::slice, kind});
      policed.wait(*receive);
    };
    exchange(Payload::slice);  // everything may leave until there is a policy
    auto policy = std::make_unique<NoSlices>();
    const NoSlices& rule = *policy;
    policed.obey(std::move(policy));
    exchange(Payload::note);
    EXPECT_THROW(exchange(Payload::slice), InputError);
    EXPECT_EQ(rule.bytes, sizeof x);
    EXPECT_EQ(counting.traffic().of(Payload::slice).messages_sent, 1U);
    EXPECT_EQ(counting.traffic().of(Payload::note).messages_sent, 1U);
  });
}

TEST(Places, AreToldByTheCommunicator) {
  Alone alone;
  EXPECT_TRUE(alone.shares_process());
  EXPECT_FALSE(alone.clock_is_virtual());
  run_on_threads(3, kVeryAmple, [](Communicator& communicator) {
    NumberingCommunicator wrapped(communicator);
    EXPECT_TRUE(wrapped.shares_process());
    EXPECT_FALSE(wrapped.clock_is_virtual());
    EXPECT_EQ(wrapped.clients_on_machine(), 3U);
  });
  run_simulated(3, kVeryAmple, Scenario{}, [](Communicator& communicator) {
    NumberingCommunicator wrapped(communicator);
    EXPECT_TRUE(wrapped.shares_process());
    EXPECT_TRUE(wrapped.clock_is_virtual());
    EXPECT_EQ(wrapped.clients_on_machine(), 1U);
  });
}

}  // namespace
}  // namespace fedsinkhorn
