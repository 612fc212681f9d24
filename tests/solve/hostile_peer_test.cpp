// One client of a solve sends what cannot be, at every stage: no honest client crashes or waits for ever.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/transports.hpp"
#include "core/random.hpp"
#include "fedsinkhorn/error.hpp"
#include "solve/client_solve.hpp"
#include "support/hostile.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

using testing::Attack;
using testing::HostileCommunicator;

constexpr std::size_t kClients = 3;

struct EndedInPlain {
  std::vector<std::string> lines{kClients, std::string()};  // "" for who ended with a result
  std::size_t named_hostile = 0;                            // honest clients that say whose fault it was
  std::size_t sent = 0;                                     // messages of the hostile one
};

/// On the simulated network, where time limits take no time.
EndedInPlain solve_in_plain(const Problem& problem, const Options& options, std::size_t hostile,
                            const std::vector<Attack>& attacks) {
  EndedInPlain ended;
  const auto body = [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    if (me == hostile) {
      HostileCommunicator network(communicator, attacks);
      try {
        (void)solve_as_client(problem, options, network);
      } catch (const std::exception&) {  // leaves without a word
      }
      ended.sent = network.sent();
      return;
    }
    try {
      (void)solve_as_client(problem, options, communicator);
    } catch (const ClientLost& lost) {
      ended.lines[me] = lost.what();
      if (lost.lost() == std::vector{hostile}) ++ended.named_hostile;
    } catch (const InputError& error) {
      ended.lines[me] = error.what();
    } catch (const std::exception& error) {
      ended.lines[me] = error.what();
      ADD_FAILURE() << "client " << me << ": " << error.what();
    }
  };
  Scenario scenario;
  scenario.seconds_per_entry = 1e-6;
  run_simulated(kClients, Seconds(5), scenario, body);
  return ended;
}

class HostilePeer : public ::testing::TestWithParam<std::string> {
 protected:
  static Options options() {
    Options options;
    options.topology = GetParam();
    options.max_iterations = 12;
    options.threads = 1;
    options.backend = "cpu";
    return options;
  }
};
/// Messages that come in order. (Async sends news as well, whose stamps say how old they are: news_test.cpp.)
class NumberedMessages : public HostilePeer {};

std::string name_of_topology(const ::testing::TestParamInfo<std::string>& info) {
  return testing::without_dashes(info.param);
}
INSTANTIATE_TEST_SUITE_P(Topologies, HostilePeer, ::testing::ValuesIn(testing::topologies_of_several_clients()),
                         name_of_topology);
INSTANTIATE_TEST_SUITE_P(Topologies, NumberedMessages, ::testing::ValuesIn(testing::topologies_in_step()),
                         name_of_topology);

TEST_P(HostilePeer, NoMessageCrashesAnybody) {
  const testing::OwnedProblem owned = testing::random_problem(5, 6, 0.2, 3);
  for (const std::size_t hostile : {0U, 1U}) {
    const std::size_t messages = solve_in_plain(owned.view(), options(), hostile, {}).sent;
    ASSERT_GT(messages, 20U);
    Random random(7, hostile);
    for (std::size_t message = 0; message < messages; message += 1 + random.below(3)) {
      const Attack attack{message, static_cast<Attack::Kind>(random.below(Attack::kKinds)), random.below(64),
                          random.below(testing::kSpecialNumbers.size())};
      SCOPED_TRACE("client " + std::to_string(hostile) + ", message " + std::to_string(message) + ", attack " +
                   std::to_string(static_cast<int>(attack.kind)) + " with " + std::to_string(attack.value));
      const EndedInPlain ended = solve_in_plain(owned.view(), options(), hostile, {attack});
      for (const std::string& line : ended.lines) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    }
  }
}

// A stale message of equal size, at any stage.
TEST_P(NumberedMessages, AReplayIsNoticed) {
  const testing::OwnedProblem owned = testing::random_problem(5, 6, 0.2, 3);
  const std::size_t messages = solve_in_plain(owned.view(), options(), 1, {}).sent;
  std::size_t noticed = 0;
  for (std::size_t message = messages / 2; message < messages; message += 7) {
    const EndedInPlain ended = solve_in_plain(owned.view(), options(), 1, {{message, Attack::Kind::replay, 0, 0}});
    if (ended.lines[0].empty() && ended.lines[2].empty()) continue;  // there was none of that size before
    EXPECT_EQ(ended.named_hostile, kClients - 1) << message << ": " << ended.lines[0] << " | " << ended.lines[2];
    ++noticed;
  }
  EXPECT_GT(noticed, 0U);
}

TEST_P(HostilePeer, FlagsAndCountsThatCannotBeNameTheirSender) {
  const testing::OwnedProblem owned = testing::random_problem(5, 6, 0.2, 3);
  const std::size_t messages = solve_in_plain(owned.view(), options(), 1, {}).sent;
  std::size_t named = 0;
  for (std::size_t message = 0; message < messages; ++message) {
    if (solve_in_plain(owned.view(), options(), 1, {{message, Attack::Kind::number, 0, 4}}).named_hostile > 0) ++named;
  }
  EXPECT_GT(named, 5U);
}

}  // namespace
}  // namespace fedsinkhorn
