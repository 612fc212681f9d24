// The same worst case however days are dealt, and whatever carries the sums.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "risk/reference.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

using testing::RiskInstance;

constexpr std::size_t kDealtDays = 29;

RiskInstance dealt_instance(RiskCost cost, double level, bool stays) {
  RiskInstance instance = testing::random_points(kDealtDays, 23, 3, 77);
  testing::draw_masses(instance, 5);
  instance.settings.cost = cost;
  instance.settings.epsilon = 0.02;
  instance.settings.radius = cost == RiskCost::mahalanobis ? 2.0 : 0.4;
  instance.settings.cvar_level = level;
  instance.settings.may_stay = stays;
  return instance;
}

/// Uneven; with three clients and more, one has no days.
std::vector<RiskProblem> uneven_parts(const RiskInstance& instance, std::size_t clients) {
  std::vector<std::size_t> ends(clients + 1);
  for (std::size_t k = 1; k < clients; ++k) ends[k] = k * k * instance.n / (clients * clients);
  ends[clients] = instance.n;
  if (clients >= 3) ends[2] = ends[1];
  std::vector<RiskProblem> parts;
  for (std::size_t k = 0; k < clients; ++k) parts.push_back(instance.part(ends[k], ends[k + 1]));
  return parts;
}

RiskOptions options_of_way(const std::string& policy, const std::string& transport, Server server = Server::none) {
  RiskOptions options;
  options.options.threads = 1;
  options.options.policy = policy;
  options.options.transport = transport;
  options.options.server = server;
  return options;
}

void expect_worst(const WorstCase& one, const WorstCase& other, bool same_bits) {
  EXPECT_EQ(one.status, other.status);
  EXPECT_EQ(one.is_binding, other.is_binding);
  if (same_bits) {
    EXPECT_EQ(one.loss, other.loss);
    EXPECT_EQ(one.lambda, other.lambda);
    EXPECT_EQ(one.transport_cost, other.transport_cost);
    EXPECT_EQ(one.dual, other.dual);
    EXPECT_EQ(one.entropic_primal, other.entropic_primal);
    return;
  }
  EXPECT_NEAR(one.loss, other.loss, 1e-10);
  EXPECT_NEAR(one.lambda, other.lambda, 1e-8 * std::abs(other.lambda));
  EXPECT_NEAR(one.transport_cost, other.transport_cost, 1e-10);
  EXPECT_NEAR(one.dual, other.dual, 1e-9);
}

void expect_same_risk(const RiskResult& one, const RiskResult& other, bool same_bits) {
  expect_worst(one.worst, other.worst, same_bits);
  ASSERT_EQ(one.sweep.size(), other.sweep.size());
  for (std::size_t k = 0; k < one.sweep.size(); ++k) expect_worst(one.sweep[k], other.sweep[k], same_bits);
  EXPECT_NEAR(one.expected_loss, other.expected_loss, 1e-10);
  EXPECT_NEAR(one.least_radius, other.least_radius, 1e-12);
  EXPECT_NEAR(one.stays, other.stays, 1e-10);
  ASSERT_EQ(one.scenario_weights.size(), other.scenario_weights.size());
  for (std::size_t j = 0; j < one.scenario_weights.size(); ++j) {
    EXPECT_NEAR(one.scenario_weights[j], other.scenario_weights[j], 1e-9);
  }
  ASSERT_EQ(one.histogram.after.size(), other.histogram.after.size());
  for (std::size_t k = 0; k < one.histogram.after.size(); ++k) {
    EXPECT_NEAR(one.histogram.before[k], other.histogram.before[k], 1e-12);
    EXPECT_NEAR(one.histogram.after[k], other.histogram.after[k], 1e-9);
  }
  ASSERT_EQ(one.moves.size(), other.moves.size());
  for (std::size_t i = 0; i < one.moves.size(); ++i) {
    EXPECT_EQ(one.moves[i].day, other.moves[i].day);
    EXPECT_EQ(one.moves[i].scenario, other.moves[i].scenario);
    EXPECT_NEAR(one.moves[i].loss_before, other.moves[i].loss_before, 1e-15);
    EXPECT_NEAR(one.moves[i].loss_after, other.moves[i].loss_after, 1e-9);
    EXPECT_NEAR(one.moves[i].cost, other.moves[i].cost, 1e-9);
  }
  EXPECT_EQ(one.rows, other.rows);
}

