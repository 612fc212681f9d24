// A system that grants no threads. Every child process here asks for stacks that no machine has room for.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "comm/transports.hpp"
#include "core/thread_pool.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::test {
namespace {

/// Ends with status 0 and the line on standard error if the body is refused.
[[noreturn]] void run_without_threads(const std::function<void()>& body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 46U);
  if (pthread_setattr_default_np(&attributes) != 0) std::_Exit(3);
  try {
    body();
  } catch (const InputError& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(0);
  }
  std::_Exit(1);
}

const char* const kLine = "the system grants too few threads, 4 are wanted; use fewer `clients` or `threads`";

TEST(FewThreads, ClientsOnThreadsAreRefused) {
  EXPECT_EXIT(run_without_threads([] { run_on_threads(4, Seconds(60), [](Communicator&) {}); }),
              ::testing::ExitedWithCode(0), kLine);
}

TEST(FewThreads, SimulatedClientsAreRefused) {
  EXPECT_EXIT(run_without_threads([] { run_simulated(4, Seconds(60), {}, [](Communicator&) {}); }),
              ::testing::ExitedWithCode(0), kLine);
}

TEST(FewThreads, ThreadsOfAClientAreRefused) {
  EXPECT_EXIT(run_without_threads([] { const ThreadPool pool(4); }), ::testing::ExitedWithCode(0), kLine);
}

}  // namespace
}  // namespace fedsinkhorn::test
