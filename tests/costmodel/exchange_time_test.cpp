// Times of exchanges against formulas written out for a few clients.
#include "costmodel/exchange_time.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kLatency = 1e-3;
constexpr double kBandwidth = 1e6;
constexpr double kOverhead = 1e-5;

LinkModel links(bool shares_ports, const std::string& algorithm = "direct") {
  return {kLatency, kBandwidth, kOverhead, shares_ports, algorithm};
}

/// Of numbers of 8 bytes in so many messages, each with a header of 24.
double travel(double numbers, int messages = 1) { return (8 * numbers + 24 * messages) / kBandwidth; }

std::vector<std::size_t> slices(std::size_t clients, std::size_t each) { return std::vector(clients, each); }

// ---------------------------------------------------------------------------------------------------------------------
// By links

TEST(ExchangeByLinks, GatherOnOwnPortsTakesAsLongAsOneSlice) {
  const RoundExchange gather = gather_exchange(slices(4, 100), 0, 1);
  const ExchangeCost cost = exchange_by_links(links(false), gather);
  EXPECT_DOUBLE_EQ(cost.seconds, kLatency + 3 * kOverhead + travel(100));
  EXPECT_DOUBLE_EQ(cost.latency_seconds, kLatency + 3 * kOverhead);
}

TEST(ExchangeByLinks, GatherOnSharedPortsTakesAsLongAsTheSlicesOfAllOthers) {
  const RoundExchange gather = gather_exchange(slices(4, 100), 0, 1);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), gather).seconds, kLatency + 3 * kOverhead + travel(3 * 100, 3));
}

TEST(ExchangeByLinks, TargetsAndNotesTravelWithASlice) {
  const RoundExchange gather = gather_exchange(slices(3, 10), 0, 2, 5);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), gather).seconds,
                   kLatency + 2 * kOverhead + travel(2 * (2 * 10 + 5), 2));
}

TEST(ExchangeByLinks, UnevenSlicesGoByTheBusiestPort) {
  const RoundExchange gather = gather_exchange({11, 10, 10}, 0, 1);  // the first sends 22, the others receive 21
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), gather).seconds, kLatency + 2 * kOverhead + travel(22, 2));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), gather).seconds, kLatency + 2 * kOverhead + travel(11));
}

TEST(ExchangeByLinks, SumsSendPartsToTheirOwners) {
  const RoundExchange sum = sum_exchange(slices(5, 20), 0, 3);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), sum).seconds, kLatency + 4 * kOverhead + travel(4 * 60, 4));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), sum).seconds, kLatency + 4 * kOverhead + travel(60));
}

TEST(ExchangeByLinks, AServerCollectsDealsAndBroadcasts) {
  const double wait = kLatency + 3 * kOverhead;
  const RoundExchange collect = collect_exchange(slices(4, 50), 0, 1, 5);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), collect).seconds, wait + travel(3 * 55, 3));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), collect).seconds, wait + travel(55));
  const RoundExchange deal = deal_exchange(slices(4, 50), 0, 1);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), deal).seconds, wait + travel(3 * 50, 3));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), deal).seconds, wait + travel(50));
  const RoundExchange broadcast = broadcast_exchange(4, 0, 7);
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), broadcast).seconds, wait + travel(3 * 7, 3));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), broadcast).seconds, wait + travel(7));
}

// Of more than 32 clients, small slices go by way of the first: to it, and the whole back to each.
TEST(ExchangeByLinks, SmallSlicesOfManyClientsTakeTwoPhases) {
  const RoundExchange gather = gather_exchange(slices(40, 2), 0, 1);
  ASSERT_EQ(gather.phases.size(), 2U);
  const double wait = kLatency + 39 * kOverhead;
  EXPECT_DOUBLE_EQ(exchange_by_links(links(true), gather).seconds, 2 * wait + travel(39 * 2, 39) + travel(39 * 80, 39));
  EXPECT_DOUBLE_EQ(exchange_by_links(links(false), gather).seconds, 2 * wait + travel(2) + travel(80));
}

