#include "solve/peak_memory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "core/memory.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kMegabyte = 1e6;

/// Square costs from a file, with clients in one process.
MemoryQuestion square_question(std::size_t n, std::size_t clients = 1, const std::string& topology = "auto") {
  MemoryQuestion question;
  question.rows = question.columns = n;
  question.clients = clients;
  question.options.topology = topology;
  return question;
}

MemoryQuestion from_points(MemoryQuestion question, std::size_t dimension = 3) {
  question.dimension = dimension;
  return question;
}

MemoryQuestion online(MemoryQuestion question) {
  question.options.kernel = KernelKind::online;
  return question;
}

double client_of(const MemoryQuestion& question) { return peak_memory_of(question).client; }

TEST(PeakMemory, AStoredKernelIsMostOfIt) {
  constexpr double entries = 8000.0 * 8000.0;
  MemoryQuestion question = from_points(square_question(8000));
  EXPECT_GT(client_of(question), 8 * entries);
  EXPECT_LT(client_of(question), 8.4 * entries);
  question.options.precision = Precision::mixed;
  EXPECT_GT(client_of(question), 4 * entries);
  EXPECT_LT(client_of(question), 4.4 * entries);
}

TEST(PeakMemory, WhatIsComputedTakesVectorsAlone) {
  const MemoryQuestion question = online(from_points(square_question(8000)));
  EXPECT_LT(client_of(question), 20 * kMegabyte);
  EXPECT_LT(client_of(square_question(0)), 5 * kMegabyte);
}

TEST(PeakMemory, AnOnlineKernelKeepsThePagesOfItsFile) {
  constexpr double file = 4000.0 * 4000.0 * 8;
  const double from_file = client_of(online(square_question(4000)));
  EXPECT_NEAR(from_file - client_of(online(from_points(square_question(4000)))), file, 0.02 * file);
  MemoryQuestion in_float32 = online(square_question(4000));
  in_float32.entry_bytes = sizeof(float);
  EXPECT_NEAR(from_file - client_of(in_float32), file / 2, 0.02 * file);
}

TEST(PeakMemory, CostsInMemoryCountOnceAndHaveNoPages) {
  constexpr double matrix = 4000.0 * 4000.0 * 8;
  for (const bool is_online : {false, true}) {
    MemoryQuestion question = is_online ? online(square_question(4000)) : square_question(4000);
    question.held_bytes = static_cast<std::size_t>(matrix);
    const double without =
        client_of(is_online ? online(from_points(square_question(4000))) : from_points(square_question(4000)));
    EXPECT_NEAR(client_of(question) - without, matrix, 0.02 * matrix);
    EXPECT_NE(peak_memory_of(question).formula.find("costs in memory"), std::string::npos);
  }
}

TEST(PeakMemory, ClientsShareWhatTheLayoutSays) {
  constexpr double kernel = 8000.0 * 8000.0 * 8;
  const auto peak = [](const char* topology) {
    return peak_memory_of(from_points(square_question(8000, 4, topology)));
  };
  EXPECT_NEAR(peak("row-reduce").client, kernel / 4, 0.1 * kernel);
  EXPECT_NEAR(peak("grid").client, kernel / 4, 0.1 * kernel);
  EXPECT_NEAR(peak("all-to-all").client, kernel / 2, 0.1 * kernel);
  EXPECT_NEAR(peak("async").client, kernel / 2, 0.1 * kernel);
  EXPECT_NEAR(peak("star").server, kernel, 0.1 * kernel);
  EXPECT_LT(peak("star").client, 0.02 * kernel);
  EXPECT_EQ(peak("row-reduce").server, 0);
}

TEST(PeakMemory, AProcessOfAllClientsHasTheirKernels) {
  constexpr double kernel = 8000.0 * 8000.0 * 8;
  EXPECT_NEAR(peak_memory_of(from_points(square_question(8000, 4, "row-reduce"))).process, kernel, 0.1 * kernel);
  EXPECT_NEAR(peak_memory_of(from_points(square_question(8000, 4, "all-to-all"))).process, 2 * kernel, 0.1 * kernel);
  EXPECT_NEAR(peak_memory_of(from_points(square_question(8000, 4, "star"))).process, kernel, 0.1 * kernel);
}

// All clients of a process have the same pages of a file.
TEST(PeakMemory, AFileIsMappedOnce) {
  constexpr double file = 4000.0 * 4000.0 * 8;
  for (const char* topology : {"all-to-all", "row-reduce", "star", "grid", "async"}) {
    EXPECT_LT(peak_memory_of(online(square_question(4000, 8, topology))).process, 1.4 * file) << topology;
  }
}

