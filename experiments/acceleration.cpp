// In how many rounds do the methods get there, and do they get to the same plan?
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/random.hpp"
#include "experiments.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostRounds = 20'000;
constexpr double kTolerance = 1e-9;
/// Plans are compared where their errors are small beside the difference that is allowed, 1e-9.
constexpr double kTightTolerance = 1e-11;
constexpr std::array kEpsilons = {1e-2, 1e-3, 2e-4};
constexpr std::array kMethods = {"sinkhorn", "overrelaxed", "anderson", "auto"};
constexpr std::size_t kPlain = 0;
constexpr std::size_t kAuto = 3;

// ---------------------------------------------------------------------------------------------------- problems

/// What each stream of random numbers is for.
enum Stream : std::uint64_t { kX, kY, kA, kB, kCost };

struct Drawn {
  std::vector<double> cost, a, b;

  [[nodiscard]] Problem view(double epsilon) const {
    Problem problem;
    problem.cost = CostMatrix{MatrixView<double>{cost.data(), a.size(), b.size()}};
    problem.a = a;
    problem.b = {b.data(), b.size(), 1};
    problem.epsilon = epsilon;
    return problem;
  }
};

using Law = double (*)(Random& random);

std::vector<double> draw(std::size_t count, Law law, Random random) {
  std::vector<double> values(count);
  for (double& value : values) value = law(random);
  return values;
}

std::vector<double> masses(std::size_t count, Law law, Random random) {
  std::vector<double> values = draw(count, law, random);
  double sum = 0;
  for (const double value : values) sum += value;
  for (double& value : values) value /= sum;
  return values;
}

double uniform(Random& random) { return random.uniform(); }

/// |x_i - y_j|^2, the largest being 1.
std::vector<double> squared_distances(std::size_t dimension, const std::vector<double>& x,
                                      const std::vector<double>& y) {
  std::vector<double> cost;
  cost.reserve(x.size() / dimension * (y.size() / dimension));
  for (std::size_t i = 0; i < x.size(); i += dimension) {
    for (std::size_t j = 0; j < y.size(); j += dimension) {
      double sum = 0;
      for (std::size_t k = 0; k < dimension; ++k) sum += (x[i + k] - y[j + k]) * (x[i + k] - y[j + k]);
      cost.push_back(sum);
    }
  }
  const double largest = *std::max_element(cost.begin(), cost.end());
  for (double& value : cost) value /= largest;
  return cost;
}

Drawn with_masses(std::vector<double> cost, std::uint64_t seed, std::size_t n) {
  const auto even = [](Random&) { return 1.0; };
  const auto uneven = [](Random& random) { return random.uniform() + 0.1; };
  return {std::move(cost), masses(n, even, Random(seed, kA)), masses(n, uneven, Random(seed, kB))};
}

std::vector<double> uniform_cost(std::size_t dimension, std::uint64_t seed, std::size_t n) {
  return squared_distances(dimension, draw(dimension * n, uniform, Random(seed, kX)),
                           draw(dimension * n, uniform, Random(seed, kY)));
}

Drawn uniform2(std::uint64_t seed, std::size_t n) { return with_masses(uniform_cost(2, seed, n), seed, n); }

Drawn gauss8(std::uint64_t seed, std::size_t n) {
  const auto narrow = [](Random& random) { return 0.5 * random.normal() + 1; };
  const auto wide = [](Random& random) { return random.normal(); };
  return with_masses(squared_distances(8, draw(8 * n, wide, Random(seed, kX)), draw(8 * n, narrow, Random(seed, kY))),
                     seed, n);
}

/// Four clusters on the diagonal.
std::vector<double> clustered(std::size_t n, Random random) {
  std::vector<double> points;
  for (std::size_t i = 0; i < n; ++i) {
    const auto centre = static_cast<double>(random.below(4));
    for (int k = 0; k < 2; ++k) points.push_back(centre + 0.05 * random.normal());
  }
  return points;
}

Drawn clusters2(std::uint64_t seed, std::size_t n) {
  return with_masses(squared_distances(2, clustered(n, Random(seed, kX)), clustered(n, Random(seed, kY))), seed, n);
}

