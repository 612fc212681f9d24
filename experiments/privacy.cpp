// What does noise cost? The paper's sweep of mechanism scalings, then both mechanisms at the same budgets.
#include "privacy.hpp"

#include <fmt/format.h>

#include <iterator>

#include "experiments.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn::experiments {
namespace {

constexpr std::size_t kSeeds = 3;
constexpr std::size_t kSize = 300;

/// Every iteration at first, then every tenth, and the last.
bool is_kept(std::size_t iteration, std::size_t count) {
  constexpr std::size_t kFirst = 20;
  return iteration <= kFirst || iteration % 10 == 0 || iteration == count;
}

std::string clip_text(double clip) { return clip == 0 ? "none" : fmt::format("{}", clip); }

std::string traces_csv(const std::vector<SweepCell>& cells) {
  std::string text = "topology,clients,clip,sigma,iteration,error_a_l2\n";
  for (const SweepCell& cell : cells) {
    for (std::size_t t = 1; t <= cell.trace.size(); ++t) {
      if (!is_kept(t, cell.trace.size())) continue;
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{:.6g}\n", cell.at.topology, cell.at.clients,
                     clip_text(cell.at.clip), cell.at.sigma, t, cell.trace[t - 1]);
    }
  }
  return text;
}

std::string floors_csv(const std::vector<SweepCell>& cells) {
  std::string text =
      "topology,clients,clip,sigma,seed,floor_l2,k,epsilon_exact_k1,epsilon_rdp_k1,epsilon_paper_k1,epsilon_exact,"
      "epsilon_rdp,epsilon_paper\n";
  for (const SweepCell& cell : cells) {
    const auto [exact_1, rdp_1, paper_1] = cell.of_one_row;
    const auto [exact, rdp, paper] = cell.of_all_rows;
    for (std::size_t seed = 1; seed <= cell.floors.size(); ++seed) {
      fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{:.6g},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n",
                     cell.at.topology, cell.at.clients, clip_text(cell.at.clip), cell.at.sigma, seed,
                     cell.floors[seed - 1], cell.rows, exact_1, rdp_1, paper_1, exact, rdp, paper);
    }
  }
  return text;
}

std::string marginal_csv(const std::vector<ComparedRun>& runs) {
  std::string text =
      "mechanism,rows_moved,clients,clip,epsilon,releases_asked,seed,iterations,sigma,column_error_l1,cost_error,"
      "row_error_l1\n";
  for (const ComparedRun& run : runs) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g}\n", run.mechanism,
                   run.rows_moved, run.clients, clip_text(run.clip), run.epsilon,
                   run.asked == 0 ? "auto" : fmt::format("{}", run.asked), run.seed, run.iterations, run.sigma,
                   run.column_error, run.cost_error, run.row_error);
  }
  return text;
}

}  // namespace

void Ticker::tick() {
  constexpr std::size_t kParts = 20;
  const std::scoped_lock lock(mutex_);
  ++done_;
  if (done_ * kParts / count_ == (done_ - 1) * kParts / count_) return;
  fmt::print(stderr, "{}: {} of {} runs, {:.0f} s\n", what_, done_, count_, timer_.seconds());
}

void privacy(std::size_t seeds, std::size_t n, const std::filesystem::path& output) {
  if (seeds == 0) seeds = kSeeds;
  if (n == 0) n = kSize;
  if (!output.empty()) std::filesystem::create_directories(output);
  const Timer timer;
  fmt::print("Mechanism scalings: n = {}, epsilon_OT 0.01; medians over seeds 1 to {}.\n\n", n, seeds);
  std::fflush(stdout);
  const Sweep sweep = sweep_scalings(seeds, n);
  print_sweep(sweep);
  std::fflush(stdout);
  const std::vector<ComparedRun> runs = compare_mechanisms(seeds);
  print_comparison(runs);
  fmt::print(stderr, "done in {:.0f} s\n", timer.seconds());
  if (output.empty()) return;
  write_file_atomically(output / "traces.csv", traces_csv(sweep.cells));
  write_file_atomically(output / "floors.csv", floors_csv(sweep.cells));
  write_file_atomically(output / "marginal.csv", marginal_csv(runs));
  write_file_atomically(output / "error-vs-epsilon.svg", privacy_picture(sweep.cells, runs));
}

}  // namespace fedsinkhorn::experiments
