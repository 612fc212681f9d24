// What signals do to a process, each in a process of its own.
#include "cli/stop_on_signal.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace fedsinkhorn::test {
namespace {

using namespace std::chrono_literals;

/// Status 0 if the process is there after two signals, the second long after the first, and a stop is asked for.
[[noreturn]] void survive(int first, int second) {
  const StopOnSignal stop_on_signal;
  std::raise(first);
  if (!StopOnSignal::requested()) std::_Exit(1);
  std::this_thread::sleep_for(300ms);  // longer does no harm
  std::raise(second);
  std::_Exit(0);
}

TEST(StopOnSignalDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(survive(SIGTERM, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(survive(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(survive(SIGUSR1, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

TEST(StopOnSignalDeathTest, SigusrIsNoSecondOne) {
  EXPECT_EXIT(survive(SIGTERM, SIGUSR1), ::testing::ExitedWithCode(0), "");
}

// mpirun sends SIGTERM by itself when it was told to end, and kills who does not.
TEST(StopOnSignalDeathTest, UnderMpirunSignalsAreOne) {
  const auto survive_as_a_rank = [] {
    ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    ::setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    survive(SIGTERM, SIGTERM);
  };
  EXPECT_EXIT(survive_as_a_rank(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fedsinkhorn::test
