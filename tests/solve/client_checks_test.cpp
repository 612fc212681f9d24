// Options::on_client_check: every client tells how far it is.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn::test {
namespace {

struct ReportingRun {
  std::string topology;
  std::size_t clients;
  std::string transport = "threads";
};

void PrintTo(const ReportingRun& run, std::ostream* stream) {
  *stream << run.topology << " " << run.clients << " " << run.transport;
}

std::vector<ReportingRun> reporting_runs() {
  std::vector<ReportingRun> runs = {{"centralized", 1}};
  for (const std::string& topology : testing::topologies_of_several_clients()) {
    for (const std::size_t clients : {1, 3, 7}) {
      for (const char* transport : {"threads", "simulated"}) runs.push_back({topology, clients, transport});
    }
  }
  return runs;
}

/// All that was reported, by client.
class Reports {
 public:
  void add(const ClientProgress& progress) {
    const std::lock_guard lock(mutex_);
    of_client_[progress.client].push_back(progress);
    threads_[progress.client] = std::this_thread::get_id();
  }
  [[nodiscard]] const std::map<std::size_t, std::vector<ClientProgress>>& by_client() const { return of_client_; }
  [[nodiscard]] const std::map<std::size_t, std::thread::id>& threads() const { return threads_; }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<ClientProgress>> of_client_;
  std::map<std::size_t, std::thread::id> threads_;
};

class ClientChecks : public ::testing::TestWithParam<ReportingRun> {
 protected:
  ClientChecks() {
    for (std::size_t k = 0; k < costs_.size(); ++k) costs_[k] = std::fmod(static_cast<double>(k) * 0.6180339887, 1.0);
    problem_.cost = CostMatrix{MatrixView<double>{costs_.data(), kRows, kColumns}};
    problem_.epsilon = 0.05;
    options_.method = "sinkhorn";
    options_.tolerance = 0;
    options_.max_iterations = 40;
    options_.threads = 1;
    options_.on_client_check = [this](const ClientProgress& progress) { reports_.add(progress); };
  }

  static constexpr std::size_t kRows = 60;
  static constexpr std::size_t kColumns = 47;
  std::vector<double> costs_ = std::vector<double>(kRows * kColumns);
  Problem problem_;
  Options options_;
  Reports reports_;
};

TEST_P(ClientChecks, ComeFromAllAndGrow) {
  options_.topology = GetParam().topology;
  options_.clients = GetParam().clients;
  options_.transport = GetParam().transport;
  const Result result = solve(problem_, options_);
  ASSERT_EQ(reports_.by_client().size(), GetParam().clients);
  for (const auto& [client, reports] : reports_.by_client()) {
    SCOPED_TRACE(client);
    ASSERT_GT(reports.size(), 1U);
    const ClientProgress& first = reports.front();
    const ClientProgress& last = reports.back();
    for (std::size_t k = 1; k < reports.size(); ++k) {
      EXPECT_GE(reports[k].iteration, reports[k - 1].iteration);
      EXPECT_GE(reports[k].compute_seconds, reports[k - 1].compute_seconds);
      EXPECT_GE(reports[k].communication_seconds, reports[k - 1].communication_seconds);
      EXPECT_GE(reports[k].bytes_sent, reports[k - 1].bytes_sent);
      EXPECT_GE(reports[k].bytes_received, reports[k - 1].bytes_received);
    }
    EXPECT_GT(last.iteration, first.iteration);
    EXPECT_LE(last.iteration, options_.max_iterations);
    EXPECT_EQ(last.bytes_sent > first.bytes_sent, GetParam().clients > 1);
    EXPECT_LE(last.bytes_sent, result.clients.at(client).sent.total());
    EXPECT_LE(last.compute_seconds, result.clients.at(client).compute_seconds);
  }
  EXPECT_EQ(reports_.threads().size(), GetParam().clients);
}

std::string name_of_run(const ::testing::TestParamInfo<ReportingRun>& info) {
  return testing::without_dashes(info.param.topology) + std::to_string(info.param.clients) + info.param.transport;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ClientChecks, ::testing::ValuesIn(reporting_runs()), name_of_run);

class ClientChecksOfOneClient : public ClientChecks {};

TEST_F(ClientChecksOfOneClient, ComeWithEveryKindOfArithmetic) {
  options_.stabilization = Stabilization::log;
  (void)solve(problem_, options_);
  const std::size_t in_logs = reports_.by_client().at(0).size();
  EXPECT_GT(in_logs, 1U);
  options_.stabilization = Stabilization::absorption;
  options_.precision = Precision::digits50;
  options_.max_iterations = 3;
  (void)solve(problem_, options_);
  EXPECT_EQ(reports_.by_client().at(0).size(), in_logs + 3);
  EXPECT_GT(reports_.by_client().at(0).back().compute_seconds, 0);
}

TEST_F(ClientChecksOfOneClient, LeaveOnCheckToClientZero) {
  options_.clients = 3;
  std::size_t checks = 0;  // by one thread
  options_.on_check = [&](const Progress&) { ++checks; };
  (void)solve(problem_, options_);
  EXPECT_EQ(checks, reports_.by_client().at(0).size());
  EXPECT_EQ(reports_.by_client().size(), 3U);
}

TEST_F(ClientChecksOfOneClient, ComeFromPrivateRuns) {
  options_.max_iterations = Options{}.max_iterations;
  options_.tolerance = Options{}.tolerance;
  options_.clients = 3;
  options_.topology = "row-reduce";
  options_.policy = "private";
  options_.noise = 1e-3;
  options_.releases = 6;
  (void)solve(problem_, options_);
  ASSERT_EQ(reports_.by_client().size(), 3U);
  for (const auto& [client, reports] : reports_.by_client()) EXPECT_EQ(reports.size(), 6U) << client;
}

}  // namespace
}  // namespace fedsinkhorn::test
