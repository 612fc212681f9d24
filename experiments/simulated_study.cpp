#include "simulated_study.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/random.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr double kEpsilon = 0.05;
constexpr std::size_t kSeedsPerCell = 10;

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

const DelayLaw& delay_law(std::string_view name) {
  const auto found = std::ranges::find(delay_laws(), name, &DelayLaw::name);
  if (found == delay_laws().end()) throw std::logic_error("no law of delays has that name");
  return *found;
}

double iteration_seconds(std::size_t n, std::size_t clients) {
  return 2 * static_cast<double>(n * n) / static_cast<double>(clients) * Scenario{}.seconds_per_entry;
}

Options simulated_options(const DelayLaw& law, std::size_t n, std::size_t clients, std::uint64_t seed) {
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

std::string problem_sentence() {
  return "Random points in the unit square, random masses, the largest cost 1, epsilon 0.05, a new problem for every "
         "seed. Plain Sinkhorn, simulated networks, times in virtual seconds: the same cell gives the same record.";
}

std::string laws_sentence() {
  return "Delays of messages, in iterations of a client that is not slowed down. log-normal: median 0.5, sigma 1. "
         "heavy-tailed: at least 0.2, exponent 1.2. 2 % 60 late: 0.5, and 60 more for 2 % of the messages. one 10 x "
         "slower: log-normal, and client 1 takes ten times as long.";
}

void add_seed_blocks(const Json& cell, std::size_t seeds, std::vector<Json>& cells) {
  for (std::size_t first = 0; first < seeds; first += kSeedsPerCell) {
    Json block = cell;
    block["first_seed"] = first;
    block["seeds"] = std::min(kSeedsPerCell, seeds - first);
    cells.push_back(std::move(block));
  }
}

std::vector<std::uint64_t> seeds_of(const Json& parameters) {
  const std::uint64_t first = parameters.at("first_seed");
  const std::uint64_t count = parameters.at("seeds");
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed < first + count; ++seed) seeds.push_back(seed);
  return seeds;
}

void add_outcome(const Result& result, Json& measured) {
  measured["iterations"].push_back(result.iterations);
  measured["converged"].push_back(result.status == Status::converged ? 1 : 0);
  measured["timed_out"].push_back(result.status == Status::iteration_limit ? 1 : 0);
  measured["diverged"].push_back(result.status == Status::diverged ? 1 : 0);
}

std::vector<Figure> outcome_figures() {
  return {{.title = "converged", .key = "converged", .statistic = "mean", .format = "percent"},
          {.title = "timed out", .key = "timed_out", .statistic = "mean", .format = "percent"},
          {.title = "diverged", .key = "diverged", .statistic = "mean", .format = "percent"}};
}

}  // namespace fedsinkhorn::experiments
