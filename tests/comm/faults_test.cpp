#include "support/faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/conformance.hpp"
#include "comm/transports.hpp"
#include "comm/waiting.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn::test {
namespace {

constexpr Tag kOrdinary = Tag::first_free;

void send_number(Communicator& communicator, double number, std::size_t to, Tag tag) {
  communicator.send(std::as_bytes(std::span(&number, 1)), to, on(tag));
}

double receive_number(Communicator& communicator, std::size_t from, Tag tag) {
  double number = -1;
  communicator.receive(std::as_writable_bytes(std::span(&number, 1)), from, on(tag));
  return number;
}

std::vector<double> receive_numbers(Communicator& communicator, std::size_t count, std::size_t from, Tag tag) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = receive_number(communicator, from, tag);
  return numbers;
}

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return numbers;
}

/// Sends 0, 1, ... without waiting in between.
void send_counted(Communicator& communicator, std::size_t count, std::size_t to, Tag tag) {
  const std::vector<double> numbers = counted(count);
  std::vector<std::unique_ptr<Pending>> sends;
  for (const double& number : numbers) {
    sends.push_back(communicator.start_send(std::as_bytes(std::span(&number, 1)), to, on(tag)));
  }
  for (const auto& send : sends) communicator.wait(*send);
}

/// Client 0 sends `count` numbers, client 1 receives `receives`; both through the wrapper.
template <class Wrapper, class Options>
std::vector<double> sent_through(const Options& options, std::size_t count, std::size_t receives, Tag tag) {
  std::vector<double> numbers;
  run_on_threads(2, kAmple, [&](Communicator& transport) {
    Wrapper wrapper(transport, options);
    if (wrapper.rank() == 0) {
      send_counted(wrapper, count, 1, tag);
    } else {
      numbers = receive_numbers(wrapper, receives, 0, tag);
    }
  });
  return numbers;
}

// ---------------------------------------------------------------------------------------------------------------------
// Whatever happens on the way, what transports promise still holds

/// A way to put wrappers between a transport and its user.
struct Fault {
  const char* name;
  void (*run)(Communicator& transport, const ClientBody& body);
};

constexpr double kLittle = 0.0003;  // seconds; rounds of many short messages are to end soon
constexpr double kSeldom = 0.03;

const std::array kFaults = {
    Fault{"Delayed",
          [](Communicator& transport, const ClientBody& body) {
            DelayedCommunicator delayed(transport, {.least = 0, .most = 0.001, .probability = kSeldom});
            body(delayed);
          }},
    Fault{"Dropped",
          [](Communicator& transport, const ClientBody& body) {
            DroppedCommunicator dropped(transport, {.retry = kLittle, .probability = kSeldom});
            body(dropped);
          }},
    Fault{"Reordered",
          [](Communicator& transport, const ClientBody& body) {
            ReorderedCommunicator reordered(transport, {.probability = 0.5, .limit = 0.001});
            body(reordered);
          }},
    Fault{"Duplicated",
          [](Communicator& transport, const ClientBody& body) {
            DuplicatedCommunicator duplicated(transport, {.probability = 0.5});
            body(duplicated);
          }},
    Fault{"Paused",
          [](Communicator& transport, const ClientBody& body) {
            PausedCommunicator paused(transport, {.messages = 3 * transport.rank()}, 0.001);
            body(paused);
          }},
    Fault{"KilledLater",
          [](Communicator& transport, const ClientBody& body) {
            KilledCommunicator killed(transport, {}, std::stop_token());
            body(killed);
          }},
};

const Fault kTogether = {"Together", [](Communicator& transport, const ClientBody& body) {
                           PausedCommunicator paused(transport, {.messages = 5}, 0.001);
                           BadNetwork network(paused, 7, kLittle, kSeldom);
                           KilledCommunicator killed(network.communicator(), {}, std::stop_token());
                           body(killed);
                         }};

class UnderFaults : public ::testing::TestWithParam<std::tuple<Fault, std::size_t>> {};

