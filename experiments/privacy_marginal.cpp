// Both mechanisms on one problem at the same budgets: many records, a few public bins.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/random.hpp"
#include "experiments.hpp"
#include "privacy.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr std::size_t kRecords = 20'000;
constexpr std::size_t kBins = 50;
constexpr double kEpsilon = 0.05;
constexpr std::array kBudgets = {0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6};
/// Above it, only what the picture shows is run.
constexpr double kLargestUsefulBudget = 10;
constexpr std::array<std::size_t, 4> kClients = {1, 2, 5, 20};
constexpr std::size_t kAuto = 0;
constexpr std::array<std::size_t, 5> kReleases = {kAuto, 5, 10, 20, 40};
constexpr std::array kScalingsClips = {4.0, 8.0, 12.0};
constexpr std::array<std::size_t, 2> kScalingsReleases = {10, 20};

// ---------------------------------------------------------------------------------------------------- problem

/// What each stream of random numbers is for.
enum Stream : std::uint64_t { kX, kY, kB };

/// Records around two centres of the unit square, bins all over it.
class Records {
 public:
  explicit Records(std::uint64_t seed) : x_(2 * kRecords), y_(2 * kBins), b_(kBins) {
    Random of_x(seed, kX);
    for (std::size_t i = 0; i < kRecords; ++i) {
      const double centre = of_x.uniform() < 0.5 ? 0.3 : 0.7;
      for (std::size_t k = 0; k < 2; ++k) x_[2 * i + k] = std::clamp(centre + 0.12 * of_x.normal(), 0.0, 1.0);
    }
    Random of_y(seed, kY);
    for (double& y : y_) y = of_y.uniform();
    Random of_b(seed, kB);
    double sum = 0;
    for (double& b : b_) sum += b = 0.1 + of_b.uniform();
    for (double& b : b_) b /= sum;
  }

  [[nodiscard]] Problem view() const {
    Problem problem;
    problem.cost = PointClouds{MatrixView<double>{x_.data(), kRecords, 2}, MatrixView<double>{y_.data(), kBins, 2}};
    problem.b = {b_.data(), kBins, 1};
    problem.epsilon = kEpsilon;
    return problem;
  }
  [[nodiscard]] double cost(std::size_t i, std::size_t j) const {
    const double dx = x_[2 * i] - y_[2 * j];
    const double dy = x_[2 * i + 1] - y_[2 * j + 1];
    return dx * dx + dy * dy;
  }
  [[nodiscard]] const std::vector<double>& b() const { return b_; }

 private:
  std::vector<double> x_, y_, b_;
};

// ---------------------------------------------------------------------------------------------------- quality

struct Quality {
  double cost = 0;
  double column_error = 0;
};

/// Of the plan that g alone gives: every record shares out its mass as a softmax over the bins, so rows are right.
Quality quality_of(const Records& records, const std::vector<double>& g) {
  Quality quality;
  std::vector<double> mass(kBins);
  std::vector<double> row(kBins);
  for (std::size_t i = 0; i < kRecords; ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < kBins; ++j) {
      row[j] = (g[j] - records.cost(i, j)) / kEpsilon;
      largest = std::max(largest, row[j]);
    }
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (std::size_t j = 0; j < kBins; ++j) {
      const double p = row[j] / (sum * static_cast<double>(kRecords));
      mass[j] += p;
      quality.cost += p * records.cost(i, j);
    }
  }
  for (std::size_t j = 0; j < kBins; ++j) quality.column_error += std::abs(mass[j] - records.b()[j]);
  return quality;
}

/// L1 error of the rows of the plan that f and g give together.
double row_error_of(const Records& records, const Result& result) {
  constexpr double kMass = 1.0 / kRecords;
  double error = 0;
  for (std::size_t i = 0; i < kRecords; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < kBins; ++j) {
      sum += std::exp((result.f[i] + result.g[j] - records.cost(i, j)) / kEpsilon);
    }
    error += std::abs(sum - kMass);
  }
  return error;
}

// ---------------------------------------------------------------------------------------------------- runs

