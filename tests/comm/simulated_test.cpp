#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/conformance.hpp"
#include "comm/counting.hpp"
#include "comm/draw.hpp"
#include "comm/stopwatch.hpp"
#include "comm/transports.hpp"
#include "comm/waiting.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/labels.hpp"
#include "support/line_of.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::test {
namespace {

using testing::kInfinity;

/// Virtual seconds, of which many pass quickly.
constexpr Seconds kAmpleVirtual{1e6};
constexpr Seconds kShortVirtual{60};
constexpr auto kTag = Tag::first_free;

/// Round numbers: a message of n bytes takes n / 1024 + 0.5 seconds, an entry 1/8 second.
Scenario round_numbers() {
  Scenario scenario;
  scenario.latency = ConstantLaw{0.5};
  scenario.bandwidth = ConstantLaw{1024};
  scenario.seconds_per_entry = 0.125;
  return scenario;
}

Scenario zero_latency() {
  Scenario scenario;
  scenario.latency = ConstantLaw{0};
  return scenario;
}

Scenario heavy_tailed() {
  Scenario scenario;
  scenario.latency = HeavyTailedLaw{1e-4, 0.8};
  scenario.late = {0.1, 3.0};
  return scenario;
}

Scenario slow_and_uneven() {
  Scenario scenario;
  scenario.bandwidth = LogNormalLaw{1e5, 1.5};
  scenario.latency = UniformLaw{0, 1e-2};
  return scenario;
}

void run(std::size_t clients, const Scenario& scenario, const ClientBody& body, Seconds timeout = kAmpleVirtual) {
  run_simulated(clients, timeout, scenario, body);
}

void send_bytes(Communicator& communicator, std::size_t count, std::size_t to, Tag tag = kTag) {
  communicator.send(std::vector<std::byte>(count), to, on(tag));
}

void receive_bytes(Communicator& communicator, std::size_t count, std::size_t from, Tag tag = kTag) {
  std::vector<std::byte> data(count);
  communicator.receive(data, from, on(tag));
}

/// Nothing but time passes.
bool sleep_until(Communicator& communicator, double time) { return communicator.wait_any({}, time); }

// ---------------------------------------------------------------------------------------------------------------------
// Like every transport

class Simulated : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Simulated, Conform) {
  for (const Scenario& scenario : {zero_latency(), heavy_tailed(), slow_and_uneven()}) {
    for (const Check& check : all_checks()) {
      SCOPED_TRACE(check.name);
      EXPECT_NO_THROW(run(GetParam(), scenario, check.run));
    }
  }
}

TEST_P(Simulated, EveryClientRunsOnceAndOneAtATime) {
  std::map<std::size_t, std::thread::id> threads;
  std::atomic<int> running{0};
  run(GetParam(), Scenario{}, [&](Communicator& communicator) {
    EXPECT_EQ(communicator.size(), GetParam());
    EXPECT_EQ(communicator.now(), 0);
    EXPECT_TRUE(threads.emplace(communicator.rank(), std::this_thread::get_id()).second);
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(++running, 1);
      --running;
      communicator.worked(1000);
    }
  });
  EXPECT_EQ(threads.size(), GetParam());
  EXPECT_EQ(threads.at(0), std::this_thread::get_id());
}

INSTANTIATE_TEST_SUITE_P(Clients, Simulated, ::testing::Values(1, 2, 3, 5, 8), ::testing::PrintToStringParamName());

TEST(SimulatedRun, HundredsOfClientsMeet) {
  constexpr std::size_t kClients = 300;
  std::size_t come = 0;
  run(kClients, heavy_tailed(), [&](Communicator& communicator) {
    std::size_t all = 0;
    for (const Route route : {Route::through_root, Route::direct}) {
      ++come;
      Collectives(communicator, route).barrier();
      all += kClients;
      EXPECT_GE(come, all);
    }
  });
  EXPECT_EQ(come, 2 * kClients);
}

// ---------------------------------------------------------------------------------------------------------------------
// The same again

using Log = std::vector<std::tuple<double, std::size_t, std::size_t, std::size_t>>;  // time, at, from, what

