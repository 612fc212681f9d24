#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "core/processors.hpp"
#include "core/random.hpp"
#include "experiments.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr double kEpsilon = 0.05;

Scenario log_normal(double iteration) {
  Scenario scenario;
  scenario.latency = LogNormalLaw{0.5 * iteration, 1.0};
  return scenario;
}
Scenario heavy_tailed(double iteration) {
  Scenario scenario;
  scenario.latency = HeavyTailedLaw{0.2 * iteration, 1.2};
  return scenario;
}
Scenario late(double iteration) {
  Scenario scenario;
  scenario.latency = ConstantLaw{0.5 * iteration};
  scenario.late = {0.02, 60 * iteration};
  return scenario;
}
Scenario straggler(double iteration) {
  Scenario scenario = log_normal(iteration);
  ClientScenario slow;
  slow.client = 1;
  slow.slower = 10;
  scenario.clients.push_back(slow);
  return scenario;
}

}  // namespace

StudyProblem::StudyProblem(std::uint64_t seed, std::size_t n) : cost_(n * n), a_(n), b_(n) {
  Random random(seed);
  std::vector<double> x(2 * n);
  std::vector<double> y(2 * n);
  for (auto* points : {&x, &y}) {
    for (double& coordinate : *points) coordinate = random.uniform();
  }
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double dx = x[2 * i] - y[2 * j];
      const double dy = x[2 * i + 1] - y[2 * j + 1];
      cost_[i * n + j] = dx * dx + dy * dy;
      largest = std::max(largest, cost_[i * n + j]);
    }
  }
  for (double& cost : cost_) cost /= largest;
  for (auto* masses : {&a_, &b_}) {
    double sum = 0;
    for (double& mass : *masses) sum += mass = 0.1 + random.uniform();
    for (double& mass : *masses) mass /= sum;
  }
}

Problem StudyProblem::view() const {
  Problem problem;
  problem.cost = CostMatrix{MatrixView<double>{cost_.data(), a_.size(), a_.size()}};
  problem.a = a_;
  problem.b = {b_.data(), b_.size(), 1};
  problem.epsilon = kEpsilon;
  return problem;
}

std::span<const DelayLaw> delay_laws() {
  static constexpr std::array laws = {
      DelayLaw{"log-normal", log_normal},
      DelayLaw{"heavy-tailed", heavy_tailed},
      DelayLaw{"2 % 60 late", late},
      DelayLaw{"one 10 x slower", straggler},
  };
  return laws;
}

double iteration_seconds(std::size_t n, std::size_t clients) {
  return 2 * static_cast<double>(n * n) / static_cast<double>(clients) * Scenario{}.seconds_per_entry;
}

Options study_options(const DelayLaw& law, std::size_t n, std::size_t clients, std::uint64_t seed) {
  Options options;
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.topology = "async";
  options.transport = "simulated";
  options.clients = clients;
  options.tolerance = 1e-12;
  options.max_iterations = 3000;
  options.threads = 1;
  options.scenario = law.scenario(iteration_seconds(n, clients));
  options.scenario.seed = seed;
  return options;
}

void for_all(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const auto count_of_threads = static_cast<std::size_t>(processors_allowed());
  std::vector<std::jthread> threads;
  threads.reserve(count_of_threads);
  while (threads.size() < count_of_threads) {
    threads.emplace_back([&] {
      for (std::size_t k = next++; k < count; k = next++) body(k);
    });
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace fedsinkhorn::experiments