Options options_of(const ComparedRun& run) {
  Options options;
  options.policy = "private";
  options.mechanism = run.mechanism;
  options.backend = "cpu";
  options.clients = run.clients;
  options.threads = 1;
  options.tolerance = 0;  // all releases are made
  options.budget = {run.epsilon, kComparedDelta};
  options.releases = run.asked;
  options.noise_seed = run.seed;
  if (run.mechanism == "marginal") {
    options.topology = "row-reduce";
    return options;
  }
  options.topology = "all-to-all";
  options.clip = run.clip;
  options.rows_moved = run.rows_moved;
  return options;
}

void fill(const Records& records, double exact_cost, ComparedRun& run) {
  const Result result = solve(records.view(), options_of(run));
  const Quality quality = quality_of(records, result.g);
  run.iterations = static_cast<std::size_t>(result.iterations);
  run.sigma = result.privacy.sigma;
  run.cost_error = std::abs(quality.cost / exact_cost - 1);
  run.column_error = quality.column_error;
  run.row_error = row_error_of(records, result);
}

double exact_cost_of(const Records& records) {
  Options options;
  options.backend = "cpu";
  return quality_of(records, solve(records.view(), options).g).cost;
}

void add(std::vector<ComparedRun>& runs, const Setting& setting, std::size_t seed) {
  ComparedRun& run = runs.emplace_back();
  run.mechanism = setting.mechanism;
  run.rows_moved = setting.rows_moved;
  run.clients = setting.clients;
  run.clip = setting.clip;
  run.epsilon = setting.epsilon;
  run.asked = setting.asked;
  run.seed = seed;
}

Setting marginal_setting(std::size_t clients, double epsilon, std::size_t asked) {
  return {.mechanism = "marginal", .rows_moved = "", .clients = clients, .clip = 0, .epsilon = epsilon, .asked = asked};
}

/// What to run with one seed.
std::vector<ComparedRun> runs_of(std::size_t seed) {
  std::vector<ComparedRun> runs;
  for (const double epsilon : kBudgets) {
    const bool is_useful = epsilon <= kLargestUsefulBudget;
    for (const std::size_t clients : kClients) {
      if (is_useful || clients == kComparedClients) add(runs, marginal_setting(clients, epsilon, kAuto), seed);
    }
    for (const std::size_t releases : kReleases) {
      if (is_useful && releases != kAuto) add(runs, marginal_setting(kComparedClients, epsilon, releases), seed);
    }
    for (const char* rows_moved : {"paper", "all"}) {
      for (const double clip : kScalingsClips) {
        for (const std::size_t releases : kScalingsReleases) {
          add(runs, {"scalings", rows_moved, kComparedClients, clip, epsilon, releases}, seed);
        }
      }
    }
  }
  return runs;
}

bool matches(const ComparedRun& run, const Setting& setting) {
  return run.mechanism == setting.mechanism && run.rows_moved == setting.rows_moved && run.clients == setting.clients &&
         run.clip == setting.clip && run.epsilon == setting.epsilon && run.asked == setting.asked;
}

Spread spread_of(const std::vector<ComparedRun>& runs, const Setting& setting, double ComparedRun::*figure) {
  std::vector<double> values;
  for (const ComparedRun& run : runs) {
    if (matches(run, setting)) values.push_back(run.*figure);
  }
  if (values.empty()) return {};
  return {median(values), *std::ranges::max_element(values)};
}

// ---------------------------------------------------------------------------------------------------- tables

void print_clients(const std::vector<ComparedRun>& runs) {
  fmt::print("| epsilon_DP |");
  for (const std::size_t clients : kClients) fmt::print(" {} client{} |", clients, clients == 1 ? "" : "s");
  fmt::print(" releases | noise of a release | cost error, {} clients |\n|---|", kComparedClients);
  for (std::size_t k = 0; k < kClients.size() + 3; ++k) fmt::print("---|");
  fmt::print("\n");
  for (const double epsilon : kBudgets) {
    if (epsilon > kLargestUsefulBudget) continue;
    fmt::print("| {} |", epsilon);
    for (const std::size_t clients : kClients) {
      const Spread errors = column_errors(runs, marginal_setting(clients, epsilon, kAuto));
      fmt::print(" {:.2g} ({:.2g}) |", errors.middle, errors.high);
    }
    const Setting setting = marginal_setting(kComparedClients, epsilon, kAuto);
    const auto one = std::ranges::find_if(runs, [&](const ComparedRun& run) { return matches(run, setting); });
    const Spread costs = cost_errors(runs, setting);
    fmt::print(" {} | {:.2g} | {:.2g} % ({:.2g} %) |\n", one->iterations, one->sigma, 100 * costs.middle,
               100 * costs.high);
  }
}