TEST_P(UnderFaults, TransportsConform) {
  const Fault& fault = std::get<0>(GetParam());
  for (const Check& check : all_checks()) {
    SCOPED_TRACE(check.name);
    EXPECT_NO_THROW(run_on_threads(std::get<1>(GetParam()), kAmple,
                                   [&](Communicator& transport) { fault.run(transport, check.run); }));
  }
}

std::string name_of_faulty_run(const ::testing::TestParamInfo<UnderFaults::ParamType>& test) {
  return std::get<0>(test.param).name + std::to_string(std::get<1>(test.param));
}

INSTANTIATE_TEST_SUITE_P(Alone, UnderFaults,
                         ::testing::Combine(::testing::ValuesIn(kFaults), ::testing::Values(1, 2, 3)),
                         name_of_faulty_run);
INSTANTIATE_TEST_SUITE_P(Stacked, UnderFaults,
                         ::testing::Combine(::testing::Values(kTogether), ::testing::Values(1, 2, 3, 5)),
                         name_of_faulty_run);

TEST(UnderFaultsSimulated, TransportsConform) {
  for (const Check& check : all_checks()) {
    SCOPED_TRACE(check.name);
    EXPECT_NO_THROW(run_simulated(
        2, kAmple, Scenario{}, [&](Communicator& transport) { check.run(BadNetwork(transport, 7).communicator()); }));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Delays

constexpr double kDelay = 0.02;

/// Client 0 starts a message that is held back, and then does something else until it has come; client 1 sees when.
double seconds_under_way(const std::function<void(Communicator&, Pending&)>& something_else) {
  double sent_at = 0;
  double came_at = 0;
  std::atomic<bool> has_come = false;
  run_on_threads(2, kAmple, [&](Communicator& transport) {
    if (transport.rank() == 1) {
      (void)receive_number(transport, 0, kOrdinary);
      came_at = transport.now();
      has_come = true;
      return;
    }
    DelayedCommunicator delayed(transport, {.least = kDelay, .most = kDelay});
    const double number = 1;
    sent_at = delayed.now();
    const auto send = delayed.start_send(std::as_bytes(std::span(&number, 1)), 1, on(kOrdinary));
    EXPECT_FALSE(send->done());
    const double limit = delayed.now() + kAmple.count();
    while (!has_come && delayed.now() < limit) something_else(delayed, *send);
  });
  return came_at - sent_at;
}

TEST(Delayed, ComesLaterWhicheverCallTheSenderMakesMeanwhile) {
  EXPECT_GE(seconds_under_way([](Communicator& client, Pending& send) { client.wait(send); }), kDelay);
  EXPECT_GE(seconds_under_way([](Communicator& client, Pending&) {
              // For something else, or for nothing.
              (void)client.wait_any({}, client.now() + 2 * kDelay);
            }),
            kDelay);
  EXPECT_GE(seconds_under_way([](Communicator&, Pending& send) { (void)send.done(); }), kDelay);
  EXPECT_GE(seconds_under_way([](Communicator& client, Pending&) { client.look_up(); }), kDelay);
  EXPECT_GE(seconds_under_way([](Communicator& client, Pending&) {
              const auto receive = client.start_receive({}, 1, on(kOrdinary));  // nothing will come
              EXPECT_FALSE(receive->done());
            }),
            kDelay);
}

TEST(Delayed, OrdinaryMessagesKeepTheirOrder) {
  const Delays delays{.least = 0, .most = 0.002, .probability = 0.7};
  EXPECT_EQ(sent_through<DelayedCommunicator>(delays, 100, 100, kOrdinary), counted(100));
}

TEST(Delayed, NewsOvertakeEachOther) {
  const Delays delays{.least = 0, .most = 0.002, .probability = 0.7};
  auto numbers = sent_through<DelayedCommunicator>(delays, 100, 100, Tag::news_u);
  EXPECT_NE(numbers, counted(100));
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, counted(100));
}

TEST(Delayed, AMessageThatIsEndedBeforeItIsSentIsDropped) {
  run_on_threads(2, kAmple, [](Communicator& transport) {
    if (transport.rank() == 1) {
      EXPECT_EQ(receive_number(transport, 0, kOrdinary), 2);
      return;
    }
    DelayedCommunicator delayed(transport, {.least = 1e-3, .most = 1e-3});
    const double unwanted = 1;
    { const auto dropped = delayed.start_send(std::as_bytes(std::span(&unwanted, 1)), 1, on(kOrdinary)); }
    send_number(delayed, 2, 1, kOrdinary);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Losses

TEST(Dropped, ComesAllTheSameAfterTheLastRetry) {
  double sent_at = 0;
  double came_at = 0;
  run_on_threads(2, kAmple, [&](Communicator& transport) {
    DroppedCommunicator dropped(transport, {.retry = 0.005, .probability = 1, .most = 3});
    if (dropped.rank() == 0) {
      sent_at = dropped.now();
      send_number(dropped, 5, 1, kOrdinary);
    } else {
      EXPECT_EQ(receive_number(dropped, 0, kOrdinary), 5);
      came_at = dropped.now();
    }
  });
  EXPECT_GE(came_at - sent_at, 0.015);
}

TEST(Dropped, OrdinaryMessagesKeepTheirOrder) {
  const Losses losses{.retry = 0.0005, .probability = 0.5, .most = 3};
  EXPECT_EQ(sent_through<DroppedCommunicator>(losses, 100, 100, kOrdinary), counted(100));
}

// ---------------------------------------------------------------------------------------------------------------------
// Order

TEST(Reordered, NewsAreSwapped) {
  // The limit is never met: the second is started at once, after which both are.
  const auto numbers = sent_through<ReorderedCommunicator>(Swaps{.probability = 1, .limit = 100}, 6, 6, Tag::news_v);
  EXPECT_EQ(numbers, (std::vector<double>{1, 0, 3, 2, 5, 4}));
}

TEST(Reordered, IsTheSameForTheSameSeedOnly) {
  constexpr std::size_t kCount = 50;
  const auto order_of = [](std::uint64_t seed) {
    std::vector<double> order;
    run_on_threads(2, kAmple, [&](Communicator& transport) {
      ReorderedCommunicator reordered(transport, {.probability = 0.5, .limit = 100, .seed = seed});
      if (reordered.rank() == 1) {
        order = receive_numbers(reordered, kCount, 0, Tag::news_u);
        reordered.send({}, 0, on(kOrdinary));
        return;
      }
      // One more than is received: it may be held back until the limit.
      const std::vector<double> numbers = counted(kCount + 1);
      std::vector<std::unique_ptr<Pending>> sends;
      for (const double& number : numbers) {
        sends.push_back(reordered.start_send(std::as_bytes(std::span(&number, 1)), 1, on(Tag::news_u)));
      }
      reordered.receive({}, 1, on(kOrdinary));
    });
    return order;
  };
  EXPECT_EQ(order_of(3), order_of(3));
  EXPECT_NE(order_of(3), order_of(4));
}

TEST(Reordered, OrdinaryMessagesAreNot) {
  const Swaps swaps{.probability = 1, .limit = 100};
  EXPECT_EQ(sent_through<ReorderedCommunicator>(swaps, 100, 100, kOrdinary), counted(100));
}

TEST(Reordered, TheLastOneComesAfterTheLimit) {
  const auto numbers = sent_through<ReorderedCommunicator>(Swaps{.probability = 1, .limit = 0.005}, 3, 3, Tag::news_u);
  EXPECT_EQ(numbers, (std::vector<double>{1, 0, 2}));
}

// ---------------------------------------------------------------------------------------------------------------------
// Copies

TEST(Duplicated, NewsComeTwice) {
  const auto numbers = sent_through<DuplicatedCommunicator>(Copies{.probability = 1}, 3, 6, Tag::news_u);
  EXPECT_EQ(numbers, (std::vector<double>{0, 0, 1, 1, 2, 2}));
}

TEST(Duplicated, OrdinaryMessagesDoNot) {
  EXPECT_EQ(sent_through<DuplicatedCommunicator>(Copies{.probability = 1}, 3, 3, kOrdinary), counted(3));
}

TEST(Duplicated, ACopyNobodyTakesHoldsNobodyUp) {
  EXPECT_EQ(sent_through<DuplicatedCommunicator>(Copies{.probability = 1}, 1, 1, Tag::news_u), counted(1));
}

// ---------------------------------------------------------------------------------------------------------------------
// Pauses and deaths

TEST(Paused, OthersWaitAndGoOn) {
  static constexpr double kPause = 0.05;
  double paused_at = 0;  // nobody leaves the barrier before client 1 has written it
  run_on_threads(3, kAmple, [&](Communicator& transport) {
    const auto rest = [&](double seconds) {
      paused_at = transport.now();
      PausedCommunicator::sleep(seconds);
    };
    PausedCommunicator client(transport, transport.rank() == 1 ? Moment{.messages = 1} : Moment{}, kPause, rest);
    Collectives(client).barrier();
    EXPECT_GE(client.now() - paused_at, kPause);
  });
}

TEST(Paused, RestsOnceWhenTheMomentComesEvenWhileWaiting) {
  run_on_threads(1, kAmple, [](Communicator& transport) {
    std::vector<double> rests;
    const double moment = transport.now() + 0.005;
    PausedCommunicator paused(transport, {.time = moment}, 7, [&](double seconds) {
      rests.push_back(seconds);
      EXPECT_GE(transport.now(), moment);
    });
    paused.look_up();
    EXPECT_TRUE(rests.empty() || transport.now() >= moment);
    EXPECT_FALSE(paused.wait_any({}, moment + 0.005));
    EXPECT_GE(transport.now(), moment + 0.004);
    paused.look_up();
    EXPECT_EQ(rests, std::vector<double>{7});
  });
}

TEST(Paused, RestsInVirtualTimeToo) {
  run_simulated(2, kAmple, Scenario{}, [](Communicator& transport) {
    const auto rest = [&](double seconds) { (void)transport.wait_any({}, transport.now() + seconds); };
    PausedCommunicator client(transport, transport.rank() == 1 ? Moment{.messages = 1} : Moment{}, 50, rest);
    Collectives(client).barrier();
    EXPECT_GE(client.now(), 50);
    EXPECT_LT(client.now(), 51);
  });
}

/// Client 1 of 3 dies; the others talk to each other and to it until they notice. Returns what all threw.
std::vector<std::string> ends_when_one_dies(const Moment& moment) {
  constexpr std::size_t kClients = 3;
  std::vector<std::string> lines(kClients);
  std::latch begin(kClients);
  std::latch failed(kClients - 1);
  std::stop_source over;
  const auto body = [&](Communicator& transport) {
    begin.arrive_and_wait();  // who starts late is not dead
    const bool dies = transport.rank() == 1;
    KilledCommunicator client(transport, dies ? moment : Moment{}, over.get_token());
    try {
      for (;;) Collectives(client).barrier();
    } catch (const ClientLost& error) {
      lines[client.rank()] = error.what();
      EXPECT_EQ(error.lost(), std::vector<std::size_t>{1});
    } catch (const Killed& error) {
      EXPECT_TRUE(dies);
      client.give_up(false, "the dead do not speak");
      lines[client.rank()] = error.what();
    }
    if (dies) return;
    failed.count_down();
    failed.wait();
    over.request_stop();
  };
  run_on_threads(kClients, kShort, body);
  return lines;
}

TEST(Killed, IsFoundOutByAllOthersByTheTimeLimit) {
  const auto lines = ends_when_one_dies({.messages = 21});
  const std::string lost = "client 1 has not answered for 0.2 s";
  EXPECT_EQ(lines, (std::vector<std::string>{lost, "this client was killed by a test", lost}));
}

TEST(Killed, DoesNotAnswerFromTheMomentOn) {
  run_on_threads(1, kAmple, [](Communicator& transport) {
    std::stop_source over;
    KilledCommunicator client(transport, {.time = transport.now() + 0.002}, over.get_token());
    over.request_stop();
    EXPECT_THROW((void)client.wait_any({}, client.now() + 100), Killed);
    EXPECT_THROW(client.look_up(), Killed);
  });
}

}  // namespace
}  // namespace fedsinkhorn::test