/// Everybody works, and sends news and ordinary messages to everybody, who answer.
Log log_of(Scenario scenario) {
  constexpr std::size_t kClients = 5;
  scenario.compute_factor = LogNormalLaw{1, 0.5};
  scenario.seconds_per_entry = 1e-6;
  Log log;
  run(kClients, scenario, [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    std::vector<std::unique_ptr<Pending>> messages;
    std::vector<std::pair<std::size_t, std::size_t>> meaning;
    std::array<double, 2 * kClients * 20> got{};
    std::vector<std::unique_ptr<Pending>> sends;
    for (std::size_t i = 0; i < 20; ++i) {
      for (std::size_t k = 0; k < kClients; ++k) {
        if (k == rank) continue;
        for (const Tag tag : {Tag::news_u, kTag}) {
          const auto into = std::as_writable_bytes(std::span(&got.at(messages.size()), 1));
          messages.push_back(communicator.start_receive(into, k, on(tag)));
          meaning.emplace_back(k, static_cast<std::size_t>(tag));
        }
      }
    }
    for (std::size_t i = 0; i < 20; ++i) {
      communicator.worked(100);
      const auto number = static_cast<double>(i);
      for (std::size_t k = 0; k < kClients; ++k) {
        if (k == rank) continue;
        sends.push_back(communicator.start_send(std::as_bytes(std::span(&number, 1)), k, on(Tag::news_u)));
        sends.push_back(communicator.start_send(std::as_bytes(std::span(&number, 1)), k, on(kTag)));
      }
    }
    while (!messages.empty()) {
      std::vector<Pending*> all;
      for (const auto& message : messages) all.push_back(message.get());
      EXPECT_TRUE(communicator.wait_any(all, kInfinity));
      for (std::size_t i = messages.size(); i-- > 0;) {
        if (!messages[i]->done()) continue;
        log.emplace_back(communicator.now(), rank, meaning[i].first, meaning[i].second);
        messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(i));
        meaning.erase(meaning.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  });
  return log;
}

TEST(SimulatedRun, TheSameSeedGivesTheSameRunAndAnotherDoesNot) {
  for (Scenario scenario : {heavy_tailed(), slow_and_uneven()}) {
    const Log once = log_of(scenario);
    EXPECT_EQ(once.size(), 5U * 4 * 2 * 20);
    EXPECT_EQ(once, log_of(scenario));
    ++scenario.seed;
    EXPECT_NE(once, log_of(scenario));
  }
}

// What one link draws does not depend on the others.
TEST(SimulatedRun, MoreTrafficElsewhereChangesNoDraw) {
  const auto arrivals = [](bool has_more_traffic) {
    std::vector<double> times;
    run(3, heavy_tailed(), [&](Communicator& communicator) {
      for (int i = 0; i < 10; ++i) {
        if (communicator.rank() == 0) {
          if (has_more_traffic) send_bytes(communicator, 100, 2);
          send_bytes(communicator, 8, 1);
        } else if (communicator.rank() == 1) {
          receive_bytes(communicator, 8, 0);
          times.push_back(communicator.now());
        }
      }
    });
    return times;
  };
  EXPECT_EQ(arrivals(false), arrivals(true));
  EXPECT_EQ(arrivals(false).size(), 10U);
}

TEST(SimulatedRun, LinksDrawForThemselves) {
  std::array<double, 4> times{};
  run(4, heavy_tailed(), [&](Communicator& communicator) {
    for (std::size_t k = 1; communicator.rank() == 0 && k < 4; ++k) send_bytes(communicator, 8, k);
    if (communicator.rank() == 0) return;
    receive_bytes(communicator, 8, 0);
    times.at(communicator.rank()) = communicator.now();
  });
  EXPECT_NE(times[1], times[2]);
  EXPECT_NE(times[1], times[3]);
  EXPECT_NE(times[2], times[3]);
}

TEST(Draws, FollowTheirLaws) {
  constexpr int kCount = 20000;
  const auto share_below = [](const Law& law, double limit) {
    int below = 0;
    for (int i = 0; i < kCount; ++i) {
      const double value = Draws(3, static_cast<std::uint64_t>(i)).from(law);
      EXPECT_TRUE(std::isfinite(value) && value > 0) << value;
      if (value < limit) ++below;
    }
    return static_cast<double>(below) / kCount;
  };
  constexpr double kNoise = 0.015;  // four standard deviations
  EXPECT_EQ(Draws(1, 1).from(ConstantLaw{0.25}), 0.25);
  EXPECT_EQ(share_below(UniformLaw{2, 6}, 2), 0);
  EXPECT_NEAR(share_below(UniformLaw{2, 6}, 3), 0.25, kNoise);
  EXPECT_EQ(share_below(UniformLaw{2, 6}, 6.0001), 1);
  EXPECT_NEAR(share_below(LogNormalLaw{3, 0.7}, 3), 0.5, kNoise);
  EXPECT_NEAR(share_below(LogNormalLaw{3, 0.7}, 3 * std::exp(0.7)), 0.8413, kNoise);
  EXPECT_EQ(share_below(HeavyTailedLaw{2, 1.5}, 2), 0);
  EXPECT_NEAR(share_below(HeavyTailedLaw{2, 1.5}, 8), 1 - std::pow(4, -1.5), kNoise);
  EXPECT_NEAR(share_below(HeavyTailedLaw{2, 0.001}, 1e150), 1 - std::pow(0.5e150, -0.001), kNoise);

  int late = 0;
  for (int i = 0; i < kCount; ++i) late += Draws(3, static_cast<std::uint64_t>(i)).from(Lateness{0.2, 7}) == 7 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(late) / kCount, 0.2, kNoise);
}

// The exponential and the logarithm are our own.
TEST(Draws, AreAsTheFormulaSays) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double z = Random(5, i).normal();
    const double u = 1 - Random(5, i).uniform();
    const double log_normal = 2 * std::exp(3 * z);
    const double pareto = 2 * std::pow(u, -1 / 0.3);
    EXPECT_NEAR(Draws(5, i).from(LogNormalLaw{2, 3}), log_normal, 1e-13 * log_normal);
    EXPECT_NEAR(Draws(5, i).from(HeavyTailedLaw{2, 0.3}), pareto, 1e-13 * pareto);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Times as arithmetic says

TEST(SimulatedTime, AMessageTakesItsBytesAndALatency) {
  run(2, round_numbers(), [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      send_bytes(communicator, 2048, 1);
      EXPECT_EQ(communicator.now(), 0);  // the data are copied
      receive_bytes(communicator, 0, 1);
      EXPECT_EQ(communicator.now(), 3.0);
    } else {
      receive_bytes(communicator, 2048, 0);
      EXPECT_EQ(communicator.now(), 2.5);
      send_bytes(communicator, 0, 0);
    }
  });
}

