#include "topology/news.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "comm/forwarding.hpp"
#include "comm/transports.hpp"
#include "support/labels.hpp"
#include "topology/bulletin.hpp"

namespace fedsinkhorn {
namespace {

constexpr Seconds kAmple{120};

/// Counts what is sent.
class SendCounter final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    ++sends;
    return ForwardingCommunicator::start_send(data, to, label);
  }
  std::size_t sends = 0;
};

std::vector<double> message(double iteration, double published, double value) {
  return {1, iteration, published, 0, value};
}

TEST(News, AReceiverThatDoesNotReadCostsNoMemory) {
  run_on_threads(2, kAmple, [](Communicator& communicator) {
    if (communicator.rank() == 1) {
      // Reads only when the other has published everything.
      communicator.receive({}, 0, on(Tag::first_free));
      Inbox inbox(communicator, 0, {Tag::news_v, Payload::slice}, 1, 1);
      while (inbox.stamp().iteration < 10'000) {
        communicator.wait(inbox.next());
        EXPECT_GT(inbox.take(), 0U);
      }
      EXPECT_EQ(inbox.values()[0], 10'000);  // the newest came through
      communicator.send({}, 0, on(Tag::first_free));
      return;
    }
    SendCounter counter(communicator);
    Outbox outbox(counter, 1, {Tag::news_v, Payload::slice});
    std::vector<double> newest;
    for (int k = 1; k <= 10'000; ++k) outbox.publish(newest = message(k, k, k), 0);
    EXPECT_EQ(counter.sends, kWindow);
    EXPECT_FALSE(outbox.is_empty());
    communicator.send({}, 1, on(Tag::first_free));
    while (!outbox.is_empty()) {
      std::vector<Pending*> under_way;
      outbox.add_to(under_way);
      if (!under_way.empty()) communicator.wait(*under_way.front());
      outbox.catch_up(newest, 0);
    }
    EXPECT_LE(counter.sends, 2 * kWindow);
    communicator.receive({}, 1, on(Tag::first_free));
  });
}

TEST(News, OlderAndForeignOnesAreDropped) {
  run_on_threads(2, kAmple, [](Communicator& communicator) {
    if (communicator.rank() == 0) {
      const std::vector<double> sent[] = {message(5, 1, 50), message(4, 2, 40), message(5, 1, 51), {2, 9, 9, 0, 90}};
      std::vector<std::unique_ptr<Pending>> sends;
      for (const auto& each : sent) {
        sends.push_back(communicator.start_send(std::as_bytes(std::span(each)), 1, on(Tag::news_u)));
      }
      for (const auto& send : sends) communicator.wait(*send);
      communicator.send({}, 1, on(Tag::first_free));
      return;
    }
    Inbox inbox(communicator, 0, {Tag::news_u, Payload::slice}, 1, 1);
    communicator.receive({}, 0, on(Tag::first_free));  // all four have been taken by then
    EXPECT_EQ(inbox.take(), 1U);
    EXPECT_EQ(inbox.stamp().iteration, 5);
    EXPECT_EQ(inbox.values()[0], 50);
  });
}

TEST(IterationTimes, CountsThoseAfterAMoment) {
  IterationTimes times(3);
  EXPECT_EQ(times.begun_after(0), 0U);
  for (const double start : {1.0, 2.0, 3.0}) times.begin(start);
  EXPECT_EQ(times.begun_after(3), 0U);
  EXPECT_EQ(times.begun_after(1.5), 2U);
  EXPECT_EQ(times.begun_after(0), 3U);
  for (const double start : {4.0, 5.0, 6.0}) times.begin(start);
  EXPECT_EQ(times.begun_after(0), 4U);  // stands for all above 3
  EXPECT_EQ(times.begun_after(5), 1U);
}

}  // namespace
}  // namespace fedsinkhorn