Drawn illmarg(std::uint64_t seed, std::size_t n) {
  const auto eight_decades = [](Random& random) { return std::pow(10.0, random.uniform(-8, 0)); };
  return {uniform_cost(2, seed, n), masses(n, eight_decades, Random(seed, kA)),
          masses(n, eight_decades, Random(seed, kB))};
}

Drawn random_cost(std::uint64_t seed, std::size_t n) {
  return with_masses(draw(n * n, uniform, Random(seed, kCost)), seed, n);
}

Drawn line1(std::uint64_t seed, std::size_t n) { return with_masses(uniform_cost(1, seed, n), seed, n); }

struct Family {
  const char* name;
  Drawn (*drawn)(std::uint64_t seed, std::size_t n);
};
constexpr std::array kFamilies = {Family{"uniform2", uniform2},       Family{"gauss8", gauss8},
                                  Family{"clusters2", clusters2},     Family{"illmarg", illmarg},
                                  Family{"random_cost", random_cost}, Family{"line1", line1}};

// ---------------------------------------------------------------------------------------------------- runs

struct Run {
  double rounds = kInfinity;  ///< infinite: not converged
  double error = 0;           ///< L1, of the worse marginal
  std::int64_t rejected = 0;
};

/// One problem at one epsilon.
struct Instance {
  std::string name;
  std::array<Run, kMethods.size()> runs;
  std::optional<double> difference;  ///< largest of |P - P'|, where plain Sinkhorn meets the tight tolerance
};

Result solve_by(const char* method, double tolerance, const Problem& problem) {
  Options options;
  options.backend = "cpu";
  options.method = method;
  options.tolerance = tolerance;
  options.max_iterations = kMostRounds;
  options.threads = 1;
  return solve(problem, options);
}

Run run_of(const Result& result) {
  const bool converged = result.status == Status::converged;
  return {converged ? static_cast<double>(result.iterations) : kInfinity, std::max(result.error.a, result.error.b),
          result.rejected};
}

double largest_difference(const Problem& problem, const Result& one, const Result& other) {
  const Plan p(problem, one, 1);
  const Plan q(problem, other, 1);
  std::vector<double> row_p(one.columns);
  std::vector<double> row_q(one.columns);
  double largest = 0;
  for (std::size_t i = 0; i < one.rows; ++i) {
    p.rows(i, 1, 0, row_p);
    q.rows(i, 1, 0, row_q);
    for (std::size_t j = 0; j < one.columns; ++j) {
      const double difference = std::abs(row_p[j] - row_q[j]);
      if (!(difference <= largest)) largest = difference;  // NaN stays
    }
  }
  return largest;
}

/// Auto against plain. A plan of auto that misses the tight tolerance is compared all the same.
std::optional<double> plan_difference(const Problem& problem) {
  const Result plain = solve_by(kMethods[kPlain], kTightTolerance, problem);
  if (plain.status != Status::converged) return std::nullopt;
  return largest_difference(problem, plain, solve_by(kMethods[kAuto], kTightTolerance, problem));
}

/// The problems of a line of the table, one a seed.
std::vector<Instance> run_line(const Family& family, double epsilon, std::size_t seeds, std::size_t n) {
  std::vector<Instance> line(seeds);
  for_all(seeds * kMethods.size(), [&](std::size_t k) {
    const Drawn drawn = family.drawn(k / kMethods.size() + 1, n);
    const std::size_t method = k % kMethods.size();
    line[k / kMethods.size()].runs[method] = run_of(solve_by(kMethods[method], kTolerance, drawn.view(epsilon)));
  });
  for_all(seeds, [&](std::size_t k) {
    line[k].name = fmt::format("{}, epsilon {}, seed {}", family.name, epsilon, k + 1);
    if (line[k].runs[kPlain].rounds == kInfinity) return;
    const Drawn drawn = family.drawn(k + 1, n);
    line[k].difference = plan_difference(drawn.view(epsilon));
  });
  return line;
}