struct Way {
  std::string policy;
  std::string transport;
  Server server = Server::none;
};

class RiskClients : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Clients, RiskClients, ::testing::Values(1U, 3U, 5U, 7U));

void compare_with_one_client(const RiskInstance& instance, std::size_t clients) {
  const double radius = instance.settings.radius;
  RiskOptions by_itself = options_of_way("open", "threads");
  by_itself.radii = {1.2 * radius, 1.1 * radius};
  const RiskResult alone = worst_case(instance.view(), by_itself);
  ASSERT_EQ(alone.status, Status::converged);
  std::vector<Way> ways = {{"open", "threads"}, {"open", "simulated"}};
  if (clients > 1) {
    ways.push_back({"sums", "threads"});
    ways.push_back({"sums", "simulated"});
    ways.push_back({"sums", "threads", Server::sums});
  }
  for (const Way& way : ways) {
    SCOPED_TRACE(way.policy + ", " + way.transport + (way.server == Server::sums ? ", server" : ""));
    RiskOptions options = options_of_way(way.policy, way.transport, way.server);
    options.radii = by_itself.radii;
    const RiskResult dealt = worst_case(uneven_parts(instance, clients), options);
    expect_same_risk(dealt, alone, way.policy == "open");
    EXPECT_EQ(dealt.client_count, clients);
    EXPECT_EQ(dealt.policy, way.policy);
    EXPECT_EQ(dealt.clients.size(), clients);
    options.options.clients = clients;
    const RiskResult shared = worst_case(instance.view(), options);
    expect_same_risk(shared, alone, way.policy == "open");
  }
}

TEST_P(RiskClients, OfSquaredDistances) {
  compare_with_one_client(dealt_instance(RiskCost::sqeuclidean, 0, false), GetParam());
}
TEST_P(RiskClients, OfWhitenedPoints) {
  compare_with_one_client(dealt_instance(RiskCost::mahalanobis, 0, false), GetParam());
}
TEST_P(RiskClients, OfTails) { compare_with_one_client(dealt_instance(RiskCost::euclidean, 0.9, false), GetParam()); }
TEST_P(RiskClients, OfDaysThatMayStay) {
  compare_with_one_client(dealt_instance(RiskCost::sqeuclidean, 0, true), GetParam());
}
TEST_P(RiskClients, OfTailsOfDaysThatMayStay) {
  compare_with_one_client(dealt_instance(RiskCost::sqeuclidean, 0.8, true), GetParam());
}

TEST_P(RiskClients, OfGivenCosts) {
  RiskInstance instance = testing::random_costs(kDealtDays, 23, 0.2, 78);
  instance.settings.epsilon = 0.02;
  instance.settings.radius = 0.4;
  compare_with_one_client(instance, GetParam());
}

TEST(RiskClientsOfUniformMass, PartsWithoutMasses) {
  RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  instance.a.clear();
  compare_with_one_client(instance, 3);
}

/// Threads change no bit.
TEST(RiskThreads, KeepBits) {
  RiskInstance instance = testing::random_points(301, 97, 3, 77);
  instance.settings.epsilon = 0.02;
  instance.settings.radius = 0.3;
  RiskOptions options = options_of_way("open", "threads");
  const RiskResult one = worst_case(instance.view(), options);
  options.options.threads = 3;
  const RiskResult three = worst_case(instance.view(), options);
  expect_same_risk(three, one, true);
  EXPECT_EQ(three.scenario_weights, one.scenario_weights);
}

