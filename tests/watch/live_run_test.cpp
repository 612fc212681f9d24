// The state of a run while it goes on, fed by hand and by solves, and what is shown of it.
#include "watch/live_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "support/xml.hpp"
#include "watch/live_view.hpp"

namespace fedsinkhorn::test {
namespace {

using testing::has;
using testing::occurrences;
using namespace std::chrono_literals;

Progress progress_at(std::int64_t iteration, double error = 0.5) {
  Progress progress;
  progress.iteration = iteration;
  progress.max_iterations = 100'000;
  progress.seconds = 0.01 * static_cast<double>(iteration);
  progress.error_a = progress.error_b = error;
  progress.tolerance = 1e-9;
  return progress;
}

ClientProgress client_at(std::size_t client, std::int64_t iteration, double compute_seconds) {
  return {.client = client,
          .iteration = iteration,
          .compute_seconds = compute_seconds,
          .communication_seconds = 1,
          .bytes_sent = 1000,
          .bytes_received = 2000};
}

nlohmann::json event_of(const LiveRun& run) {
  return nlohmann::json::parse(live_event(run.description(), run.state()));
}

TEST(LiveRun, KeepsTheNewest) {
  LiveRun run({.title = "t", .clients = 2});
  const std::uint64_t at_first = run.version();
  EXPECT_FALSE(run.state().progress);
  run.update(progress_at(3, 0.25));
  run.update(client_at(1, 3, 0.1));
  run.update(client_at(7, 3, 0.1));  // there is none
  const LiveState state = run.state();
  EXPECT_GT(state.version, at_first);
  EXPECT_EQ(state.version, run.version());
  EXPECT_EQ(state.progress->iteration, 3);
  EXPECT_FALSE(state.clients[0]);
  EXPECT_EQ(state.clients[1]->iteration, 3);
  ASSERT_EQ(state.trace.size(), 1U);
  EXPECT_EQ(state.trace[0].error_b, 0.25);
  EXPECT_FALSE(state.is_finished);
}

TEST(LiveRun, LongTracesAreThinnedOut) {
  LiveRun run({.title = "t"});
  constexpr std::int64_t kLast = 54'321;
  for (std::int64_t k = 1; k <= kLast; ++k) {
    run.update(progress_at(k, 1 / static_cast<double>(k)));
    if (k % 997 == 0) run.update(progress_at(k - 5));  // targets finished one by one: no new point
  }
  const std::vector<report::TracePoint> trace = run.state().trace;
  EXPECT_GE(trace.size(), 250U);
  EXPECT_LE(trace.size(), 500U);
  EXPECT_EQ(trace.front().iteration, 1);
  EXPECT_EQ(trace.back().iteration, kLast);
  for (std::size_t k = 1; k < trace.size(); ++k) {
    EXPECT_LT(trace[k - 1].iteration, trace[k].iteration);
    EXPECT_EQ(trace[k].error_b, 1 / trace[k].iteration);
    if (k + 1 < trace.size()) {
      EXPECT_EQ(trace[k].iteration - trace[k - 1].iteration, 128);
    }
  }
}

TEST(LiveRun, EndsOnce) {
  LiveRun run({.title = "t"});
  EXPECT_FALSE(run.wait_for_end(0ms));
  std::thread waiting([&] { EXPECT_TRUE(run.wait_for_end(60s)); });
  run.finish("converged");
  run.finish("ended early");
  waiting.join();
  EXPECT_EQ(run.state().outcome, "converged");
  EXPECT_EQ(event_of(run)["status"], "converged");
  EXPECT_EQ(event_of(run)["done"], true);
}

TEST(LiveRun, ManyThreadsFeedIt) {
  constexpr std::size_t kClients = 6;
  LiveRun run({.title = "t", .clients = kClients});
  std::vector<std::thread> threads;
  for (std::size_t client = 0; client < kClients; ++client) {
    threads.emplace_back([&run, client] {
      for (std::int64_t k = 1; k <= 3000; ++k) {
        if (client == 0) run.update(progress_at(k));
        run.update(client_at(client, k, 0.1));
      }
    });
  }
  for (int k = 0; k < 20; ++k) EXPECT_FALSE(live_event(run.description(), run.state()).empty());
  for (std::thread& thread : threads) thread.join();
  const LiveState state = run.state();
  EXPECT_EQ(state.version, 1 + 3000 * (kClients + 1));
  for (const auto& client : state.clients) EXPECT_EQ(client->iteration, 3000);
}

TEST(LiveView, SaysHowFarItIs) {
  LiveRun run({.title = "a <b>", .clients = 1, .facts = {{"rows", "12"}}});
  EXPECT_TRUE(has(event_of(run)["status"].get<std::string>(), "no iteration is finished"));
  run.update(progress_at(120, 3.1e-5));
  const nlohmann::json event = event_of(run);
  EXPECT_TRUE(has(event["status"].get<std::string>(), "iteration 120, error 3.1 × 10⁻⁵")) << event["status"];
  EXPECT_EQ(event["done"], false);
  EXPECT_EQ(event["charts"]["convergence"]["series"][0]["points"][0][1], 3.1e-5);
  EXPECT_TRUE(has(event["parts"]["live-facts"].get<std::string>(), "120 of at most 100,000"));
  const std::string html = report::page_html(live_page(run.description(), run.state()));
  EXPECT_TRUE(has(html, "a &lt;b&gt;"));
  EXPECT_TRUE(has(html, "data-live=\"events\""));
  for (const auto& [id, part] : event["parts"].items()) EXPECT_EQ(occurrences(html, "id=\"" + id + "\""), 1U) << id;
  for (const auto& [id, spec] : event["charts"].items()) {
    EXPECT_EQ(occurrences(html, "data-chart=\"" + id + "\""), 1U) << id;
  }
}

TEST(LiveView, UnknownErrorsAreLeftOut) {
  LiveRun run({.title = "t"});
  run.update(progress_at(7, std::numeric_limits<double>::quiet_NaN()));
  const nlohmann::json event = event_of(run);
  EXPECT_EQ(event["status"], "iteration 7");
  EXPECT_TRUE(event["charts"]["convergence"]["series"].empty());
}

TEST(LiveView, TimesOfASimulationAreNotOurs) {
  LiveRun run({.title = "t", .clock_is_virtual = true});
  Progress progress = progress_at(7);
  progress.seconds = 7200;
  run.update(progress);
  EXPECT_TRUE(has(event_of(run)["parts"]["live-facts"].get<std::string>(), "simulated time</th><td>120 min"));
}

TEST(LiveView, NamesTheSlowClientAndThoseThatAreMissing) {
  LiveRun run({.title = "t", .clients = 5});
  run.update(progress_at(40));
  for (const std::size_t client : {0, 1, 3}) run.update(client_at(client, 40, 1.0));
  EXPECT_EQ(slow_client(run.state()), std::nullopt);
  run.update(client_at(3, 38, 9.5));
  EXPECT_EQ(slow_client(run.state()), 3U);
  const nlohmann::json event = event_of(run);
  const std::string facts = event["parts"]["live-slowest"];
  EXPECT_TRUE(has(facts, "client 3 computes 10.0 times as long")) << facts;
  EXPECT_TRUE(has(facts, "3 of 5 clients")) << facts;
  const std::string table = event["parts"]["live-clients"];
  EXPECT_EQ(occurrences(table, "has not reported yet"), 2U);
  EXPECT_TRUE(has(table, "<td class=\"number\">38</td><td class=\"number\">2</td>")) << "it is 2 behind: " << table;
  EXPECT_EQ(occurrences(table, "slowest"), 1U);
  const nlohmann::json& chart = event["charts"]["client-times"];
  EXPECT_EQ(chart["categories"], nlohmann::json({"client 0", "client 1", "client 3"}));
  EXPECT_EQ(chart["highlight"], nlohmann::json({2}));
}

// All compute all the time, one makes less of it.
TEST(LiveView, WhoDoesNotWaitFallsBehind) {
  LiveRun run({.title = "t", .clients = 3});
  run.update(client_at(0, 100, 5));
  run.update(client_at(1, 20, 5));
  run.update(client_at(2, 110, 5));
  EXPECT_EQ(slow_client(run.state()), 1U);
  EXPECT_TRUE(has(event_of(run)["parts"]["live-clients"].get<std::string>(),
                  "<td class=\"number\">20</td><td class=\"number\">90</td>"));
}

TEST(LiveView, ClientsInOtherProcessesAreNotSeen) {
  LiveRun run({.title = "t", .clients = 3, .sees_all_clients = false});
  run.update(client_at(0, 4, 1));
  const std::string html = report::page_html(live_page(run.description(), run.state()));
  EXPECT_TRUE(has(html, "Only client 0 is seen here"));
  EXPECT_EQ(occurrences(html, "in another process<"), 2U);
  EXPECT_FALSE(has(html, "has not reported yet"));
}

class LiveSolve : public ::testing::Test {
 protected:
  LiveSolve() {
    for (std::size_t k = 0; k < costs_.size(); ++k) costs_[k] = std::fmod(static_cast<double>(k) * 0.6180339887, 1.0);
    problem_.cost = CostMatrix{MatrixView<double>{costs_.data(), kLines, kLines}};
    problem_.epsilon = 0.05;
    options_.method = "sinkhorn";
    options_.tolerance = 0;
    options_.max_iterations = 60;
    options_.threads = 1;
    options_.clients = 4;
    options_.transport = "simulated";
    options_.scenario.seconds_per_entry = 1e-8;
    options_.scenario.clients = {{.client = 2, .slower = 10}};
    options_.on_check = [this](const Progress& now) { run_.update(now); };
    options_.on_client_check = [this](const ClientProgress& now) { run_.update(now); };
  }

  static constexpr std::size_t kLines = 64;
  std::vector<double> costs_ = std::vector<double>(kLines * kLines);
  Problem problem_;
  Options options_;
  LiveRun run_{{.title = "t", .clients = 4, .clock_is_virtual = true}};
};

TEST_F(LiveSolve, TheSlowClientOfASimulationIsNamed) {
  for (const char* topology : {"row-reduce", "all-to-all"}) {
    options_.topology = topology;
    (void)solve(problem_, options_);
    EXPECT_EQ(slow_client(run_.state()), 2U) << topology;
    EXPECT_TRUE(has(event_of(run_)["parts"]["live-slowest"].get<std::string>(), "client 2 computes")) << topology;
  }
}

TEST_F(LiveSolve, TheSlowClientThatNobodyWaitsForIsNamed) {
  options_.topology = "async";
  options_.max_iterations = 200;
  (void)solve(problem_, options_);
  EXPECT_EQ(slow_client(run_.state()), 2U);
}

}  // namespace
}  // namespace fedsinkhorn::test