void print_releases(const std::vector<ComparedRun>& runs) {
  fmt::print("\nL1 column error by number of releases, {} clients:\n\n| epsilon_DP |", kComparedClients);
  for (const std::size_t releases : kReleases) {
    fmt::print(" {} |", releases == kAuto ? "auto" : fmt::format("{}", releases));
  }
  fmt::print("\n|---|---|---|---|---|---|\n");
  for (const double epsilon : kBudgets) {
    if (epsilon > kLargestUsefulBudget) continue;
    fmt::print("| {} |", epsilon);
    for (const std::size_t releases : kReleases) {
      fmt::print(" {:.2g} |", column_errors(runs, marginal_setting(kComparedClients, epsilon, releases)).middle);
    }
    fmt::print("\n");
  }
}

void print_both(const std::vector<ComparedRun>& runs) {
  fmt::print(
      "\nBoth mechanisms, {} clients: L1 column error / cost error. Scalings: best of S in {{4, 8, 12}} and 10 or 20 "
      "iterations, chosen after the fact; noise σ on log-scalings; L1 row error of its own plan.\n\n"
      "| epsilon_DP | marginal | scalings, k = 1 | σ | row error | scalings, k = all | σ | row error |\n"
      "|---|---|---|---|---|---|---|---|\n",
      kComparedClients);
  for (const double epsilon : kBudgets) {
    const auto errors = [&](const Setting& setting) {
      return fmt::format("{:.2g} / {:.3g} %", column_errors(runs, setting).middle,
                         100 * cost_errors(runs, setting).middle);
    };
    fmt::print("| {:g} | {} |", epsilon, errors(marginal_setting(kComparedClients, epsilon, kAuto)));
    for (const char* rows_moved : {"paper", "all"}) {
      const Setting best = best_scalings(runs, rows_moved, epsilon);
      fmt::print(" {} | {:.2g} | {:.2g} |", errors(best), spread_of(runs, best, &ComparedRun::sigma).middle,
                 spread_of(runs, best, &ComparedRun::row_error).middle);
    }
    fmt::print("\n");
  }
}

}  // namespace

std::vector<double> compared_budgets() { return {kBudgets.begin(), kBudgets.end()}; }

Spread column_errors(const std::vector<ComparedRun>& runs, const Setting& setting) {
  return spread_of(runs, setting, &ComparedRun::column_error);
}

Spread cost_errors(const std::vector<ComparedRun>& runs, const Setting& setting) {
  return spread_of(runs, setting, &ComparedRun::cost_error);
}

Setting best_scalings(const std::vector<ComparedRun>& runs, const std::string& rows_moved, double epsilon) {
  Setting best;
  double least = std::numeric_limits<double>::infinity();
  for (const double clip : kScalingsClips) {
    for (const std::size_t releases : kScalingsReleases) {
      const Setting setting{"scalings", rows_moved, kComparedClients, clip, epsilon, releases};
      const double error = column_errors(runs, setting).middle;
      if (error >= least) continue;
      least = error;
      best = setting;
    }
  }
  return best;
}

std::vector<ComparedRun> compare_mechanisms(std::size_t seeds) {
  std::vector<ComparedRun> all;
  Ticker ticker("both mechanisms", seeds * runs_of(1).size());
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const Records records(seed);
    const double exact_cost = exact_cost_of(records);
    std::vector<ComparedRun> runs = runs_of(seed);
    for_all(runs.size(), [&](std::size_t k) {
      fill(records, exact_cost, runs[k]);
      ticker.tick();
    });
    all.insert(all.end(), runs.begin(), runs.end());
  }
  return all;
}

void print_comparison(const std::vector<ComparedRun>& runs) {
  fmt::print(
      "\n{} records, {} bins, epsilon_OT {}, delta {:g}. Mechanism marginal, number of releases auto: L1 error of the "
      "plan's columns, median of the seeds (worst).\n\n",
      kRecords, kBins, kEpsilon, kComparedDelta);
  print_clients(runs);
  print_releases(runs);
  print_both(runs);
}

}  // namespace fedsinkhorn::experiments
