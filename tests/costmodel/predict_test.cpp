// Predictions: bytes and messages are those that a solve sends; what cannot be is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "support/line_of.hpp"
#include "support/problems.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn {
namespace {

SolveShape shape_for(const std::string& topology, std::size_t clients, std::size_t rows = 53, std::size_t columns = 40,
                     std::size_t targets = 1) {
  SolveShape shape;
  shape.rows = rows;
  shape.columns = columns;
  shape.targets = targets;
  shape.clients = clients;
  shape.options.topology = topology;
  shape.options.method = "sinkhorn";
  return shape;
}

/// Sent in the rounds of a solve, by all clients.
struct Counted {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  std::vector<std::uint64_t> by_client{};
};

Counted counted(const SolveShape& shape, std::int64_t iterations) {
  const testing::OwnedProblem owned = testing::random_problem(shape.rows, shape.columns, 0.3, 31, shape.targets);
  Options options = shape.options;
  options.clients = shape.clients;
  options.threads = 1;
  options.tolerance = 0;
  options.max_iterations = iterations;
  const Result result = solve(owned.view(), options);
  EXPECT_EQ(result.absorptions, 0);
  Counted all;
  for (const ClientReport& client : result.clients) {
    all.bytes += client.sent.rounds;
    all.by_client.push_back(client.sent.rounds);
    for (const SentMessages& left : client.left) {
      if (left.phase == "rounds") all.messages += left.messages;
    }
  }
  return all;
}

/// From the difference of two solves.
void expect_what_is_sent(const SolveShape& shape) {
  constexpr std::int64_t kFew = 5;
  constexpr std::int64_t kMore = 9;
  SCOPED_TRACE(shape.options.topology + ", " + std::to_string(shape.clients) + " clients, " +
               std::to_string(shape.rows) + " rows, " + std::to_string(shape.targets) + " targets");
  const Counted few = counted(shape, kFew);
  const Counted more = counted(shape, kMore);
  for (const char* name : {"office", "cluster"}) {
    const Prediction prediction = predict(read_profile(name), shape);
    EXPECT_EQ(prediction.bytes_per_iteration * (kMore - kFew), more.bytes - few.bytes);
    EXPECT_EQ(prediction.messages_per_iteration * (kMore - kFew), more.messages - few.messages);
    std::uint64_t most = 0;
    for (std::size_t k = 0; k < shape.clients; ++k) most = std::max(most, more.by_client[k] - few.by_client[k]);
    EXPECT_EQ(prediction.bytes_per_client * (kMore - kFew), most);
  }
}

class PredictedBytes : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Topologies, PredictedBytes, ::testing::ValuesIn(testing::topologies_in_step()),
                         [](const auto& info) { return testing::without_dashes(info.param); });

TEST_P(PredictedBytes, AreThoseSent) {
  for (const std::size_t clients : {1, 2, 3, 7}) {
    for (const std::size_t targets : {1, 3}) expect_what_is_sent(shape_for(GetParam(), clients, 53, 40, targets));
  }
}

// Some clients have no rows or no columns.
TEST_P(PredictedBytes, OfEmptySlicesAreThoseSent) {
  expect_what_is_sent(shape_for(GetParam(), 7, 9, 5));
  expect_what_is_sent(shape_for(GetParam(), 3, 2, 50));
}

TEST_P(PredictedBytes, OfManyClientsAreThoseSent) { expect_what_is_sent(shape_for(GetParam(), 40, 60, 50)); }

TEST(PredictedBytes, OfSecureSumsAreThoseSent) {
  for (const std::size_t clients : {2, 3, 7}) {
    for (const std::size_t targets : {1, 3}) {
      SolveShape shape = shape_for("row-reduce", clients, 53, 41, targets);
      shape.options.policy = "sums";
      expect_what_is_sent(shape);
    }
  }
}

// What a server sends is what its clients receive.
TEST(PredictedBytes, OfASumServerAreThoseSentAndReceived) {
  SolveShape shape = shape_for("row-reduce", 4, 53, 41, 3);
  shape.options.policy = "sums";
  shape.options.server = Server::sums;
  const testing::OwnedProblem owned = testing::random_problem(53, 41, 0.3, 31, 3);
  Options options = shape.options;
  options.clients = 4;
  options.tolerance = 0;
  options.max_iterations = 12;
  const Result result = solve(owned.view(), options);
  std::uint64_t bytes = 0;
  for (const ClientReport& client : result.clients) bytes += client.sent.rounds + client.received.rounds;
  EXPECT_EQ(11 * predict(read_profile("office"), shape).bytes_per_iteration, bytes);
}

// More than 64 clients are added up by groups, not client by client: by hand for the two gathers of all-to-all.
TEST(PredictedBytes, OfVeryManyClientsGoByGroups) {
  const Prediction prediction = predict(read_profile("office"), shape_for("all-to-all", 100, 100'000, 50'000, 2));
  const std::uint64_t numbers = 2 * 100'000 + 2 * 50'000;
  const std::uint64_t notes = 2 * 5;  // to the first and back
  EXPECT_EQ(prediction.bytes_per_iteration, 8 * 99 * numbers + 8 * 2 * 99 * notes);
  EXPECT_EQ(prediction.messages_per_iteration, 2U * 100 * 99 + 2U * 99);
}

