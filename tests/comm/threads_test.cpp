#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/conformance.hpp"
#include "comm/transports.hpp"
#include "comm/waiting.hpp"
#include "core/stopwatch.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/labels.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn::test {
namespace {

constexpr double kPromptly = 60;  // seconds; far below kAmple, far above what a busy machine needs

class OnThreads : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OnThreads, Conform) {
  for (const Check& check : all_checks()) {
    SCOPED_TRACE(check.name);
    EXPECT_NO_THROW(run_on_threads(GetParam(), kAmple, check.run));
  }
}

TEST_P(OnThreads, EveryClientRunsOnce) {
  std::mutex mutex;
  std::map<std::size_t, std::thread::id> threads;
  run_on_threads(GetParam(), kAmple, [&](Communicator& communicator) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(communicator.size(), GetParam());
    EXPECT_TRUE(threads.emplace(communicator.rank(), std::this_thread::get_id()).second);
  });
  EXPECT_EQ(threads.size(), GetParam());
  EXPECT_EQ(threads.at(0), std::this_thread::get_id());
}

TEST_P(OnThreads, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (const Route route : {Route::direct, Route::through_root}) {
    std::atomic<std::size_t> come{0};
    run_on_threads(GetParam(), kAmple, [&](Communicator& communicator) {
      for (std::size_t i = 1; i <= 100; ++i) {
        ++come;
        Collectives(communicator, route).barrier();
        EXPECT_GE(come, i * GetParam());
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Clients, OnThreads, ::testing::Range<std::size_t>(1, 9), ::testing::PrintToStringParamName());

// ---------------------------------------------------------------------------------------------------------------------
// Failures

TEST(ThreadsFail, ACauseComesOutOfOneClient) {
  const auto throws = [](Communicator&) { throw std::domain_error("the cause"); };
  EXPECT_EQ(line_of<std::domain_error>([&] { run_on_threads(1, kAmple, throws); }), "the cause");
}

// Clients 1 and 3 wait for client 2 and client 0 for client 1; client 2 throws.
TEST(ThreadsFail, OneThatThrowsEndsTheOthersAtOnce) {
  const Timer timer;
  std::atomic<int> ended{0};
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == 2) throw std::domain_error("the cause");
    const auto wait = [&] { receive_a_number(communicator, communicator.rank() == 0 ? 1 : 2); };
    EXPECT_EQ(line_of<ClientFailed>(wait), "the cause");
    ++ended;
    throw std::runtime_error("what it brought about");
  };
  EXPECT_EQ(line_of<std::domain_error>([&] { run_on_threads(4, kAmple, body); }), "the cause");
  EXPECT_EQ(ended, 3);
  EXPECT_LT(timer.seconds(), kPromptly);
}

TEST(ThreadsFail, BadInputIsBadInputEverywhere) {
  const auto body = [](Communicator& communicator) {
    if (communicator.rank() == 0) throw InputError("b.npy", "is empty");
    EXPECT_EQ(line_of<InputError>([&] { receive_a_number(communicator, 0); }), "b.npy: is empty");
  };
  EXPECT_EQ(line_of<InputError>([&] { run_on_threads(3, kAmple, body); }), "b.npy: is empty");
}

TEST(ThreadsFail, ALongReasonIsCutShortOnTheWay) {
  const std::string reason(2000, 'x');
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == 0) throw std::runtime_error(reason);
    const auto line = line_of<ClientFailed>([&] { receive_a_number(communicator, 0); });
    EXPECT_GT(line.size(), 400U);
    EXPECT_TRUE(reason.starts_with(line));
  };
  EXPECT_EQ(line_of<std::runtime_error>([&] { run_on_threads(2, kAmple, body); }), reason);
}

TEST(ThreadsFail, AMessageOfAnotherSize) {
  for (const bool is_posted_first : {false, true}) {
    const auto body = [&](Communicator& communicator) {
      std::array<std::byte, 8> eight{};
      std::array<std::byte, 16> sixteen{};
      if (communicator.rank() == 0) {
        if (is_posted_first) communicator.receive({}, 1, on(Tag::slice));
        communicator.send(eight, 1, on(Tag::first_free));
      } else {
        const auto receive = communicator.start_receive(sixteen, 0, on(Tag::first_free));
        if (is_posted_first) communicator.send({}, 0, on(Tag::slice));
        communicator.wait(*receive);
      }
    };
    EXPECT_EQ(
        line_of<std::runtime_error>([&] { run_on_threads(2, kAmple, body); }),
        "client 0 sent a message of 8 bytes where 16 were expected; its program may be broken or of another version");
  }
}

/// The others wait for a message in a ring; these do nothing until all others have failed.
struct Silence {
  std::size_t clients;
  Ranks silent;
};