TEST(SimulatedTime, ALinkCarriesOneMessageAfterTheOther) {
  run(3, round_numbers(), [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      send_bytes(communicator, 1024, 1);
      send_bytes(communicator, 2048, 1, Tag::slice);
      send_bytes(communicator, 1024, 2);  // another link
      EXPECT_FALSE(sleep_until(communicator, 10));
      send_bytes(communicator, 1024, 1);  // free again
    } else if (communicator.rank() == 1) {
      receive_bytes(communicator, 2048, 0, Tag::slice);
      EXPECT_EQ(communicator.now(), 3.5);
      receive_bytes(communicator, 1024, 0);
      EXPECT_EQ(communicator.now(), 3.5);  // has been there since 1.5
      receive_bytes(communicator, 1024, 0);
      EXPECT_EQ(communicator.now(), 11.5);
    } else {
      receive_bytes(communicator, 1024, 0);
      EXPECT_EQ(communicator.now(), 1.5);
    }
  });
}

TEST(SimulatedTime, ALinkMayBeSpecialInOneDirection) {
  Scenario scenario = round_numbers();
  scenario.links = {{0, 1, ConstantLaw{4}, {}, {}}, {0, 2, {}, ConstantLaw{512}, Lateness{1, 8}}};
  run(3, scenario, [](Communicator& communicator) {
    std::vector<double> expected = {1.5, 1 + 4.0, 2 + 0.5 + 8};
    const std::size_t rank = communicator.rank();
    if (rank == 0) {
      send_bytes(communicator, 1024, 1);
      send_bytes(communicator, 1024, 2);
      receive_bytes(communicator, 1024, 1);
    } else {
      if (rank == 1) send_bytes(communicator, 1024, 0);
      receive_bytes(communicator, 1024, 0);
    }
    EXPECT_EQ(communicator.now(), expected[rank]) << rank;
  });
}

TEST(SimulatedTime, WorkTakesTimeAndMoreAtASlowerClient) {
  Scenario scenario = round_numbers();
  scenario.compute_factor = ConstantLaw{2};
  scenario.clients = {{.client = 1, .slower = 10}};
  run(2, scenario, [](Communicator& communicator) {
    Stopwatch watch(communicator);
    { const Stopwatch::Scope scope(watch, 8); }
    EXPECT_EQ(communicator.now(), communicator.rank() == 0 ? 2 : 20);
    EXPECT_EQ(watch.seconds(), communicator.now());
    communicator.worked(0);
    EXPECT_EQ(communicator.now(), communicator.rank() == 0 ? 2 : 20);
  });
}

