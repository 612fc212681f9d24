// The privacy study: error against epsilon_DP, for both mechanisms of policy private.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/stopwatch.hpp"

namespace fedsinkhorn::experiments {

/// Of the sweep of mechanism scalings, as in the paper.
inline constexpr double kSweepDelta = 1e-5;
inline constexpr std::size_t kSweepReleases = 1000;
/// Of the comparison of both mechanisms on one problem.
inline constexpr double kComparedDelta = 1e-6;

/// epsilon_DP of a run, by three rules.
struct Epsilons {
  double exact = 0;
  double rdp = 0;    ///< by Rényi's divergences
  double paper = 0;  ///< the same with the paper's conversion
};

/// A setting of the sweep.
struct SweepPoint {
  std::string topology;
  std::size_t clients = 0;
  double clip = 0;  ///< S; 0: no clip
  double sigma = 0;

  [[nodiscard]] bool operator==(const SweepPoint&) const = default;
};
/// What came out there.
struct SweepCell {
  SweepPoint at;
  std::vector<double> trace;   ///< |P 1 - a| in L2 after every iteration, first seed
  std::vector<double> floors;  ///< one per seed: mean of the last 100 errors
  std::size_t rows = 0;        ///< of the largest slice
  Epsilons of_one_row;         ///< one record moves one row, the paper's reading
  Epsilons of_all_rows;        ///< one record may move all rows of a slice

  [[nodiscard]] double floor() const;  ///< median over the seeds
};

/// The paper's sweep, on points all over a square.
struct Sweep {
  std::vector<SweepCell> cells;
  std::vector<SweepCell> slow;     ///< without clip, epsilon_OT 50 times smaller: 1,000 iterations are not enough
  std::vector<double> least_clip;  ///< one per seed: the least S that the scalings of the solution fit into
};
[[nodiscard]] Sweep sweep_scalings(std::size_t seeds, std::size_t n);
[[nodiscard]] const SweepCell& cell_at(const std::vector<SweepCell>& cells, const SweepPoint& point);
void print_sweep(const Sweep& sweep);

/// One run of either mechanism on the problem of records and bins.
struct ComparedRun {
  std::string mechanism;
  std::string rows_moved;  ///< scalings: paper or all; marginal: empty
  std::size_t clients = 0;
  double clip = 0;        ///< scalings: S
  double epsilon = 0;     ///< the budget
  std::size_t asked = 0;  ///< number of releases asked for; 0: auto
  std::size_t seed = 0;
  std::size_t iterations = 0;
  double sigma = 0;
  double cost_error = 0;    ///< |cost - exact cost| / exact cost
  double column_error = 0;  ///< L1, of the plan from g whose rows are right
  double row_error = 0;     ///< L1, of the plan from f and g
};

[[nodiscard]] std::vector<ComparedRun> compare_mechanisms(std::size_t seeds);
void print_comparison(const std::vector<ComparedRun>& runs);

/// Median and largest over seeds.
struct Spread {
  double middle = 0;
  double high = 0;
};
/// What the runs that differ in nothing but the seed have in common; see ComparedRun.
struct Setting {
  std::string mechanism;
  std::string rows_moved;
  std::size_t clients = 0;
  double clip = 0;
  double epsilon = 0;
  std::size_t asked = 0;
};
[[nodiscard]] Spread column_errors(const std::vector<ComparedRun>& runs, const Setting& setting);
[[nodiscard]] Spread cost_errors(const std::vector<ComparedRun>& runs, const Setting& setting);
/// Mechanism scalings: the setting of clip and number of releases with the least column error at that budget.
[[nodiscard]] Setting best_scalings(const std::vector<ComparedRun>& runs, const std::string& rows_moved,
                                    double epsilon);
[[nodiscard]] std::vector<double> compared_budgets();
inline constexpr std::size_t kComparedClients = 5;

/// Both as one picture (SVG).
[[nodiscard]] std::string privacy_picture(const std::vector<SweepCell>& cells, const std::vector<ComparedRun>& runs);

/// Tells on stderr how far a long experiment is. Thread-safe.
class Ticker {
 public:
  Ticker(std::string what, std::size_t count) : what_(std::move(what)), count_(count) {}
  void tick();

 private:
  std::string what_;
  std::size_t count_;
  std::mutex mutex_;
  std::size_t done_ = 0;
  Timer timer_;
};

}  // namespace fedsinkhorn::experiments
