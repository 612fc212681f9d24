#include "core/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace fedsinkhorn::test {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 7, 40};
constexpr std::size_t kChunkCounts[] = {0, 1, 2, 3, 7, 32, 41, 1000};

/// Counts the threads that have run a chunk, and those of them that have ended.
std::atomic<int> begun{0};
std::atomic<int> ended_threads{0};
struct Presence {
  Presence() { ++begun; }
  ~Presence() { ++ended_threads; }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;
};

/// A loop in which every thread of the team runs a chunk.
void meet(int threads) {
  std::latch all_here(threads);
  parallel_chunks(threads, static_cast<std::size_t>(threads), [&](std::size_t, std::size_t) {
    thread_local const Presence presence;
    all_here.arrive_and_wait();
  });
}

/// One loop, checked: every chunk once, numbers below `threads`, none of them in use twice at a time.
void check_loop(int threads, std::size_t chunks) {
  std::vector<int> runs(chunks, 0);  // plain, so that ThreadSanitizer sees chunks that are run twice
  std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads));
  std::atomic<int> wrong{0};
  parallel_chunks(threads, chunks, [&](std::size_t chunk, std::size_t thread) {
    if (chunk >= chunks || thread >= busy.size() || busy[thread].exchange(true)) {
      ++wrong;
      return;
    }
    ++runs[chunk];
    busy[thread] = false;
  });
  ASSERT_EQ(wrong, 0) << threads << " threads, " << chunks << " chunks";
  ASSERT_EQ(runs, std::vector<int>(chunks, 1)) << threads << " threads, " << chunks << " chunks";
}

TEST(Parallel, EveryChunkOnceOnThreadsOfTheirOwn) {
  for (const int threads : kThreadCounts) {
    for (const std::size_t chunks : kChunkCounts) check_loop(threads, chunks);
  }
}

// Workers of a large team may wake up when a smaller one is at work, and must keep out of it.
TEST(Parallel, TeamsOfChangingSizeInQuickSuccession) {
  for (int k = 0; k < 300; ++k) {
    for (const int threads : kThreadCounts) check_loop(threads, 9);
  }
}

TEST(Parallel, AllThreadsWork) {
  constexpr int threads = 4;
  std::latch all_here(threads);  // no chunk ends before there are four at a time
  std::vector<int> runs(threads, 0);
  parallel_chunks(threads, threads, [&](std::size_t, std::size_t thread) {
    all_here.arrive_and_wait();
    ++runs[thread];
  });
  EXPECT_EQ(runs, std::vector<int>(threads, 1));
}

// A worker begins with its own share: the second half. The caller, in chunk 0, waits for that.
TEST(Parallel, ThreadsBeginWithTheirOwnShare) {
  std::vector<std::size_t> first(2, 99);
  std::latch both(2);
  std::vector<int> has_begun(2, 0);
  parallel_chunks(2, 10, [&](std::size_t chunk, std::size_t thread) {
    if (has_begun[thread]++ != 0) return;
    first[thread] = chunk;
    both.arrive_and_wait();
  });
  EXPECT_EQ(first, (std::vector<std::size_t>{0, 5}));
}

// The caller is held up in one chunk until a worker has done the others, those of the caller's share included.
TEST(Parallel, WhatAThreadDoesNotGetToIsDoneByOthers) {
  std::latch caller_has_begun(1);
  std::latch others(9);
  std::atomic<int> by_worker{0};
  parallel_chunks(2, 10, [&](std::size_t, std::size_t thread) {
    if (thread == 0) {
      caller_has_begun.count_down();
      others.wait();
    } else {
      caller_has_begun.wait();
      ++by_worker;
      others.count_down();
    }
  });
  EXPECT_EQ(by_worker, 9);
}

TEST(Parallel, OneExceptionIsThrownWhenAllHaveEnded) {
  for (const int threads : kThreadCounts) {
    std::atomic<int> ended{0};
    const auto body = [&](std::size_t chunk, std::size_t) {
      ++ended;
      if (chunk % 7 == 3) throw std::runtime_error("chunk " + std::to_string(chunk));
    };
    try {
      parallel_chunks(threads, 50, body);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).rfind("chunk ", 0), 0U);
      EXPECT_EQ(ended, threads > 1 ? 50 : 4);
    }
    check_loop(threads, 50);  // nothing is left behind
  }
}

TEST(Parallel, LoopsInsideLoops) {
  constexpr std::size_t outer = 20;
  constexpr std::size_t inner = 30;
  std::vector<int> runs(outer * inner, 0);
  parallel_chunks(4, outer, [&](std::size_t i, std::size_t) {
    parallel_chunks(4, inner, [&](std::size_t j, std::size_t thread) {
      ++runs[i * inner + j];
      if (thread != 0) ++runs[0];  // on the thread of the outer chunk alone
    });
  });
  EXPECT_EQ(runs, std::vector<int>(outer * inner, 1));
}

TEST(Parallel, ManyQuickLoopsOfSeveralCallers) {
  constexpr std::size_t callers = 4;
  constexpr std::size_t loops = 2000;
  constexpr std::size_t chunks = 5;
  std::vector<std::size_t> totals(callers, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t caller = 0; caller < callers; ++caller) {
      threads.emplace_back([&totals, caller] {
        for (std::size_t loop = 0; loop < loops; ++loop) {
          std::vector<std::size_t> values(chunks, 0);  // gone after the loop: a late worker must not touch it
          parallel_chunks(3, chunks, [&](std::size_t chunk, std::size_t) { values[chunk] += caller + loop + chunk; });
          for (const std::size_t value : values) totals[caller] += value;
        }
      });
    }
  }
  for (std::size_t caller = 0; caller < callers; ++caller) {
    EXPECT_EQ(totals[caller],
              loops * chunks * caller + chunks * loops * (loops - 1) / 2 + loops * chunks * (chunks - 1) / 2);
  }
}

// All workers are there before it: AddressSanitizer's own locks do not survive a fork while a thread starts.
TEST(Parallel, AForkedChildHasThreadsOfItsOwn) {
  meet(3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    check_loop(3, 20);
    std::thread([] { check_loop(3, 20); }).join();
    std::_Exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Parallel, ThePoolEndsWithItsCaller) {
  for (int k = 0; k < 20; ++k) {
    begun = 0;
    ended_threads = 0;
    std::thread([] {
      meet(5);
      meet(3);
      meet(5);  // the same threads as before
      EXPECT_EQ(begun, 5);
      EXPECT_EQ(ended_threads, 0);
    }).join();
    EXPECT_EQ(begun, 5);
    EXPECT_EQ(ended_threads, 5);
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
