#include "comm/long_work.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <span>
#include <thread>

#include "comm/forwarding.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

using namespace std::chrono_literals;

void no_abandoning() {}

/// Tells another thread how late it is on the clients' clock.
class Clock final : public ForwardingCommunicator {
 public:
  Clock(Communicator& inner, std::atomic<double>& seconds) : ForwardingCommunicator(inner), seconds_(seconds) {}
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) override {
    const bool is_done = ForwardingCommunicator::wait_any(messages, until);
    seconds_ = now();
    return is_done;
  }

 private:
  std::atomic<double>& seconds_;
};

// Three times the limit, on a clock that nothing but messages moves: whoever merely waited would have given up.
TEST(LongWork, MayTakeLongerThanTheTimeLimit) {
  constexpr double limit = 0.02;
  Scenario network;
  network.latency = ConstantLaw{limit / 5};
  std::atomic<double> seconds = 0;
  std::atomic<bool> is_done = false;
  run_simulated(3, Seconds(limit), network, [&](Communicator& communicator) {
    const bool works = communicator.rank() == 1;
    Clock clock(communicator, seconds);
    agree_on_long_work(
        Collectives(clock),
        [&] {
          while (works && seconds < 3 * limit) std::this_thread::sleep_for(1ms);
          if (works) is_done = true;
        },
        no_abandoning);
    EXPECT_TRUE(is_done) << "client " << communicator.rank() << " went on too early";
  });
}

TEST(LongWork, EndsAlikeForAll) {
  std::atomic<int> refusals = 0;
  EXPECT_THROW(run_on_threads(3, Seconds(30),
                              [&](Communicator& communicator) {
                                try {
                                  agree_on_long_work(
                                      Collectives(communicator),
                                      [&] {
                                        if (communicator.rank() == 2) throw InputError("file", "is bad");
                                      },
                                      no_abandoning);
                                } catch (const InputError& error) {
                                  EXPECT_STREQ(error.what(), "file: is bad");
                                  ++refusals;
                                  throw;
                                }
                              }),
               InputError);
  EXPECT_EQ(refusals, 3);
}

// One does not come before all is over; the work of the other ends by being told so.
TEST(LongWork, IsAbandonedWhenAClientIsLost) {
  std::atomic<int> abandoned = 0;
  EXPECT_THROW(run_on_threads(2, Seconds(1),
                              [&](Communicator& communicator) {
                                if (communicator.rank() == 1) {
                                  const auto end = std::chrono::steady_clock::now() + 30s;
                                  while (abandoned == 0 && std::chrono::steady_clock::now() < end) {
                                    std::this_thread::sleep_for(1ms);
                                  }
                                  return;
                                }
                                std::atomic<bool> stop = false;
                                agree_on_long_work(
                                    Collectives(communicator),
                                    [&] {
                                      while (!stop) std::this_thread::sleep_for(1ms);
                                      ++abandoned;
                                    },
                                    [&] { stop = true; });
                              }),
               ClientLost);
  EXPECT_EQ(abandoned, 1);
}

}  // namespace
}  // namespace fedsinkhorn
