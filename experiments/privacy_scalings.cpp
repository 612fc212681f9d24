// The paper's sweep: how far from the marginals do clipped and noised scalings stay, and at which epsilon_DP?
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "experiments.hpp"
#include "privacy.hpp"
#include "privacy/gaussian_accounting.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr double kNoClip = 0;
constexpr std::array kClips = {1.0, 4.0, 8.0, 12.0, 16.0, 20.0, kNoClip};
constexpr std::array kSigmas = {1e-10, 1e-5, 1e-3, 1e-2, 1e-1, 0.5, 1.0};
constexpr std::array<std::size_t, 3> kClients = {2, 4, 8};
constexpr std::array kTopologies = {"all-to-all", "star"};
constexpr double kEpsilon = 0.01;
constexpr double kSmallEpsilon = 0.0002;
constexpr std::size_t kLast = 100;

std::vector<SweepCell> grid() {
  std::vector<SweepCell> cells;
  for (const char* topology : kTopologies) {
    for (const std::size_t clients : kClients) {
      for (const double clip : kClips) {
        for (const double sigma : kSigmas) {
          cells.emplace_back().at = {topology, clients, clip, sigma};
        }
      }
    }
  }
  return cells;
}

Options options_of(const SweepPoint& point, std::size_t seed) {
  Options options;
  options.policy = "private";
  options.mechanism = "scalings";
  options.backend = "cpu";
  options.topology = point.topology;
  options.clients = point.clients;
  options.norm = Norm::l2;
  options.threads = 1;
  options.noise = point.sigma;
  options.noise_seed = seed;
  options.delta = kSweepDelta;
  options.releases = kSweepReleases;
  if (point.clip == kNoClip) {
    options.clip_kind = ClipKind::none;
  } else {
    options.clip = point.clip;
    options.rows_moved = "paper";
  }
  return options;
}

Epsilons epsilons_of(double mu) {
  return {exact_epsilon(mu, kSweepDelta), renyi_epsilon(mu, kSweepDelta, Conversion::tight).epsilon,
          renyi_epsilon(mu, kSweepDelta, Conversion::papers).epsilon};
}

void run_cell(const Problem& problem, std::size_t seed, SweepCell& cell) {
  const Result result = solve(problem, options_of(cell.at, seed));
  std::vector<double> errors;
  errors.reserve(result.trace.size());
  for (const TraceRow& row : result.trace) errors.push_back(row.error_a);
  const std::size_t last = std::min(kLast, errors.size());
  cell.floors.push_back(std::accumulate(errors.end() - static_cast<std::ptrdiff_t>(last), errors.end(), 0.0) /
                        static_cast<double>(last));
  if (cell.trace.empty()) cell.trace = std::move(errors);
  const PrivacyReport& report = result.privacy;
  cell.rows = 0;
  for (const ClientReport& client : result.clients) {
    cell.rows = std::max({cell.rows, client.last_row - client.first_row, client.last_column - client.first_column});
  }
  cell.of_one_row = {report.epsilon_exact, report.epsilon_rdp, report.epsilon_rdp_paper};
  // The noise is the same; only what it is measured against changes.
  cell.of_all_rows = epsilons_of(report.mu * std::sqrt(static_cast<double>(cell.rows)));
}

/// u may be multiplied by a constant if v is divided by it: the one that makes the largest |log| least.
double least_clip_of(const Problem& problem) {
  Options options;
  options.backend = "cpu";
  const Result result = solve(problem, options);
  const auto [f_least, f_most] = std::ranges::minmax(result.f);
  const auto [g_least, g_most] = std::ranges::minmax(result.g);
  // Both |f + t| and |g - t| stay below S: -S <= f_least + t, f_most + t <= S, and likewise for g.
  return std::max({f_most - f_least, g_most - g_least, f_most + g_most, -f_least - g_least}) / (2 * kEpsilon);
}

void run_all(const Problem& problem, std::size_t seed, std::vector<SweepCell>& cells, Ticker& ticker) {
  for_all(cells.size(), [&](std::size_t k) {
    run_cell(problem, seed, cells[k]);
    ticker.tick();
  });
}

std::string clip_text(double clip) { return clip == kNoClip ? "no clip" : fmt::format("{}", clip); }

void print_head() {
  fmt::print("| S |");
  for (const double sigma : kSigmas) fmt::print(" σ = {:g} |", sigma);
  fmt::print("\n|---|");
  for (std::size_t k = 0; k < kSigmas.size(); ++k) fmt::print("---|");
  fmt::print("\n");
}