TEST(ExchangeByLinks, ATreeTakesLogarithmicallyManySteps) {
  const double step = kLatency + kOverhead;
  const std::vector<std::pair<std::size_t, double>> steps = {{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}};
  for (const auto& [clients, rounds] : steps) {
    const auto c = static_cast<double>(clients);
    const ExchangeCost cost = exchange_by_links(links(true, "tree"), gather_exchange(slices(clients, 30), 0, 1));
    EXPECT_DOUBLE_EQ(cost.seconds, rounds * step + (c - 1) * travel(30, 0)) << clients;
  }
}

TEST(ExchangeByLinks, ARingTakesAStepForEveryOther) {
  const ExchangeCost cost = exchange_by_links(links(true, "ring"), sum_exchange(slices(4, 30), 0, 1));
  EXPECT_DOUBLE_EQ(cost.seconds, 3 * (kLatency + kOverhead) + travel(3 * 30, 0));
}

TEST(ExchangeByLinks, OneClientExchangesNothing) {
  EXPECT_EQ(exchange_by_links(links(true), gather_exchange({100}, 0, 1)).seconds, 0);
  EXPECT_EQ(exchange_by_links(links(true, "tree"), sum_exchange({100}, 0, 1)).seconds, 0);
}

// ---------------------------------------------------------------------------------------------------------------------
// Rounds

double total(const std::vector<ExchangeCost>& costs) {
  double seconds = 0;
  for (const ExchangeCost& cost : costs) seconds += cost.seconds;
  return seconds;
}

/// A star's, without the last broadcast if it is not wanted. Of four clients with slices of 50.
Round star_like(bool with_broadcast) {
  Round round;
  round.exchanges = {deal_exchange(slices(4, 50), 0, 1), collect_exchange(slices(4, 50), 0, 1, 5)};
  if (with_broadcast) round.exchanges.push_back(broadcast_exchange(4, 0, 5));
  return round;
}

TEST(RoundByLinks, DirectExchangesFollowEachOther) {
  Round round;
  round.exchanges = {sum_exchange(slices(5, 20), 0, 3), gather_exchange(slices(5, 20), 0, 3, 5)};
  for (const bool shares_ports : {false, true}) {
    double apart = 0;
    for (const RoundExchange& exchange : round.exchanges) {
      apart += exchange_by_links(links(shares_ports), exchange).seconds;
    }
    EXPECT_DOUBLE_EQ(total(round_by_links(links(shares_ports), round, 1)), apart);
  }
}

// The first client answers while the server still sends to the others.
TEST(RoundByLinks, WhatGoesOutAndComesBackOverlaps) {
  const double wait = kLatency + 3 * kOverhead;
  EXPECT_DOUBLE_EQ(total(round_by_links(links(true), star_like(false), 0)), 2 * wait + travel(50) + travel(3 * 55, 3));
  EXPECT_DOUBLE_EQ(total(round_by_links(links(false), star_like(false), 0)), 2 * wait + travel(50) + travel(55));
}

// The server does not wait for the others to be told, and computes meanwhile.
TEST(RoundByLinks, ABroadcastHidesBehindAPass) {
  const double without = total(round_by_links(links(true), star_like(false), 1));
  EXPECT_DOUBLE_EQ(total(round_by_links(links(true), star_like(true), 1)), without + 3 * kOverhead);
  EXPECT_DOUBLE_EQ(total(round_by_links(links(true), star_like(true), 0)), without + 3 * kOverhead + travel(15, 3));
}

// ---------------------------------------------------------------------------------------------------------------------
// By measured times

/// Gathers of 2, 4 and 8 clients.
Profile measured() {
  Profile profile;
  profile.name = "measured";
  const auto add = [&](std::size_t clients, double alpha, double beta) {
    ExchangeTime time;
    time.exchange = "gather";
    time.clients = clients;
    time.alpha = alpha;
    time.beta = beta;
    profile.exchanges.push_back(time);
  };
  add(8, 90e-6, 5e-9);  // in no order
  add(2, 20e-6, 3e-9);
  add(4, 40e-6, 4e-9);
  return profile;
}

ExchangeCost cost_of(std::size_t clients) {
  return exchange_cost(measured(), gather_exchange(slices(clients, 9), 0, 1));
}

