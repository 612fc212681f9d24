#include "solve/memory_needs.hpp"

#include <gtest/gtest.h>

#include "comm/alone.hpp"
#include "problem/clients.hpp"
#include "support/line_of.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

/// One client with everything.
ClientShape square_shape(std::size_t n, std::size_t targets = 1) {
  ClientShape shape;
  shape.rows = shape.columns = shape.block_rows = shape.block_columns = shape.all_rows = n;
  shape.targets = targets;
  return shape;
}

Options plain() {
  Options options;
  options.method = "sinkhorn";
  options.topology = "centralized";
  options.backend = "cpu";
  return options;
}

double kernel_of(Options options, Precision precision, const ClientShape& shape) {
  options.precision = precision;
  return kernel_bytes_for(options, shape, 1);
}

TEST(MemoryNeeds, AStoredKernelTakesItsEntries) {
  const ClientShape shape = square_shape(4096);
  const double entries = 4096.0 * 4096.0;
  const double float64 = kernel_of(plain(), Precision::float64, shape);
  EXPECT_GE(float64, 8 * entries);
  EXPECT_LT(float64, 8.5 * entries);
  const double float32 = kernel_of(plain(), Precision::float32, shape);
  EXPECT_GE(float32, 4 * entries);
  EXPECT_LT(float32, 4.5 * entries);
}

TEST(MemoryNeeds, WhatIsNotStoredTakesNoEntries) {
  const ClientShape shape = square_shape(4096);
  Options online = plain();
  online.kernel = KernelKind::online;
  EXPECT_LT(kernel_bytes_for(online, shape, 1), 4096.0 * 4096.0);
  Options log = plain();
  log.stabilization = Stabilization::log;
  EXPECT_EQ(kernel_bytes_for(log, shape, 1), 0);
  EXPECT_LT(bytes_for(online, shape, 1), bytes_for(plain(), shape, 1) / 4);
}

TEST(MemoryNeeds, WholeColumnsAreASecondBlock) {
  ClientShape shape = square_shape(1024);
  const double rows_alone = kernel_bytes_for(plain(), shape, 1);
  shape.whole_columns = true;
  EXPECT_NEAR(kernel_bytes_for(plain(), shape, 1), 2 * rows_alone, 0.01 * rows_alone);
}

TEST(MemoryNeeds, GrowWithTargetsThreadsAndHistory) {
  const ClientShape shape = square_shape(1024);
  const double least = bytes_for(plain(), shape, 1);
  EXPECT_GT(least, kernel_bytes_for(plain(), shape, 1));
  EXPECT_GT(bytes_for(plain(), square_shape(1024, 8), 1), least);
  EXPECT_GT(bytes_for(plain(), shape, 8), least);
  Options accelerated = plain();
  accelerated.method = "anderson";
  EXPECT_GT(bytes_for(accelerated, shape, 1), least);
}

TEST(MemoryNeeds, ClientsTakeRoomToMeet) {
  EXPECT_GT(bytes_to_meet(1000), bytes_to_meet(10));
  ClientShape shape = square_shape(100);
  const double alone = bytes_for(plain(), shape, 1);
  shape.clients = 50;
  EXPECT_EQ(bytes_for(plain(), shape, 1), alone + bytes_to_meet(50));
}

TEST(MemoryNeeds, DoNotWrap) {
  const double bytes = bytes_for(plain(), square_shape(std::size_t{1} << 40U), 1);
  EXPECT_GT(bytes, 8 * std::pow(2.0, 80));
  EXPECT_EQ(whole_bytes(bytes), 9'000'000'000'000'000'000U);
  EXPECT_EQ(whole_bytes(1234.9), 1234U);
}

TEST(MemoryNeeds, ShapesAreThoseOfTheLayout) {
  const testing::OwnedProblem owned = testing::random_problem(9, 6, 0.1, 1, 2);
  const std::vector<Problem> problems(3, owned.view());
  const ClientShape server = shape_of(testing::checked_by_all(problems, "star")[0]);
  EXPECT_EQ(server.rows, 3U);
  EXPECT_EQ(server.block_rows, 9U);
  EXPECT_EQ(server.block_columns, 6U);
  EXPECT_FALSE(server.whole_columns);
  EXPECT_EQ(server.targets, 2U);
  EXPECT_EQ(server.dimension, 0U);
  EXPECT_EQ(server.entry_bytes, sizeof(double));
  EXPECT_EQ(shape_of(testing::checked_by_all(problems, "star")[1]).block_rows, 0U);
  const ClientShape equal = shape_of(testing::checked_by_all(problems, "all-to-all")[2]);
  EXPECT_TRUE(equal.whole_columns);
  EXPECT_EQ(equal.columns, 2U);
  EXPECT_EQ(equal.block_rows, 3U);
  EXPECT_EQ(equal.all_rows, 9U);
  EXPECT_EQ(equal.clients, 3U);
}

// Eight terabytes. With fewer, or none, the options that help are named.
TEST(MemoryNeeds, TooMuchIsRefusedWithWhatWouldHelp) {
  constexpr std::size_t n = 1'000'000;
  const Options options = plain();
  const std::vector<double> points(n);
  const MatrixView<double> line{points.data(), n, 1};
  CheckedProblem problem;
  problem.costs = make_cost_input(PointClouds{line, line});
  problem.layout = testing::layouts_of("centralized", 1)(0);
  problem.a.resize(n);
  for (Side* side : {&problem.rows, &problem.columns}) {
    side->active.resize(n);
    side->slices = {{0, n}};
  }
  Alone alone;
  const Collectives clients(alone);
  const std::string said = test::line_of<InputError>([&] { require_memory(clients, options, problem, 1); });
  EXPECT_TRUE(said.starts_with("memory: this solve needs ")) << said;
  EXPECT_NE(said.find("`kernel` online needs "), std::string::npos) << said;
  EXPECT_EQ(said.find("`precision` mixed"), std::string::npos) << "four terabytes: " << said;
  Options online = options;
  online.kernel = KernelKind::online;
  EXPECT_NO_THROW(require_memory(clients, online, problem, 1));
}

}  // namespace
}  // namespace fedsinkhorn
