// Peers that send what cannot be: the honest ones end, with one line that names the culprit.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/numbering.hpp"
#include "comm/transports.hpp"
#include "comm/waiting.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/hostile.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn {
namespace {

using test::kVeryAmple;
using testing::Attack;
using testing::HostileCommunicator;
using testing::kHostile;

constexpr std::size_t kClients = 3;

/// What each client ended with; "" if with nothing. The hostile one's end is not passed on.
std::vector<std::string> lines_of(bool simulated, const ClientBody& honest, const ClientBody& hostile) {
  std::vector<std::string> lines(kClients);
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == kHostile) {
      try {
        hostile(communicator);
      } catch (const std::exception&) {
      }
      return;
    }
    try {
      honest(communicator);
    } catch (const ClientLost& lost) {
      EXPECT_EQ(lost.lost(), std::vector{kHostile});
      lines[communicator.rank()] = lost.what();
    }
  };
  if (simulated) {
    run_simulated(kClients, kVeryAmple, Scenario{}, body);
  } else {
    run_on_threads(kClients, kVeryAmple, body);
  }
  return lines;
}

void expect_named(const std::vector<std::string>& lines, const std::string& what) {
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (k == kHostile) continue;
    EXPECT_NE(lines[k].find("client 1 sent " + what), std::string::npos) << "client " << k << ": " << lines[k];
    EXPECT_EQ(lines[k].find('\n'), std::string::npos);
  }
}

template <class T>
void tell_all(Communicator& communicator, const T& value, Tag tag) {
  for (std::size_t k = 0; k < communicator.size(); ++k) {
    if (k != communicator.rank()) communicator.send(std::as_bytes(std::span(&value, 1)), k, on(tag));
  }
}

class PeerTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Transports, PeerTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Simulated" : "Threads"; });

// Version 0.1 allocates what the peer says.
TEST_P(PeerTest, ALengthIsNotBelieved) {
  for (const double length : {1e18, -1.0, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    const auto lines = lines_of(
        GetParam(),
        [](Communicator& communicator) {
          (void)Collectives(communicator).of(Payload::note).allgather_text("an honest text");
        },
        [&](Communicator& communicator) { tell_all(communicator, length, Tag::collective); });
    expect_named(lines, "a length of");
  }
}

TEST_P(PeerTest, AMessageOfAnotherSize) {
  const auto lines = lines_of(
      GetParam(),
      [](Communicator& communicator) {
        (void)Collectives(communicator).of(Payload::note).allgather_numbers({});
        const double x = 1;
        (void)Collectives(communicator).of(Payload::note).allgather_numbers({&x, 1});
      },
      [](Communicator& communicator) { tell_all(communicator, char{1}, Tag::collective); });
  expect_named(lines, "a message of 1 bytes where 8 were expected");
}

/// As WatchedCommunicator sends it.
struct Notice {
  std::uint32_t kind = 0;
  std::uint32_t is_for_others = 0;
  std::uint32_t lost_count = 0;
  std::array<std::uint32_t, 64> lost{};
  std::array<char, 476> text{};
};

TEST(PeerNotices, ThatMakeNoSenseNameTheirSender) {
  Notice unknown;
  unknown.kind = 77;
  Notice too_many_lost;
  too_many_lost.kind = 3;
  too_many_lost.lost_count = 1000000;
  Notice nobody_lost;
  nobody_lost.kind = 3;
  nobody_lost.lost_count = 1;
  nobody_lost.lost[0] = 4000000000U;
  Notice endless;
  endless.kind = 2;
  endless.text.fill('x');
  Notice half_for_others;
  half_for_others.kind = 2;
  half_for_others.is_for_others = 2;
  for (const Notice& notice : {unknown, too_many_lost, nobody_lost, endless, half_for_others}) {
    const auto lines = lines_of(
        false,
        [](Communicator& communicator) {
          std::array<std::byte, 1> never{};
          communicator.receive(never, kHostile, on(Tag::slice));
        },
        [&](Communicator& communicator) { tell_all(communicator, notice, Tag::control); });
    expect_named(lines, "a notice that makes no sense");
  }
}

TEST(PeerNotices, OfAnotherSizeNameTheirSender) {
  const auto lines = lines_of(
      false,
      [](Communicator& communicator) {
        std::array<std::byte, 1> never{};
        communicator.receive(never, kHostile, on(Tag::slice));
      },
      [](Communicator& communicator) { tell_all(communicator, char{1}, Tag::control); });
  expect_named(lines, "a message of 1 bytes where 744 were expected");
}

/// Three rounds of equal size; the hostile one's second message to everybody is attacked.
std::vector<std::string> rounds_with(bool simulated, Attack::Kind kind) {
  const auto rounds = [](Communicator& communicator) {
    NumberingCommunicator numbered(communicator);
    for (int round = 0; round < 3; ++round) {
      const auto said = static_cast<double>(10 * round) + static_cast<double>(communicator.rank());
      const auto all = Collectives(numbered).of(Payload::note).allgather_numbers({&said, 1});
      for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k], 10 * round + static_cast<double>(k));
    }
  };
  return lines_of(simulated, rounds, [&](Communicator& communicator) {
    HostileCommunicator hostile(communicator, {{2, kind, 8, 0}, {3, kind, 8, 0}});
    rounds(hostile);
  });
}