TEST(RiskClients, AnEmptyPartNeedsNoColumns) {
  const RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  std::vector<RiskProblem> parts = {instance.part(0, kDealtDays), instance.part(kDealtDays, kDealtDays)};
  parts[1].returns = AnyMatrix{};
  parts[1].a = {};
  const RiskResult alone = worst_case(instance.view(), options_of_way("open", "threads"));
  expect_same_risk(worst_case(parts, options_of_way("open", "threads")), alone, true);
}

TEST(RiskClients, WithoutAnyDay) {
  const RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  const std::vector<RiskProblem> parts = {instance.part(0, 0), instance.part(kDealtDays, kDealtDays)};
  const std::string line =
      test::line_of<InputError>([&] { (void)worst_case(parts, options_of_way("open", "threads")); });
  EXPECT_EQ(line.find("returns: no client has any day"), 0U) << line;
}

TEST(RiskClients, MustAgree) {
  RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  RiskInstance other = instance;
  other.scenarios[3] += 1e-9;
  const auto line_of = [&](const RiskProblem& second) {
    const std::vector<RiskProblem> parts = {instance.part(0, 10), second, instance.part(20, kDealtDays)};
    std::string first;
    for (const char* policy : {"open", "sums"}) {
      const std::string line =
          test::line_of<InputError>([&] { (void)worst_case(parts, options_of_way(policy, "threads")); });
      EXPECT_EQ(line.find('\n'), std::string::npos);
      if (!first.empty()) {
        EXPECT_EQ(line, first);
      }
      first = line;
    }
    return first;
  };
  EXPECT_EQ(line_of(other.part(10, 20)).find("scenarios: client 1 has others than client 0"), 0U);
  RiskProblem part = instance.part(10, 20);
  part.radius *= 2;
  EXPECT_NE(line_of(part).find("client 1"), std::string::npos);
  part = instance.part(10, 20);
  part.epsilon *= 2;
  EXPECT_NE(line_of(part).find("epsilon"), std::string::npos) << line_of(part);
  other = instance;
  other.weights[0] += 1;
  EXPECT_EQ(line_of(other.part(10, 20)).find("weights: client 1"), 0U);
  part = instance.part(10, 20);
  part.is_part = false;
  EXPECT_NE(line_of(part).find("client 1"), std::string::npos);
}

TEST(RiskClients, WithTheWholeMustHaveAsManyDays) {
  const RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  RiskProblem shorter = instance.part(0, 20);
  shorter.is_part = false;
  const std::vector<RiskProblem> problems = {instance.view(), shorter};
  const std::string line =
      test::line_of<InputError>([&] { (void)worst_case(problems, options_of_way("open", "threads")); });
  EXPECT_EQ(line.find("returns: "), 0U) << line;
}

TEST(RiskClients, AllHaveMassesOrNone) {
  const RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  std::vector<RiskProblem> parts = {instance.part(0, 10), instance.part(10, 20), instance.part(20, kDealtDays)};
  parts[1].a = {};
  for (const char* policy : {"open", "sums"}) {
    const std::string line =
        test::line_of<InputError>([&] { (void)worst_case(parts, options_of_way(policy, "threads")); });
    EXPECT_EQ(line.find("a: some clients have masses"), 0U) << line;
  }
}

TEST(RiskClients, OneBadPartIsNamedByAll) {
  RiskInstance instance = dealt_instance(RiskCost::sqeuclidean, 0, false);
  instance.returns[3 * 25] = NAN;
  const std::vector<RiskProblem> parts = {instance.part(0, 10), instance.part(10, 20), instance.part(20, kDealtDays)};
  for (const char* policy : {"open", "sums"}) {
    const std::string line =
        test::line_of<InputError>([&] { (void)worst_case(parts, options_of_way(policy, "threads")); });
    EXPECT_EQ(line.find("returns: row 6, column 1 is nan"), 0U) << line;
  }
}

}  // namespace
}  // namespace fedsinkhorn
