// A transport in one file: threads whose messages are turned upside down on their way.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "comm/forwarding.hpp"
#include "comm/transports.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

std::atomic<std::size_t> messages{0};

/// Owns the bytes under way, and turns what has come.
class Turned final : public Pending {
 public:
  Turned(std::vector<std::byte> sent, std::span<std::byte> received) : sent_(std::move(sent)), received_(received) {}
  [[nodiscard]] std::span<const std::byte> sent() const { return sent_; }
  void travel_as(std::unique_ptr<Pending> inner) { inner_ = std::move(inner); }

  [[nodiscard]] bool done() override {
    if (!inner_->done()) return false;
    std::ranges::reverse(std::exchange(received_, {}));
    return true;
  }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  std::vector<std::byte> sent_;
  std::span<std::byte> received_;
  std::unique_ptr<Pending> inner_;
};

class UpsideDown final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    ++messages;
    auto message = std::make_unique<Turned>(std::vector<std::byte>(data.rbegin(), data.rend()), std::span<std::byte>());
    message->travel_as(inner().start_send(message->sent(), to, label));
    return message;
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    auto message = std::make_unique<Turned>(std::vector<std::byte>(), data);
    message->travel_as(inner().start_receive(data, from, label));
    return message;
  }
};

TEST(AToyTransport, CarriesASolveOfEveryTopology) {
  transports().add(
      {.name = "upside-down", .run = [](std::size_t clients, const RunSettings& settings, const ClientBody& body) {
         run_on_threads(clients, settings.timeout, [&](Communicator& communicator) {
           UpsideDown turned(communicator);
           body(turned);
         });
       }});
  const testing::OwnedProblem owned = testing::point_problem(30, 21, 0.02, 4);
  for (const TopologyEntry& topology : topologies()) {
    if (!topology.several_clients || topology.is_asynchronous) continue;
    SCOPED_TRACE(topology.name);
    Options options;
    options.clients = 3;
    options.topology = topology.name;
    const Result expected = solve(owned.view(), options);
    options.transport = "upside-down";
    messages = 0;
    const Result result = solve(owned.view(), options);
    EXPECT_GT(messages, 0U);
    EXPECT_EQ(result.transport, "upside-down");
    EXPECT_EQ(result.f, expected.f);
    EXPECT_EQ(result.g, expected.g);
  }
}

}  // namespace
}  // namespace fedsinkhorn
