// Plans: what constraints rule out and why, the ranking, and where communication begins to take longer.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

TopologyQuestion question_for(std::size_t clients, std::size_t n = 20'000) {
  TopologyQuestion question;
  question.shape.rows = n;
  question.shape.columns = n;
  question.shape.clients = clients;
  question.shape.dimension = 2;
  return question;
}

TopologyPlan planned(const TopologyQuestion& question, const std::string& profile = "office") {
  return plan_topology(read_profile(profile), question);
}

/// Why all options with this topology are out; "feasible" if one is not.
std::string reason_of(const TopologyPlan& plan, const std::string& topology) {
  std::string reason = "not planned";
  for (const TopologyOption& option : plan.options) {
    if (option.prediction.topology != topology) continue;
    if (option.out_because.empty()) return "feasible";
    reason = option.out_because;
  }
  return reason;
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

TEST(Plan, WithoutConstraintsAllowsEverything) {
  const TopologyPlan plan = planned(question_for(8));
  for (const char* topology : {"centralized", "row-reduce", "all-to-all", "star", "grid", "async"}) {
    EXPECT_EQ(reason_of(plan, topology), "feasible") << topology;
  }
}

TEST(Plan, OptionsAreInOrder) {
  for (const std::string& profile : shipped_profiles()) {
    TopologyQuestion question = question_for(8);
    question.tolerance = 1e-5;
    question.any_block_layout = false;
    const TopologyPlan plan = planned(question, profile);
    bool was_out = false;
    double before = 0;
    for (const TopologyOption& option : plan.options) {
      if (!option.out_because.empty()) {
        was_out = true;
        continue;
      }
      EXPECT_FALSE(was_out) << "a feasible one after one that is out";
      EXPECT_GE(option.seconds, before);
      EXPECT_GT(option.iterations, 0);
      before = option.seconds;
    }
    EXPECT_TRUE(was_out);
    EXPECT_GT(before, 0);
  }
}

TEST(Plan, WithoutPeersAServerIsLeft) {
  TopologyQuestion question = question_for(8);
  question.peers_may_talk = false;
  const TopologyPlan plan = planned(question);
  for (const char* topology : {"row-reduce", "all-to-all", "grid", "async"}) {
    expect_in(reason_of(plan, topology), "talk to each other");
  }
  EXPECT_EQ(reason_of(plan, "star"), "feasible");
}

TEST(Plan, WithoutAKernelServerPeersAreLeft) {
  TopologyQuestion question = question_for(8);
  question.server_may_hold_kernel = false;
  const TopologyPlan plan = planned(question);
  expect_in(reason_of(plan, "star"), "server holds the kernel");
  expect_in(reason_of(plan, "centralized"), "data of all");
  EXPECT_EQ(reason_of(plan, "row-reduce"), "feasible");
  question.peers_may_talk = false;
  const TopologyPlan none = planned(question);
  EXPECT_TRUE(std::ranges::none_of(none.options, [](const TopologyOption& o) { return o.out_because.empty(); }));
  EXPECT_TRUE(none.curves.empty());
  expect_in(none.notes.back(), "no topology is feasible");
}

TEST(Plan, OwnRowsRuleOutAGrid) {
  TopologyQuestion question = question_for(8);
  question.any_block_layout = false;
  expect_in(reason_of(planned(question), "grid"), "whole rows");
}

TEST(Plan, AMethodRulesOutWhereItDoesNotGo) {
  for (const std::size_t clients : {7U, 8U}) {  // grids of 7 x 1 and 4 x 2
    TopologyQuestion question = question_for(clients);
    question.tolerance = 1e-5;  // in reach of any precision
    question.shape.options.method = "newton";
    const TopologyPlan plan = planned(question);
    EXPECT_EQ(reason_of(plan, "row-reduce"), "feasible");
    expect_in(reason_of(plan, "grid"), clients == 7 ? "feasible" : "newton needs whole rows");
    expect_in(reason_of(plan, "async"), "newton does not go with");
    EXPECT_TRUE(std::ranges::any_of(plan.curves, [](const TopologyCurve& c) { return c.topology == "row-reduce"; }));
    EXPECT_TRUE(std::ranges::none_of(plan.curves, [](const TopologyCurve& c) { return c.topology == "grid"; }));
  }
}

TEST(Plan, MemoryRulesOutStoredKernels) {
  TopologyQuestion question = question_for(8);
  question.memory_per_client = 700e6;  // the kernel has 3.2 GB, a client's rows 400 MB, its rows and columns 800 MB
  const TopologyPlan plan = planned(question);
  for (const TopologyOption& option : plan.options) {
    const Prediction& one = option.prediction;
    if (one.kernel != "dense" || one.precision != "float64") continue;
    if (one.topology == "centralized") expect_in(option.out_because, "the machine needs");
    if (one.topology == "star") expect_in(option.out_because, "the server needs");
    if (one.topology == "all-to-all") expect_in(option.out_because, "a client needs");
    if (one.topology == "row-reduce") {
      EXPECT_EQ(option.out_because, "");
      EXPECT_LE(one.memory_bytes, 700e6);
    }
  }
  question.memory_of_server = 100e9;
  const TopologyPlan with_server = planned(question);
  EXPECT_TRUE(std::ranges::any_of(with_server.options, [](const TopologyOption& option) {
    return option.prediction.topology == "star" && option.prediction.kernel == "dense" && option.out_because.empty();
  }));
}

TEST(Plan, PolicySumsLeavesRowReduce) {
  TopologyQuestion question = question_for(8);
  question.shape.options.policy = "sums";
  const TopologyPlan plan = planned(question);
  EXPECT_EQ(reason_of(plan, "row-reduce"), "feasible");
  for (const char* topology : {"all-to-all", "star", "grid", "async"}) {
    expect_in(reason_of(plan, topology), "policy sums");
  }
  expect_in(reason_of(plan, "centralized"), "data of all");
}

TEST(Plan, PrecisionsThatDoNotReachTheToleranceAreOut) {
  TopologyQuestion question = question_for(8);
  question.tolerance = 1e-12;
  for (const TopologyOption& option : planned(question).options) {
    if (option.prediction.precision == "float64") {
      EXPECT_EQ(option.out_because, "") << option.prediction.topology;
    } else {
      expect_in(option.out_because, option.prediction.precision + " reaches");
    }
  }
  question.tolerance = 1e-4;
  const TopologyPlan loose = planned(question);
  EXPECT_TRUE(std::ranges::all_of(loose.options, [](const TopologyOption& o) { return o.out_because.empty(); }));
}

TEST(Plan, OneClientIsCentral) {
  const TopologyPlan plan = planned(question_for(1));
  EXPECT_EQ(reason_of(plan, "centralized"), "feasible");
  expect_in(reason_of(plan, "row-reduce"), "one client");
}

TEST(Plan, TakesTheIterationsItIsGiven) {
  TopologyQuestion question = question_for(4);
  question.shape.iterations = 77;
  const TopologyPlan plan = planned(question);
  EXPECT_EQ(plan.iterations, 77);
  for (const TopologyOption& option : plan.options) {
    if (option.out_because.empty()) {
      EXPECT_EQ(option.iterations, 77);
    }
  }
}

TEST(Plan, ExpectsMoreIterationsForSmallerEpsilonAndTolerance) {
  EXPECT_GT(expected_iterations("sinkhorn", 1e-3, 1e-9), expected_iterations("sinkhorn", 1e-2, 1e-9));
  EXPECT_GT(expected_iterations("sinkhorn", 1e-2, 1e-9), expected_iterations("sinkhorn", 1e-2, 1e-3));
  EXPECT_GT(expected_iterations("sinkhorn", 1e-3, 1e-9), expected_iterations("auto", 1e-3, 1e-9));
  EXPECT_GE(expected_iterations("auto", 1, 0.5), 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Curves

Precision precision_named(const std::string& name) {
  for (const Precision one : {Precision::float32, Precision::mixed}) {
    if (name_of(one) == name) return one;
  }
  return Precision::float64;
}

TEST(PlanCurves, TurnWhereMessagesBeginToTakeLonger) {
  for (const char* profile : {"office", "cluster"}) {
    const TopologyQuestion question = question_for(256);
    const TopologyPlan plan = planned(question, profile);
    ASSERT_FALSE(plan.curves.empty());
    for (const TopologyCurve& curve : plan.curves) {
      SCOPED_TRACE(std::string(profile) + " " + curve.topology);
      SolveShape shape = question.shape;
      shape.options.topology = curve.topology;
      shape.options.kernel = KernelName(plan.options[0].prediction.kernel);
      shape.options.precision = precision_named(plan.options[0].prediction.precision);
      const auto talks_more = [&](std::size_t clients) {
        shape.clients = clients;
        const Prediction one = predict(read_profile(profile), shape);
        return one.communication_seconds > one.compute_seconds;
      };
      ASSERT_EQ(curve.clients.size(), curve.seconds.size());
      for (std::size_t k = 0; k < curve.clients.size(); ++k) {
        shape.clients = curve.clients[k];
        EXPECT_DOUBLE_EQ(predict(read_profile(profile), shape).seconds_per_iteration, curve.seconds[k]);
      }
      if (curve.turns_at == 0) {
        EXPECT_FALSE(talks_more(256));
      } else {
        EXPECT_TRUE(talks_more(curve.turns_at));
        EXPECT_TRUE(curve.turns_at == 2 || !talks_more(curve.turns_at - 1));
      }
    }
  }
}

TEST(Plan, OfTenThousandClientsIsKnown) {
  EXPECT_EQ(reason_of(planned(question_for(10'000, 1'000'000)), "row-reduce"), "feasible");
}

}  // namespace
}  // namespace fedsinkhorn