TEST(SimulatedTime, OthersRunWhileOneWorks) {
  std::vector<std::size_t> order;
  run(3, round_numbers(), [&](Communicator& communicator) {
    communicator.worked(10.0 - 3 * static_cast<double>(communicator.rank()));
    order.push_back(communicator.rank());
  });
  EXPECT_EQ(order, (Ranks{2, 1, 0}));
}

TEST(SimulatedTime, EachStretchOfWorkHasItsOwnFactor) {
  Scenario scenario = round_numbers();
  scenario.compute_factor = UniformLaw{1, 2};
  run(1, scenario, [](Communicator& communicator) {
    std::vector<double> seconds;
    for (int i = 0; i < 10; ++i) {
      const double start = communicator.now();
      communicator.worked(8);
      seconds.push_back(communicator.now() - start);
      EXPECT_GE(seconds.back(), 1);
      EXPECT_LE(seconds.back(), 2);
    }
    std::ranges::sort(seconds);
    EXPECT_EQ(std::unique(seconds.begin(), seconds.end()), seconds.end());
  });
}

TEST(SimulatedTime, APauseMakesWorkLongerAndWakingLater) {
  Scenario scenario = round_numbers();
  scenario.clients = {{.client = 1, .pauses = {{20, 2}, {2, 5}, {10, 1}}}};  // in any order
  run(2, scenario, [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      EXPECT_FALSE(sleep_until(communicator, 2.5));
      send_bytes(communicator, 0, 1);
      return;
    }
    communicator.worked(8);
    EXPECT_EQ(communicator.now(), 1);  // before it
    receive_bytes(communicator, 0, 0);
    EXPECT_EQ(communicator.now(), 7);  // came at 3
    communicator.worked(8 * 4);
    EXPECT_EQ(communicator.now(), 12);  // across the next one
    communicator.worked(8 * 8);
    EXPECT_EQ(communicator.now(), 22);  // up to the beginning of the last one
  });
}

TEST(SimulatedTime, WorkThatAPauseMakesLongerMayMeetTheNext) {
  Scenario scenario = round_numbers();
  scenario.clients = {{.client = 0, .pauses = {{10, 1}, {2, 5}}}};
  run(1, scenario, [](Communicator& communicator) {
    communicator.worked(8 * 8);
    EXPECT_EQ(communicator.now(), 8 + 5 + 1);
  });
}

TEST(SimulatedTime, ALimitWithinAPauseIsSeenAfterIt) {
  Scenario scenario = round_numbers();
  scenario.clients = {{.client = 0, .pauses = {{0, 1}, {2, 5}}}};
  run(1, scenario, [](Communicator& communicator) {
    EXPECT_EQ(communicator.now(), 1);
    EXPECT_FALSE(sleep_until(communicator, 3));
    EXPECT_EQ(communicator.now(), 7);
    EXPECT_FALSE(sleep_until(communicator, 3));  // past already
    EXPECT_EQ(communicator.now(), 7);
  });
}

TEST(SimulatedTime, WaitingEndsAtItsLimit) {
  run(2, round_numbers(), [](Communicator& communicator) {
    std::array<std::byte, 1024> data{};
    if (communicator.rank() == 0) {
      communicator.worked(8 * 10);
      communicator.send(data, 1, on(kTag));
      return;
    }
    const auto receive = communicator.start_receive(data, 0, on(kTag));
    Pending* const one = receive.get();
    for (const double until : {1.0, 6.0, 11.25}) {
      EXPECT_FALSE(communicator.wait_any({&one, 1}, until));
      EXPECT_EQ(communicator.now(), until);
    }
    EXPECT_TRUE(communicator.wait_any({&one, 1}, 100));
    EXPECT_EQ(communicator.now(), 11.5);
    EXPECT_TRUE(communicator.wait_any({&one, 1}, 0));  // done comes before the limit
  });
}

