// What topologies state about themselves, against what their authors meant.
#include <gtest/gtest.h>

#include "support/problems.hpp"
#include "support/stated.hpp"

namespace fedsinkhorn {
namespace {

bool rows_stay(const std::string& topology, std::size_t clients) {
  Options options;
  options.topology = topology;
  options.clients = clients;
  const std::vector<testing::StatedRound> rounds =
      testing::stated_rounds(testing::random_problem(9, 9, 0.1, 1).view(), options);
  for (const testing::StatedRound& round : rounds) EXPECT_EQ(round.rows_stay, rounds.front().rows_stay);
  return rounds.front().rows_stay;
}

// A grid of one column is a row-reduce.
TEST(Exchanges, RowsStayWhereClientsHoldWholeRowsAlone) {
  EXPECT_TRUE(rows_stay("centralized", 1));
  for (std::size_t clients = 1; clients <= 8; ++clients) {
    SCOPED_TRACE(clients);
    EXPECT_TRUE(rows_stay("row-reduce", clients));
    EXPECT_EQ(rows_stay("grid", clients), grid_shape(clients, {}).columns == 1);
    EXPECT_FALSE(rows_stay("all-to-all", clients));
    EXPECT_FALSE(rows_stay("star", clients));
  }
}

TEST(Exchanges, BitsAreKeptByThosePromisedToKeepThem) {
  EXPECT_EQ(testing::topologies_that_keep_bits(), (testing::NameList{"all-to-all", "star"}));
}

TEST(Exchanges, WhatIsKnownAfterwardsHasTheOwnSliceInItsPlace) {
  constexpr std::size_t targets = 2;
  const testing::OwnedProblem owned = testing::random_problem(9, 7, 0.1, 1, targets);
  for (const std::string& topology : testing::topologies_in_step()) {
    for (const std::size_t clients : {1, 4, 6}) {
      SCOPED_TRACE(topology + ", clients " + std::to_string(clients));
      Options options;
      options.topology = topology;
      options.clients = clients;
      testing::at_every_client(owned.view(), options, [&](const TopologyContext& context, const CountingCommunicator&) {
        const std::unique_ptr<Exchanges> exchanges = testing::topology_named(topology).exchanges(context);
        const Exchanges::Known columns = exchanges->columns();
        EXPECT_EQ(columns.own.size(), context.problem.m());
        ASSERT_LE(columns.own.last, columns.size);
        std::vector<double> own(targets * columns.own.size());
        for (std::size_t k = 0; k < own.size(); ++k) own[k] = static_cast<double>(1 + k + 100 * context.clients.rank());
        std::vector<double> known(targets * columns.size);
        exchanges->columns_in(Payload::slice, targets, own.data(), known.data(), {});
        for (std::size_t k = 0; k < targets; ++k) {
          for (std::size_t j = 0; j < columns.own.size(); ++j) {
            EXPECT_EQ(known[k * columns.size + columns.own.first + j], own[k * columns.own.size() + j]);
          }
        }
        for (const double x : known) EXPECT_GT(x, 0) << "somebody's";
      });
    }
  }
}

}  // namespace
}  // namespace fedsinkhorn
