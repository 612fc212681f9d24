// Transports, sessions and policies by their names: those of a test are as good as those of the library.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "../comm/conformance.hpp"
#include "comm/alone.hpp"
#include "comm/forwarding.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "solve/client_solve.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

using testing::OwnedProblem;

/// Messages that have left, by kind, in all runs of the transport "watched".
std::array<std::atomic<std::size_t>, kPayloads.size()> departures;

std::size_t departed(Payload kind) { return departures.at(static_cast<std::size_t>(kind)); }

class Watched final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    ++departures.at(static_cast<std::size_t>(label.kind));
    return inner().start_send(data, to, label);
  }
};

class NoSlices final : public PayloadPolicy {
 public:
  void check(const Departure& message) override {
    if (message.kind == Payload::slice) throw InputError("`policy`", "slices stay with their client");
  }
};

class ByName : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    transports().add(
        {.name = "watched", .run = [](std::size_t clients, const RunSettings& settings, const ClientBody& body) {
           run_on_threads(clients, settings.timeout, [&](Communicator& communicator) {
             Watched watched(communicator);
             body(watched);
           });
         }});
    transports().add({.name = "hermit", .join = [](Seconds, const StopRequest&) { return std::make_unique<Alone>(); }});
    policies().add({"no-slices", "slices stay with their client", [] { return std::make_unique<NoSlices>(); }});
  }

  void SetUp() override {
    for (auto& count : departures) count = 0;
    options.threads = 1;
    options.clients = 3;
  }

  OwnedProblem owned = testing::random_problem(12, 15, 0.1, 3);
  Options options;
};

std::string input_error_of(const auto& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(ByName, ATransportOfATestSolves) {
  for (const TopologyEntry& topology : topologies()) {
    if (!topology.several_clients || topology.is_asynchronous) continue;
    SCOPED_TRACE(topology.name);
    options.topology = topology.name;
    options.transport = "threads";
    const Result usual = solve(owned.view(), options);
    options.transport = "watched";
    const Result watched = solve(owned.view(), options);
    EXPECT_EQ(watched.transport, "watched");
    EXPECT_FALSE(watched.clock_is_virtual);
    EXPECT_EQ(watched.f, usual.f);
    EXPECT_EQ(watched.g, usual.g);
  }
  for (const Payload kind : {Payload::options, Payload::shape, Payload::slice, Payload::sum, Payload::note,
                             Payload::potential, Payload::result, Payload::text, Payload::control}) {
    EXPECT_GT(departed(kind), 0U) << name_of(kind);
  }
}

TEST_F(ByName, APolicyKeepsSlicesOnEveryTopology) {
  options.transport = "watched";
  options.policy = "no-slices";
  for (const TopologyEntry& topology : topologies()) {
    if (!topology.several_clients) continue;
    SCOPED_TRACE(topology.name);
    options.topology = topology.name;
    EXPECT_EQ(input_error_of([&] { (void)solve(owned.view(), options); }), "policy: slices stay with their client");
  }
  EXPECT_EQ(departed(Payload::slice), 0U);
  EXPECT_GT(departed(Payload::options), 0U);
}

TEST_F(ByName, AllClientsHaveTheSamePolicy) {
  for (const std::size_t odd : {0, 1}) {
    const std::string line = input_error_of([&] {
      run_on_threads(2, Seconds(60), [&](Communicator& communicator) {
        Options own;
        if (communicator.rank() == odd) own.policy = "no-slices";
        (void)solve_as_client(owned.view(), own, communicator);
      });
    });
    EXPECT_EQ(line, odd == 1 ? "policy: is no-slices on client 1; client 0 has open"
                             : "policy: is open on client 1; client 0 has no-slices");
  }
  options.policy = "gossip";
  EXPECT_EQ(input_error_of([&] { (void)solve(owned.view(), options); }),
            "policy: unknown name 'gossip'; this build knows: open, sums, private, no-slices");
}

TEST_F(ByName, ASessionIsMadeFromATransport) {
  options.clients = 0;
  const Result usual = solve(owned.view(), options);
  Session session("hermit");
  EXPECT_EQ(session.rank(), 0U);
  EXPECT_EQ(session.size(), 1U);
  for (int time = 0; time < 2; ++time) {
    const Result alone = solve(owned.view(), options, session);
    EXPECT_EQ(alone.transport, "hermit");
    EXPECT_EQ(alone.f, usual.f);
  }
}

TEST_F(ByName, ASessionIsNotMadeFromAnyName) {
  const auto line = [](const std::string& transport, double timeout) {
    return input_error_of([&] { const Session session(transport, timeout); });
  };
  EXPECT_EQ(line("threads", 1), "transport: 'threads' runs all clients in one process; solve without a session");
  EXPECT_NE(line("pigeons", 1).find("transport: unknown name 'pigeons'"), std::string::npos);
  EXPECT_NE(line("hermit", 0).find("timeout: "), std::string::npos);
  options.transport = "hermit";
  EXPECT_NE(
      input_error_of([&] { (void)solve(owned.view(), options); }).find("'hermit' is not for clients of one process"),
      std::string::npos);
}

// What every transport must do, on each that runs in this process.
TEST_F(ByName, TransportsConform) {
  const Scenario scenario;
  for (const TransportEntry& transport : transports()) {
    if (!transport.run) continue;
    for (const test::Check& check : test::all_checks()) {
      SCOPED_TRACE(std::string(transport.name) + ": " + check.name);
      for (const std::size_t clients : {2, 3}) {
        EXPECT_NO_THROW(transport.run(clients, {Seconds(300), scenario}, check.run));
      }
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