void fall_silent(const Silence& silence, std::vector<std::string>& lines, std::vector<Ranks>& lost) {
  lines.assign(silence.clients, "");
  lost.assign(silence.clients, {});
  // Nobody begins to wait before all are there: a thread that starts late is not silent.
  std::latch begin(static_cast<std::ptrdiff_t>(silence.clients));
  std::latch failed(static_cast<std::ptrdiff_t>(silence.clients - silence.silent.size()));
  run_on_threads(silence.clients, kShort, [&](Communicator& communicator) {
    begin.arrive_and_wait();
    const std::size_t rank = communicator.rank();
    if (std::ranges::find(silence.silent, rank) != silence.silent.end()) {
      failed.wait();
      return;
    }
    try {
      receive_a_number(communicator, (rank + 1) % silence.clients);
    } catch (const ClientLost& error) {
      lines[rank] = error.what();
      lost[rank] = error.lost();
    }
    failed.count_down();
  });
}

TEST(ThreadsFail, OneThatFallsSilentIsNamedByAllOthers) {
  std::vector<std::string> lines;
  std::vector<Ranks> lost;
  const Timer timer;
  fall_silent({4, {2}}, lines, lost);
  EXPECT_LT(timer.seconds(), kShort.count() + 5);
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_EQ(lines[rank], "client 2 has not answered for 0.2 s");
    EXPECT_EQ(lost[rank], Ranks{2});
  }
}

TEST(ThreadsFail, SeveralThatFallSilentAreAllNamed) {
  std::vector<std::string> lines;
  std::vector<Ranks> lost;
  fall_silent({5, {0, 2, 3}}, lines, lost);
  for (const std::size_t rank : {1, 4}) {
    EXPECT_EQ(lines[rank], "clients 0, 2 and 3 have not answered for 0.2 s");
    EXPECT_EQ(lost[rank], (Ranks{0, 2, 3}));
  }
}

TEST(ThreadsFail, AllAnswerAndStillNothingComes) {
  std::vector<std::string> lines;
  std::vector<Ranks> lost;
  const Timer timer;
  fall_silent({3, {}}, lines, lost);
  EXPECT_LT(timer.seconds(), kShort.count() + 5);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_NE(lines[rank].find("within 0.2 s although all clients answer"), std::string::npos) << lines[rank];
    EXPECT_EQ(lines[rank], lines[0]);
    EXPECT_TRUE(lost[rank].empty());
  }
}

TEST(ThreadsFail, SilenceComesOutAsClientLost) {
  std::latch failed(1);
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == 1) {
      failed.wait();
      return;
    }
    try {
      receive_a_number(communicator, 1);
    } catch (...) {
      failed.count_down();
      throw;
    }
  };
  EXPECT_EQ(line_of<ClientLost>([&] { run_on_threads(2, kShort, body); }), "client 1 has not answered for 0.2 s");
}

// Longer than several looks for notices, less than the time limit.
TEST(ThreadsFail, OneThatComputesIsNotLost) {
  EXPECT_NO_THROW(run_on_threads(3, kAmple, [](Communicator& communicator) {
    const Timer timer;
    while (communicator.rank() == 1 && timer.seconds() < 0.05) {
    }
    Collectives(communicator).barrier();
  }));
}

// A receive that is no longer wanted does not catch a later message, and nobody writes into its buffer.
TEST(ThreadsFail, AReceiveThatIsGivenUpLeavesNoTrace) {
  run_on_threads(2, kAmple, [](Communicator& communicator) {
    std::array<std::byte, 1> one{std::byte{7}};
    if (communicator.rank() == 0) {
      communicator.receive({}, 1, on(Tag::slice));
      communicator.send(one, 1, on(Tag::first_free));
    } else {
      { const auto unwanted = communicator.start_receive(one, 0, on(Tag::first_free)); }
      communicator.send({}, 0, on(Tag::slice));
      std::array<std::byte, 1> wanted{};
      communicator.receive(wanted, 0, on(Tag::first_free));
      EXPECT_EQ(wanted[0], std::byte{7});
    }
  });
}

TEST(Group, IsRefusedToThoseOutsideAndToWrongNumbers) {
  run_on_threads(2, kAmple, [](Communicator& communicator) {
    EXPECT_THROW((void)make_group(communicator, {1 - communicator.rank()}, 1), std::logic_error);
    EXPECT_THROW((void)make_group(communicator, {0, 1}, 0), std::logic_error);
    EXPECT_THROW((void)make_group(communicator, {0, 1}, 8), std::logic_error);
  });
}

}  // namespace
}  // namespace fedsinkhorn::test