TEST(MeasuredExchange, IsExactWhereItWasMeasured) {
  EXPECT_DOUBLE_EQ(cost_of(2).seconds, 20e-6 + 3e-9 * 2 * 72);
  EXPECT_DOUBLE_EQ(cost_of(4).seconds, 40e-6 + 4e-9 * 4 * 72);
  EXPECT_DOUBLE_EQ(cost_of(8).seconds, 90e-6 + 5e-9 * 8 * 72);
  EXPECT_DOUBLE_EQ(cost_of(4).latency_seconds, 40e-6);
  EXPECT_EQ(cost_of(8).note, "");
}

TEST(MeasuredExchange, GrowsWithClientsBetweenAndBeyond) {
  for (std::size_t clients = 3; clients <= 200; ++clients) {
    EXPECT_GT(cost_of(clients).latency_seconds, cost_of(clients - 1).latency_seconds) << clients;
    EXPECT_GT(cost_of(clients).seconds, cost_of(clients - 1).seconds) << clients;
  }
  EXPECT_NE(cost_of(9).note.find("up to 8 clients"), std::string::npos);
}

// Alpha goes on as it did from 4 to 8 clients, by the 3 and 7 messages of each.
TEST(MeasuredExchange, BeyondGrowsWithMessages) {
  EXPECT_NEAR(cost_of(16).latency_seconds, 90e-6 + (90e-6 - 40e-6) / 4 * 8, 1e-12);
}

TEST(MeasuredExchange, BeyondIsNotBelowTheLastOne) {
  Profile profile = measured();
  profile.exchanges[0].alpha = 30e-6;  // of 8 clients: less than of 4
  const ExchangeCost cost = exchange_cost(profile, gather_exchange(slices(64, 9), 0, 1));
  EXPECT_GE(cost.latency_seconds, 30e-6);
}

TEST(MeasuredExchange, OfOneNumberOfClientsGrowsInProportion) {
  Profile profile = measured();
  profile.exchanges.resize(1);
  const ExchangeCost cost = exchange_cost(profile, gather_exchange(slices(15, 9), 0, 1));
  EXPECT_NEAR(cost.latency_seconds, 2 * 90e-6, 1e-12);
}

TEST(MeasuredExchange, GoesByLinksWhereItWasNotMeasured) {
  Profile profile = measured();
  const RoundExchange sum = sum_exchange(slices(4, 9), 0, 1);
  EXPECT_THROW((void)exchange_cost(profile, sum), InputError);
  profile.links = links(true);
  EXPECT_DOUBLE_EQ(exchange_cost(profile, sum).seconds, exchange_by_links(links(true), sum).seconds);
}

TEST(MeasuredExchange, NotesAndWhatFollowsASumAreGathered) {
  Profile profile = measured();
  profile.exchanges.push_back({.exchange = "sum", .clients = 4, .alpha = 1e-3});
  EXPECT_DOUBLE_EQ(exchange_cost(profile, notes_exchange(4, 0, 5)).seconds, 40e-6 + 4e-9 * 4 * 40);
  RoundExchange regather = gather_exchange({10, 10, 10, 10}, 0, 1);
  regather.exchange = Exchange::regather;
  EXPECT_DOUBLE_EQ(exchange_cost(profile, regather).seconds, 40e-6 + 4e-9 * 320);
}

// The gather of somebody else's program, such as the paper's, says nothing of its allreduce.
TEST(MeasuredExchange, WithoutSumsAnAllreduceGoesByLinks) {
  Profile profile = measured();
  profile.links = LinkModel{.latency = 1e-6, .bandwidth = 1e9, .algorithm = "tree"};
  RoundExchange regather = gather_exchange({10, 10, 10, 10}, 0, 1);
  EXPECT_DOUBLE_EQ(exchange_cost(profile, regather).seconds, 40e-6 + 4e-9 * 320);
  regather.exchange = Exchange::regather;
  EXPECT_DOUBLE_EQ(exchange_cost(profile, regather).seconds, 2e-6 + 0.75 * 320e-9);
}

}  // namespace
}  // namespace fedsinkhorn