// ---------------------------------------------------------------------------------------------------------------------
// Times

TEST(Predict, AddsUpWhatItNames) {
  for (const std::string& name : shipped_profiles()) {
    for (const std::string& topology : testing::topologies_in_step()) {
      SolveShape shape = shape_for(topology, 8, 20'000, 20'000);
      shape.iterations = 100;
      const Prediction prediction = predict(read_profile(name), shape);
      SCOPED_TRACE(name + " " + topology);
      EXPECT_EQ(prediction.topology, topology);
      EXPECT_GT(prediction.compute_seconds, 0);
      EXPECT_GT(prediction.communication_seconds, 0);
      EXPECT_DOUBLE_EQ(prediction.seconds_per_iteration, prediction.compute_seconds + prediction.communication_seconds);
      EXPECT_DOUBLE_EQ(prediction.total_seconds, prediction.setup_seconds + 100 * prediction.seconds_per_iteration);
      EXPECT_GT(prediction.memory_bytes, 0);
      EXPECT_GT(prediction.process_memory_bytes, 0);
      EXPECT_FALSE(prediction.formula.empty());
      EXPECT_FALSE(prediction.bottleneck.empty());
    }
  }
}

// The paper's finding: what its clients send takes longer the more they are.
TEST(Predict, OfThePaperAllToAllTakesLongerWithMoreClients) {
  double before = 0;
  for (const std::size_t clients : {2, 4, 8, 16, 32}) {  // its betas do not rise between
    const double now =
        predict(read_profile("paper"), shape_for("all-to-all", clients, 1000, 1000)).communication_seconds;
    EXPECT_GT(now, before) << clients;
    before = now;
  }
}

TEST(Predict, OneClientOnlyComputes) {
  const Prediction prediction = predict(read_profile("office"), shape_for("centralized", 1, 10'000, 10'000));
  EXPECT_EQ(prediction.communication_seconds, 0);
  EXPECT_EQ(prediction.bytes_per_iteration, 0U);
  EXPECT_NEAR(prediction.compute_seconds, 1e8 * 2e-10, 1e-9);  // one pass over the entries
  EXPECT_EQ(prediction.bottleneck, "reading the kernel");
}

TEST(Predict, ComputingIsSharedOut) {
  const Profile office = read_profile("office");
  const double alone = predict(office, shape_for("row-reduce", 2, 8000, 8000)).compute_seconds;
  const double shared = predict(office, shape_for("row-reduce", 8, 8000, 8000)).compute_seconds;
  EXPECT_NEAR(alone / shared, 4, 0.01);
}

TEST(Predict, TopologyAutoIsResolved) {
  EXPECT_EQ(predict(read_profile("office"), shape_for("auto", 4)).topology, "row-reduce");
  EXPECT_EQ(predict(read_profile("office"), shape_for("auto", 1)).topology, "centralized");
}

TEST(Predict, RefusesWhatCannotBe) {
  const Profile office = read_profile("office");
  const auto refused = [&](SolveShape shape) { EXPECT_THROW((void)predict(office, shape), InputError); };
  refused(shape_for("row-reduce", 0));
  refused(shape_for("row-reduce", 2, 0));
  refused(shape_for("row-reduce", 2, 5, 0));
  refused(shape_for("row-reduce", 2, 5, 5, 0));
  refused(shape_for("centralized", 2));
  refused(shape_for("bush", 2));
  SolveShape on_a_device = shape_for("row-reduce", 2);
  on_a_device.options.backend = "cuda";
  refused(on_a_device);
  SolveShape odd_grid = shape_for("grid", 5);
  odd_grid.options.grid = {2, 2};
  refused(odd_grid);
}

// A method and a topology that do not go together: in the words of the solve.
TEST(Predict, RefusesMethodsAsASolveDoes) {
  for (const auto& [method, topology] : {std::pair{"newton", "grid"}, {"newton", "async"}, {"anderson", "async"}}) {
    SolveShape shape = shape_for(topology, 4);
    shape.options.method = method;
    Options options = shape.options;
    options.clients = 4;
    const testing::OwnedProblem owned = testing::random_problem(9, 8, 0.3, 31);
    const std::string of_solve = test::line_of<InputError>([&] { (void)solve(owned.view(), options); });
    EXPECT_EQ(of_solve.find("method: "), 0U) << of_solve;
    EXPECT_EQ(test::line_of<InputError>([&] { (void)predict(read_profile("office"), shape); }), of_solve);
  }
  SolveShape of_whole_rows = shape_for("grid", 5);  // 5 x 1
  of_whole_rows.options.method = "newton";
  EXPECT_GT(predict(read_profile("office"), of_whole_rows).seconds_per_iteration, 0);
}

TEST(Predict, RefusesWhatTheProfileDoesNotKnow) {
  Profile profile = read_profile("office");
  profile.rates.clear();
  EXPECT_THROW((void)predict(profile, shape_for("row-reduce", 2)), InputError);
  profile = read_profile("office");
  profile.links.reset();
  EXPECT_THROW((void)predict(profile, shape_for("row-reduce", 2)), InputError);
  EXPECT_NO_THROW((void)predict(profile, shape_for("centralized", 1)));
  EXPECT_THROW((void)scenario_of(profile, shape_for("row-reduce", 2)), InputError);
}

}  // namespace
}  // namespace fedsinkhorn