TEST(SimulatedTime, ALimitThatWasNotMetDoesNotDisturbLaterOnes) {
  for (const std::vector<double>& limits : {std::vector{5.0, 50.0, 200.0}, std::vector{200.0, 300.0}}) {
    run(2, round_numbers(), [&](Communicator& communicator) {
      if (communicator.rank() == 0) return send_bytes(communicator, 1024, 1);
      std::array<std::byte, 1024> data{};
      const auto receive = communicator.start_receive(data, 0, on(kTag));
      Pending* const one = receive.get();
      EXPECT_TRUE(communicator.wait_any({&one, 1}, 100));
      EXPECT_EQ(communicator.now(), 1.5);
      for (const double until : limits) {
        EXPECT_FALSE(sleep_until(communicator, until));
        EXPECT_EQ(communicator.now(), until);
      }
    });
  }
}

// The client is woken twice for one wait: the second time must not cut short what it does then.
TEST(SimulatedTime, AMessageAtTheVeryLimit) {
  run(2, round_numbers(), [](Communicator& communicator) {
    if (communicator.rank() == 0) return send_bytes(communicator, 1024, 1);
    std::array<std::byte, 1024> data{};
    const auto receive = communicator.start_receive(data, 0, on(kTag));
    Pending* const one = receive.get();
    EXPECT_TRUE(communicator.wait_any({&one, 1}, 1.5));
    EXPECT_EQ(communicator.now(), 1.5);
    communicator.worked(8 * 10);
    EXPECT_EQ(communicator.now(), 11.5);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Order, and news

/// The order in which 200 messages of one tag are received, with many late.
std::vector<double> order_received(Tag tag, bool reorder) {
  constexpr std::size_t kCount = 200;
  Scenario scenario = heavy_tailed();
  scenario.late = {0.3, 1};
  scenario.reorder = reorder;
  std::vector<double> got(kCount);
  run(2, scenario, [&](Communicator& communicator) {
    std::vector<double> numbers(kCount);
    std::vector<std::unique_ptr<Pending>> messages;
    for (std::size_t i = 0; i < kCount; ++i) {
      numbers[i] = static_cast<double>(i);
      if (communicator.rank() == 0) {
        messages.push_back(communicator.start_send(std::as_bytes(std::span(&numbers[i], 1)), 1, on(tag)));
        communicator.worked(1e6);
      } else {
        messages.push_back(communicator.start_receive(std::as_writable_bytes(std::span(&got[i], 1)), 0, on(tag)));
      }
    }
    for (const auto& message : messages) communicator.wait(*message);
  });
  return got;
}

TEST(SimulatedOrder, OnlyNewsOvertakeAndOnlyIfTheyMay) {
  EXPECT_TRUE(std::ranges::is_sorted(order_received(kTag, true)));
  EXPECT_TRUE(std::ranges::is_sorted(order_received(Tag::news_u, false)));
  auto news = order_received(Tag::news_u, true);
  EXPECT_FALSE(std::ranges::is_sorted(news));
  std::ranges::sort(news);
  for (std::size_t i = 0; i < news.size(); ++i) EXPECT_EQ(news[i], static_cast<double>(i));
}

TEST(SimulatedOrder, NewsOfAGroupAreNewsToo) {
  const auto of_group = static_cast<Tag>(3 * kTags + static_cast<int>(Tag::news_v));
  EXPECT_FALSE(std::ranges::is_sorted(order_received(of_group, true)));
}

TEST(SimulatedNews, AreSentWhenTheyHaveBeenTaken) {
  for (const bool is_posted_first : {false, true}) {
    run(2, round_numbers(), [&](Communicator& communicator) {
      std::array<std::byte, 1024> data{};
      if (communicator.rank() == 1) {
        if (!is_posted_first) communicator.worked(8 * 5);
        receive_bytes(communicator, data.size(), 0, Tag::news_u);
        return;
      }
      const auto send = communicator.start_send(data, 1, on(Tag::news_u));
      Pending* const one = send.get();
      EXPECT_FALSE(send->done());
      EXPECT_FALSE(communicator.wait_any({&one, 1}, 1.25));
      EXPECT_FALSE(send->done());
      EXPECT_TRUE(communicator.wait_any({&one, 1}, kInfinity));
      EXPECT_EQ(communicator.now(), is_posted_first ? 1.5 : 5);
    });
  }
}

TEST(SimulatedNews, ASenderNeedNotStayToSeeThemTaken) {
  run(2, round_numbers(), [](Communicator& communicator) {
    std::array<std::byte, 8> data{std::byte{5}};
    if (communicator.rank() == 0) {
      { const auto send = communicator.start_send(data, 1, on(Tag::news_u)); }
      data[0] = std::byte{6};
    } else {
      std::array<std::byte, 8> got{};
      communicator.receive(got, 0, on(Tag::news_u));
      EXPECT_EQ(got[0], std::byte{5});
    }
  });
}

// Messages may be inside a wrapper's objects.
TEST(SimulatedNews, WakeAClientThatCountsThem) {
  run(2, round_numbers(), [](Communicator& communicator) {
    CountingCommunicator counting(communicator);
    std::array<std::byte, 1024> data{};
    if (counting.rank() == 0) {
      counting.send(data, 1, on(Tag::news_u));
      EXPECT_EQ(counting.now(), 1.5);
    } else {
      counting.receive(data, 0, on(Tag::news_u));
      EXPECT_EQ(counting.now(), 1.5);
      EXPECT_EQ(counting.traffic().bytes_received[0], 1024U);
    }
  });
}

TEST(SimulatedReceive, OneThatIsGivenUpLeavesNoTrace) {
  run(2, round_numbers(), [](Communicator& communicator) {
    std::array<std::byte, 1> one{std::byte{7}};
    if (communicator.rank() == 0) {
      communicator.send(one, 1, on(kTag));
    } else {
      std::array<std::byte, 1> unwanted{};
      { const auto receive = communicator.start_receive(unwanted, 0, on(kTag)); }
      EXPECT_FALSE(sleep_until(communicator, 1));
      EXPECT_EQ(unwanted[0], std::byte{0});
      std::array<std::byte, 1> wanted{};
      communicator.receive(wanted, 0, on(kTag));
      EXPECT_EQ(wanted[0], std::byte{7});
    }
  });
}

TEST(SimulatedReceive, AMessageOfAnotherSize) {
  for (const bool is_posted_first : {false, true}) {
    const auto body = [&](Communicator& communicator) {
      if (communicator.rank() == 0) {
        send_bytes(communicator, 8, 1);
      } else {
        if (!is_posted_first) communicator.worked(8 * 3);
        receive_bytes(communicator, 16, 0);
      }
    };
    EXPECT_EQ(
        line_of<std::runtime_error>([&] { run(2, round_numbers(), body); }),
        "client 0 sent a message of 8 bytes where 16 were expected; its program may be broken or of another version");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Failures

TEST(SimulatedFail, ACauseComesOutOfOneClient) {
  const auto throws = [](Communicator&) { throw std::domain_error("the cause"); };
  EXPECT_EQ(line_of<std::domain_error>([&] { run(1, Scenario{}, throws); }), "the cause");
}

// Clients 1 and 3 wait for client 2, client 0 for client 1, and client 4 computes; client 2 throws.
TEST(SimulatedFail, OneThatThrowsEndsTheOthersAtOnce) {
  int ended = 0;
  const auto body = [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    if (rank == 2) {
      communicator.worked(8 * 3);
      throw std::domain_error("the cause");
    }
    const auto go_on = [&] {
      if (rank != 4) return receive_a_number(communicator, rank == 0 ? 1 : 2);
      communicator.look_up();
      communicator.worked(8 * 7);
      communicator.look_up();
    };
    EXPECT_EQ(line_of<ClientFailed>(go_on), "the cause");
    EXPECT_EQ(communicator.now(), rank == 4 ? 7 : 3);
    ++ended;
    throw std::runtime_error("what it brought about");
  };
  EXPECT_EQ(line_of<std::domain_error>([&] { run(5, round_numbers(), body); }), "the cause");
  EXPECT_EQ(ended, 4);
}

TEST(SimulatedFail, WhatIsNoStandardExceptionComesOutToo) {
  const auto body = [](Communicator& communicator) {
    if (communicator.rank() == 1) throw 5;
    EXPECT_EQ(line_of<ClientFailed>([&] { receive_a_number(communicator, 1); }), "an unknown failure");
  };
  EXPECT_THROW(run(2, Scenario{}, body), int);
}

TEST(SimulatedFail, BadInputIsBadInputEverywhere) {
  const auto body = [](Communicator& communicator) {
    if (communicator.rank() == 0) throw InputError("b.npy", "is empty");
    EXPECT_EQ(line_of<InputError>([&] { receive_a_number(communicator, 0); }), "b.npy: is empty");
    EXPECT_EQ(line_of<InputError>([&] { communicator.look_up(); }), "b.npy: is empty");
  };
  EXPECT_EQ(line_of<InputError>([&] { run(3, Scenario{}, body); }), "b.npy: is empty");
}

TEST(SimulatedFail, TheFirstToGiveUpIsHeard) {
  run(3, Scenario{}, [](Communicator& communicator) {
    if (communicator.rank() == 0) communicator.give_up(false, "first");
    if (communicator.rank() == 1) communicator.give_up(true, "second");
    if (communicator.rank() == 2) {
      EXPECT_EQ(line_of<ClientFailed>([&] { receive_a_number(communicator, 0); }), "first");
    }
  });
}

/// What the clients that wait for a message in a ring throw, and when.
struct Ends {
  std::vector<std::string> lines;
  std::vector<Ranks> lost;
  std::vector<double> times;
};

Ends wait_in_a_ring(std::size_t clients, const Scenario& scenario) {
  Ends ends{std::vector<std::string>(clients), std::vector<Ranks>(clients), std::vector<double>(clients)};
  const auto body = [&](Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    try {
      receive_a_number(communicator, (rank + 1) % clients);
    } catch (const ClientLost& error) {
      ends.lines[rank] = error.what();
      ends.lost[rank] = error.lost();
      ends.times[rank] = communicator.now();
    }
  };
  run(clients, scenario, body, kShortVirtual);
  return ends;
}

TEST(SimulatedLoss, OneThatIsLostIsNamedByAllOthersAtTheTimeLimit) {
  Scenario scenario;
  scenario.clients = {{.client = 2, .lost_at = 30}};
  const Timer timer;
  const Ends ends = wait_in_a_ring(4, scenario);
  EXPECT_LT(timer.seconds(), 30);
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_EQ(ends.lines[rank], "client 2 has not answered for 60 s");
    EXPECT_EQ(ends.lost[rank], Ranks{2});
    EXPECT_EQ(ends.times[rank], kShortVirtual.count());
  }
  EXPECT_EQ(ends.lines[2], "");
}

TEST(SimulatedLoss, SeveralAreAllNamedAndSoAreThosePausing) {
  Scenario scenario;
  scenario.clients = {{.client = 0, .lost_at = 0},
                      {.client = 2, .pauses = {{59, 10}}},
                      {.client = 3, .lost_at = 60},
                      {.client = 4, .lost_at = 61}};
  const Ends ends = wait_in_a_ring(5, scenario);
  for (const std::size_t rank : {1, 2, 4}) {
    EXPECT_EQ(ends.lines[rank], "clients 0, 2 and 3 have not answered for 60 s");
    EXPECT_EQ(ends.lost[rank], (Ranks{0, 2, 3}));
    EXPECT_EQ(ends.times[rank], rank == 2 ? 69 : 60);
  }
  EXPECT_EQ(ends.lines[0] + ends.lines[3], "");
}

TEST(SimulatedLoss, AllAnswerAndStillNothingComes) {
  const Ends ends = wait_in_a_ring(3, Scenario{});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ends.lines[rank],
              "an exchange of client 0 with client 1 did not come about within 60 s although all clients answer; a "
              "longer `timeout` may help");
    EXPECT_TRUE(ends.lost[rank].empty());
    EXPECT_EQ(ends.times[rank], 60);
  }
}

TEST(SimulatedLoss, ThoseThatHaveEndedAreNamedIfNobodyElseIsSilent) {
  const auto line = [](const std::vector<ClientScenario>& clients) {
    Scenario scenario;
    scenario.clients = clients;
    const auto body = [](Communicator& communicator) {
      if (communicator.rank() == 0) receive_a_number(communicator, 1);
      if (communicator.rank() == 2) (void)sleep_until(communicator, 70);
    };
    return line_of<ClientLost>([&] { run(3, scenario, body, kShortVirtual); });
  };
  EXPECT_EQ(line({}), "client 1 has not answered for 60 s");
  EXPECT_EQ(line({{.client = 1, .lost_at = 50}, {.client = 2, .lost_at = 50}}), "client 2 has not answered for 60 s");
}

TEST(SimulatedLoss, ComesOutAsClientLostEvenIfItIsClient0) {
  for (const std::size_t lost : {0, 1}) {
    Scenario scenario;
    scenario.clients = {{.client = lost, .lost_at = 0.5}};
    const auto body = [](Communicator& communicator) { receive_a_number(communicator, 1 - communicator.rank()); };
    EXPECT_EQ(line_of<ClientLost>([&] { run(2, scenario, body, kShortVirtual); }),
              std::string("client ") + (lost == 0 ? "0" : "1") + " has not answered for 60 s");
  }
}

TEST(SimulatedLoss, WhatWasSentBeforeArrivesAndNothingAfter) {
  Scenario scenario = round_numbers();
  scenario.clients = {{.client = 1, .lost_at = 2}};
  bool has_gone_on = false;
  run(2, scenario, [&](Communicator& communicator) {
    if (communicator.rank() == 0) {
      receive_bytes(communicator, 1024, 1);
      EXPECT_EQ(communicator.now(), 2.5);
      std::vector<std::byte> data(1024);
      const auto second = communicator.start_receive(data, 1, on(kTag));
      Pending* const one = second.get();
      EXPECT_FALSE(communicator.wait_any({&one, 1}, 50));
    } else {
      communicator.worked(8);
      send_bytes(communicator, 1024, 0);
      communicator.worked(8);
      send_bytes(communicator, 1024, 0);
      has_gone_on = true;
    }
  });
  EXPECT_FALSE(has_gone_on);
}

// Everything on the stack of a lost client is ended, and what it throws then does not count.
TEST(SimulatedLoss, LeavesItsThreadWhenTheOthersHaveEnded) {
  Scenario scenario = round_numbers();
  scenario.clients = {{.client = 0, .lost_at = 1}, {.client = 2, .lost_at = 3}};
  std::vector<std::string> order;
  run(4, scenario, [&](Communicator& communicator) {
    struct AtEnd {
      std::vector<std::string>& order;
      std::size_t rank;
      ~AtEnd() { order.push_back("end of " + std::to_string(rank)); }
    };
    const AtEnd at_end{order, communicator.rank()};
    if (communicator.rank() % 2 == 1) {
      communicator.worked(8 * 10 * static_cast<double>(communicator.rank()));
      return;
    }
    try {
      receive_a_number(communicator, communicator.rank() + 1);
    } catch (...) {
      communicator.worked(1);
      communicator.give_up(false, "not to be heard");
      EXPECT_ANY_THROW(communicator.look_up());
      EXPECT_ANY_THROW(send_bytes(communicator, 1, 1));
      throw std::runtime_error("not to be heard");
    }
  });
  EXPECT_EQ(order, (std::vector<std::string>{"end of 1", "end of 3", "end of 0", "end of 2"}));
}

TEST(SimulatedLoss, OneThatIsLostFromTheBeginningNeverRuns) {
  Scenario scenario;
  scenario.clients = {{.client = 0, .lost_at = 0}, {.client = 2, .pauses = {{0, 5}}, .lost_at = 4}};
  std::vector<std::size_t> ran;
  run(3, scenario, [&](Communicator& communicator) { ran.push_back(communicator.rank()); });
  EXPECT_EQ(ran, Ranks{1});
}

// ---------------------------------------------------------------------------------------------------------------------
// Waiting for ever

TEST(SimulatedStuck, WaitingForWhatCannotComeDoesNotHang) {
  int stuck = 0;
  const auto body = [&](Communicator& communicator) {
    double number = 0;
    const auto receive = communicator.start_receive(std::as_writable_bytes(std::span(&number, 1)),
                                                    1 - communicator.rank() % 2, on(kTag));
    Pending* const one = receive.get();
    communicator.worked(8);
    EXPECT_FALSE(communicator.wait_any({&one, 1}, 5));
    EXPECT_NE(line_of<std::logic_error>([&] {
                (void)communicator.wait_any({&one, 1}, kInfinity);
              }).find("cannot come"),
              std::string::npos);
    EXPECT_EQ(communicator.now(), 5);
    EXPECT_THROW((void)communicator.wait_any({&one, 1}, kInfinity), std::logic_error);
    ++stuck;
    throw std::domain_error("the cause");
  };
  EXPECT_THROW(run(3, round_numbers(), body), std::domain_error);
  EXPECT_EQ(stuck, 3);
}

TEST(SimulatedStuck, ThoseThatWillBeLostAreNot) {
  Scenario scenario;
  scenario.clients = {{.client = 1, .lost_at = 1000}, {.client = 2, .lost_at = 1000}};
  bool has_gone_on = false;
  EXPECT_NO_THROW(run(3, scenario, [&](Communicator& communicator) {
    if (communicator.rank() == 0) return;
    try {
      (void)communicator.wait_any({}, kInfinity);
      has_gone_on = true;
    } catch (const std::exception&) {
      has_gone_on = true;
    } catch (...) {
      communicator.give_up(false, "not to be heard");
      throw;
    }
  }));
  EXPECT_FALSE(has_gone_on);
}

}  // namespace
}  // namespace fedsinkhorn::test