/// A figure of all cells with two clients, all-to-all.
template <typename Figure>
void print_figures(const std::vector<SweepCell>& cells, bool without_clip, const Figure& figure) {
  print_head();
  for (const double clip : kClips) {
    if (clip == kNoClip && !without_clip) continue;
    fmt::print("| {} |", clip_text(clip));
    for (const double sigma : kSigmas) {
      fmt::print(" {:.2g} |", figure(cell_at(cells, {"all-to-all", 2, clip, sigma})));
    }
    fmt::print("\n");
  }
}

void print_epsilons(const std::vector<SweepCell>& cells) {
  fmt::print(
      "\nThe same by other rules, σ = 1, two clients (k: rows of a slice that one record moves):\n\n"
      "| S | k | exact | RDP | RDP, paper's rule |\n|---|---|---|---|---|\n");
  for (const double clip : kClips) {
    if (clip == kNoClip) continue;
    const SweepCell& cell = cell_at(cells, {"all-to-all", 2, clip, 1});
    const auto line = [&](std::size_t k, const Epsilons& epsilons) {
      fmt::print("| {} | {} | {:.5g} | {:.5g} | {:.5g} |\n", clip, k, epsilons.exact, epsilons.rdp, epsilons.paper);
    };
    line(1, cell.of_one_row);
    line(cell.rows, cell.of_all_rows);
  }
}

/// Do topology and number of clients matter?
void print_topologies(const std::vector<SweepCell>& cells) {
  fmt::print(
      "\nNoise floor over that of two clients, all-to-all, over all S and σ:\n\n"
      "| topology | clients | median | least | most |\n|---|---|---|---|---|\n");
  for (const char* topology : kTopologies) {
    for (const std::size_t clients : kClients) {
      std::vector<double> ratios;
      for (const SweepCell& cell : cells) {
        if (cell.at.topology != topology || cell.at.clients != clients) continue;
        ratios.push_back(cell.floor() / cell_at(cells, {"all-to-all", 2, cell.at.clip, cell.at.sigma}).floor());
      }
      fmt::print("| {} | {} | {:.4g} | {:.4g} | {:.4g} |\n", topology, clients, median(ratios),
                 *std::ranges::min_element(ratios), *std::ranges::max_element(ratios));
    }
  }
}

}  // namespace

double SweepCell::floor() const { return median(floors); }

const SweepCell& cell_at(const std::vector<SweepCell>& cells, const SweepPoint& point) {
  return *std::ranges::find_if(cells, [&](const SweepCell& cell) { return cell.at == point; });
}

Sweep sweep_scalings(std::size_t seeds, std::size_t n) {
  Sweep sweep;
  sweep.cells = grid();
  for (const double sigma : kSigmas) sweep.slow.emplace_back().at = {"all-to-all", 2, kNoClip, sigma};
  Ticker ticker("scalings", seeds * (sweep.cells.size() + sweep.slow.size()));
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const StudyProblem study(seed, n);
    Problem problem = study.view();
    problem.epsilon = kEpsilon;
    run_all(problem, seed, sweep.cells, ticker);
    sweep.least_clip.push_back(least_clip_of(problem));
    problem.epsilon = kSmallEpsilon;
    run_all(problem, seed, sweep.slow, ticker);
  }
  return sweep;
}

void print_sweep(const Sweep& sweep) {
  fmt::print("Noise floor: |P 1 - a| in L2, mean of the last {} of {} iterations; two clients, all-to-all:\n\n", kLast,
             kSweepReleases);
  print_figures(sweep.cells, true, [](const SweepCell& cell) { return cell.floor(); });
  fmt::print("| no clip, epsilon_OT {} |", kSmallEpsilon);
  for (const SweepCell& cell : sweep.slow) fmt::print(" {:.2g} |", cell.floor());
  fmt::print("\n\nLeast S that the log-scalings of the exact solution fit into: {:.3g}.\n", median(sweep.least_clip));
  fmt::print("\nepsilon_DP at delta = {:g}, as the paper computes it (one record moves one row, its rule):\n\n",
             kSweepDelta);
  print_figures(sweep.cells, false, [](const SweepCell& cell) { return cell.of_one_row.paper; });
  print_epsilons(sweep.cells);
  print_topologies(sweep.cells);
}

}  // namespace fedsinkhorn::experiments