// Version 0.1 takes the first round's number for the second's.
TEST_P(PeerTest, AReplayedMessageIsNotTakenForTheCurrentOne) {
  expect_named(rounds_with(GetParam(), Attack::Kind::replay), "message 0 of its kind where message 1 was expected");
}

TEST_P(PeerTest, AMessageThatComesTwiceIsNotTakenForTheNextOne) {
  expect_named(rounds_with(GetParam(), Attack::Kind::repeat), "message 1 of its kind where message 2 was expected");
}

TEST_P(PeerTest, AMessageThatIsLeftOutIsMissed) {
  expect_named(rounds_with(GetParam(), Attack::Kind::drop), "message 2 of its kind where message 1 was expected");
}

TEST_P(PeerTest, AHeaderOfAnotherKind) { expect_named(rounds_with(GetParam(), Attack::Kind::header), "message "); }

// News may overtake each other: their stamps say which is the newest.
TEST_P(PeerTest, NewsAreTakenWhateverTheirNumber) {
  const auto lines = lines_of(
      GetParam(),
      [](Communicator& communicator) {
        NumberingCommunicator numbered(communicator);
        double news = 0;
        numbered.receive(std::as_writable_bytes(std::span(&news, 1)), kHostile, on(Tag::news_u));
        EXPECT_EQ(news, 5);
        numbered.receive(std::as_writable_bytes(std::span(&news, 1)), kHostile, on(Tag::news_u));
        EXPECT_EQ(news, 5);
      },
      [](Communicator& communicator) {
        HostileCommunicator hostile(communicator, {{2, Attack::Kind::replay, 0, 0}, {3, Attack::Kind::replay, 0, 0}});
        NumberingCommunicator numbered(hostile);
        for (const double news : {5.0, 6.0}) tell_all(numbered, news, Tag::news_u);
      });
  for (const std::string& line : lines) EXPECT_EQ(line, "");
}

TEST(FromPeerTest, ValuesWithinTheirRangePass) {
  run_on_threads(2, kVeryAmple, [](Communicator& communicator) {
    const FromPeer peer(communicator, 1 - communicator.rank());
    EXPECT_EQ(peer.count(7, 7, "a count"), 7U);
    EXPECT_EQ(peer.count(static_cast<double>(kMostCount), kMostCount, "a count"), kMostCount);
    EXPECT_TRUE(peer.truth(1, "a truth"));
    EXPECT_EQ(peer.number(std::numeric_limits<double>::infinity(), 0, std::numeric_limits<double>::infinity(), "x"),
              std::numeric_limits<double>::infinity());
    EXPECT_EQ(peer.finite(-2.5, "x"), -2.5);
  });
}

}  // namespace
}  // namespace fedsinkhorn