TEST(PeakMemory, MoreOfAnythingTakesMore) {
  for (const TopologyEntry& entry : topologies()) {
    for (const bool with_points : {false, true}) {
      const std::string name(entry.name);
      MemoryQuestion question = square_question(3000, entry.several_clients ? 3 : 1, name);
      if (with_points) question = from_points(question);
      const PeakMemory before = peak_memory_of(question);
      const auto expect_more = [&](const MemoryQuestion& changed, const char* what) {
        EXPECT_GT(peak_memory_of(changed).process, before.process) << name << ": " << what;
        EXPECT_GE(peak_memory_of(changed).client, before.client) << name << ": " << what;
      };
      MemoryQuestion changed = question;
      changed.rows = 4000;
      expect_more(changed, "rows");
      changed = question;
      changed.columns = 4000;
      expect_more(changed, "columns");
      changed = question;
      changed.targets = 16;
      expect_more(changed, "targets");
      changed = question;
      changed.process_bytes = 20 * kMegabyte;
      expect_more(changed, "the process");
    }
  }
}

TEST(PeakMemory, TheHistoryIsAsLongAsTheRunAllows) {
  MemoryQuestion question = online(from_points(square_question(10000)));
  question.options.method = "anderson";
  const double of_many = client_of(question);
  question.options.max_iterations = 1;
  const double of_one = client_of(question);
  question.options.method = "sinkhorn";
  EXPECT_GT(of_many, of_one + kMegabyte);
  EXPECT_GE(of_one, client_of(question));
}

TEST(PeakMemory, PrivateRunsStoreNoKernel) {
  constexpr double kernel = 4000.0 * 4000.0 * 8;
  MemoryQuestion question = from_points(square_question(4000, 4, "row-reduce"));
  question.options.method = "sinkhorn";
  question.options.policy = "private";
  question.options.mechanism = "marginal";
  EXPECT_LT(peak_memory_of(question).process, 0.2 * kernel);
  question.options.topology = "all-to-all";
  question.options.mechanism = "scalings";
  EXPECT_LT(peak_memory_of(question).process, 0.2 * kernel);
}

TEST(PeakMemory, AServerOfSumsHasWordsAlone) {
  MemoryQuestion question = square_question(4000, 4, "row-reduce");
  question.options.policy = "sums";
  question.options.server = Server::sums;
  question.process_bytes = 10 * kMegabyte;
  const PeakMemory peak = peak_memory_of(question);
  EXPECT_GT(peak.server, question.process_bytes);
  EXPECT_LT(peak.server, 12 * kMegabyte);
  EXPECT_GT(peak.client, 40 * kMegabyte);
}

TEST(PeakMemory, EmptySlicesTakeNothing) {
  MemoryQuestion question = square_question(3, 8);
  for (const TopologyEntry& entry : topologies()) {
    if (!entry.several_clients) continue;
    question.options.topology = std::string(entry.name);
    const PeakMemory peak = peak_memory_of(question);
    EXPECT_TRUE(std::isfinite(peak.process)) << entry.name;
    EXPECT_LT(peak.process, 10 * kMegabyte) << entry.name;
  }
}

TEST(PeakMemory, OfManyClientsIsKnown) {
  for (const char* topology : {"row-reduce", "all-to-all", "star", "grid"}) {
    EXPECT_GT(peak_memory_of(square_question(100000, 10000, topology)).process, 1e9) << topology;
  }
}

TEST(PeakMemory, TheFormulaNamesTheKernel) {
  const auto formula = [](const MemoryQuestion& question) { return peak_memory_of(question).formula; };
  EXPECT_TRUE(formula(from_points(square_question(4000))).starts_with("8 n m + "));
  EXPECT_TRUE(formula(from_points(square_question(4000, 4, "row-reduce"))).starts_with("8 n m / c + "));
  EXPECT_TRUE(formula(from_points(square_question(4000, 4, "all-to-all"))).starts_with("16 n m / c + "));
  EXPECT_TRUE(formula(from_points(square_question(4000, 4, "star"))).starts_with("8 n m + "));
  EXPECT_TRUE(formula(online(from_points(square_question(4000)))).starts_with("8 N "));
  EXPECT_TRUE(formula(online(square_question(4000))).starts_with("8 n m of the file + "));
  EXPECT_TRUE(formula(square_question(0)).ends_with(" + process"));
}

TEST(PeakMemory, UnknownNamesAreRefused) {
  EXPECT_THROW((void)peak_memory_of(square_question(10, 2, "ring")), InputError);
}

TEST(PeakMemory, AProcessKnowsItsOwnSize) {
  const double now = process_bytes_now();
  EXPECT_GT(now, kMegabyte);
  EXPECT_LE(now, static_cast<double>(peak_memory()) * 1.01);
}

}  // namespace
}  // namespace fedsinkhorn