// ---------------------------------------------------------------------------------------------------- tables

std::string rounds_text(double rounds) {
  return rounds == kInfinity ? fmt::format("> {}", kMostRounds) : fmt::format("{}", rounds);
}

double most_rounds(const std::vector<Instance>& instances, std::size_t method) {
  double most = 0;
  for (const Instance& instance : instances) most = std::max(most, instance.runs[method].rounds);
  return most;
}

void print_line(const Family& family, double epsilon, const std::vector<Instance>& line) {
  fmt::print("| {} | {} |", family.name, epsilon);
  for (std::size_t method = 0; method < kMethods.size(); ++method) {
    std::vector<double> rounds;
    rounds.reserve(line.size());
    for (const Instance& instance : line) rounds.push_back(instance.runs[method].rounds);
    fmt::print(" {} ({}) |", rounds_text(median(rounds)), rounds_text(most_rounds(line, method)));
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void print_methods(const std::vector<Instance>& all) {
  fmt::print("\n| method | converged | most rounds | rejected rounds | largest error of those that converged |\n");
  fmt::print("|---|---|---|---|---|\n");
  for (std::size_t method = 0; method < kMethods.size(); ++method) {
    std::size_t converged = 0;
    std::int64_t rejected = 0;
    double error = 0;
    for (const Instance& instance : all) {
      const Run& run = instance.runs[method];
      rejected += run.rejected;
      if (run.rounds == kInfinity) continue;
      ++converged;
      error = std::max(error, run.error);
    }
    fmt::print("| {} | {} of {} | {} | {} | {:.2g} |\n", kMethods[method], converged, all.size(),
               rounds_text(most_rounds(all, method)), rejected, error);
  }
}

/// The largest of a figure, and where.
class Worst {
 public:
  void see(double value, const std::string& where) {
    if (count_++ > 0 && value <= value_) return;
    value_ = value;
    where_ = where;
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::string text() const { return fmt::format("{:.2g} ({})", value_, where_); }

 private:
  std::size_t count_ = 0;
  double value_ = 0;
  std::string where_ = "none";
};

void print_comparison(const std::vector<Instance>& all) {
  double sum_of_logs = 0;
  Worst share;
  Worst difference;
  for (const Instance& instance : all) {
    const double plain = instance.runs[kPlain].rounds;
    const double accelerated = instance.runs[kAuto].rounds;
    if (plain == kInfinity) continue;
    sum_of_logs += std::log(plain / accelerated);
    share.see(accelerated / (1.1 * plain + 5), instance.name);
    if (instance.difference) difference.see(*instance.difference, instance.name);
  }
  fmt::print("\nOf the {} instances that plain Sinkhorn solves:\n\n", share.count());
  fmt::print("- plain / auto, geometric mean: {:.3g}\n",
             std::exp(sum_of_logs / static_cast<double>(std::max<std::size_t>(share.count(), 1))));
  fmt::print("- auto / (1.1 plain + 5), worst: {}\n", share.text());
  fmt::print("- |P - P'|, plain and auto at tolerance {}, largest in the {} that plain solves then: {}\n",
             kTightTolerance, difference.count(), difference.text());
}

}  // namespace

void acceleration(std::size_t seeds, std::size_t n) {
  if (seeds == 0) seeds = 5;
  if (n == 0) n = 400;
  fmt::print("n = {}, L1 tolerance {}, at most {} rounds. Rounds: median of {} seeds (most).\n\n", n, kTolerance,
             kMostRounds, seeds);
  fmt::print("| problem | epsilon |");
  for (const char* method : kMethods) fmt::print(" {} |", method);
  fmt::print("\n|---|---|---|---|---|---|\n");
  std::vector<Instance> all;
  for (const Family& family : kFamilies) {
    for (const double epsilon : kEpsilons) {
      const std::vector<Instance> line = run_line(family, epsilon, seeds, n);
      print_line(family, epsilon, line);
      all.insert(all.end(), line.begin(), line.end());
    }
  }
  print_methods(all);
  print_comparison(all);
}

}  // namespace fedsinkhorn::experiments
