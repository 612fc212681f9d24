#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "core/names.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "cost/cost_input.hpp"
#include "costmodel/calibrate.hpp"
#include "costmodel/explain.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {
namespace {

/// Passes until the pass over a block is tuned (backend/cpu/pass_plan.hpp).
constexpr int kWarmUp = 5;
constexpr int kFewestPasses = 5;
constexpr double kEnough = 0.02;  ///< seconds of passes
constexpr std::size_t kLargestForMany = 4200;

/// Points of the unit cube, as costs.
class RandomPoints {
 public:
  RandomPoints(std::size_t count, std::size_t dimension) : dimension_(dimension), values_(count * dimension) {
    Random random(count + dimension);
    for (double& x : values_) x = random.uniform();
    const MatrixView<double> view{values_.data(), count, dimension_};
    costs_ = make_cost_input(PointClouds{view, view, Metric::sqeuclidean});
  }
  [[nodiscard]] std::shared_ptr<const CostInput> costs() const { return costs_; }
  [[nodiscard]] MatrixView<double> view() const { return {values_.data(), values_.size() / dimension_, dimension_}; }

 private:
  std::size_t dimension_;
  std::vector<double> values_;
  std::shared_ptr<const CostInput> costs_;
};

/// A block of a square kernel.
CostBlock block_of(const RandomPoints& points, Range rows, Range columns) {
  CostBlock block{points.costs(), {}, {}};
  for (std::size_t i = rows.first; i < rows.last; ++i) block.rows.push_back(i);
  for (std::size_t j = columns.first; j < columns.last; ++j) block.columns.push_back(j);
  block.all_rows = block.all_columns = points.view().rows;
  return block;
}

/// Quartiles of the times of the slowest client.
struct Spread {
  double median = 0;
  double relative = 0;
};
Spread spread_of(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  const auto at = [&](double share) {
    return seconds[static_cast<std::size_t>(share * static_cast<double>(seconds.size() - 1))];
  };
  return {at(0.5), at(0.5) > 0 ? (at(0.75) - at(0.25)) / at(0.5) : 0};
}

/// One client's part of a measurement: all make the pass at the same time, the slowest counts.
class PassMeter {
 public:
  /// computes: this client takes part; the others wait for messages meanwhile, as the clients of a star do.
  PassMeter(Communicator& group, bool computes) : clients_(group), computes_(computes) {}

  template <class Pass>
  Spread measure(const Pass& pass, int warm_up, int fewest = kFewestPasses) {
    double spent = 0;
    std::vector<double> seconds;
    for (int k = 0; k < warm_up; ++k) (void)once(pass);
    while (static_cast<int>(seconds.size()) < fewest || (spent < kEnough && seconds.size() < 200)) {
      seconds.push_back(once(pass));
      spent += seconds.back();
    }
    return spread_of(seconds);
  }

 private:
  template <class Pass>
  double once(const Pass& pass) {
    clients_.barrier();
    const Timer timer;
    if (computes_) pass();
    const double own = computes_ ? timer.seconds() : 0;
    const std::vector<double> all = clients_.of(Payload::control).allgather_numbers(std::array{own});
    return *std::ranges::max_element(all);
  }

  Collectives clients_;
  bool computes_;
};

/// What is measured with one block.
struct BlockCase {
  std::string kernel;
  Precision precision;
  std::size_t size;  ///< of the square kernel
  std::size_t dimension;
  bool is_tall;  ///< a client's columns of it, not its rows
};

std::vector<BlockCase> cases_of(const CalibrationPlan& plan, bool with_tall) {
  std::vector<BlockCase> cases;
  for (const std::string& kernel : plan.kernels) {
    const bool is_stored = kernel == "dense";
    for (const Precision precision : plan.precisions) {
      for (const std::size_t size : plan.sizes) {
        if (is_stored) cases.push_back({kernel, precision, size, 0, false});
        if (is_stored && with_tall) cases.push_back({kernel, precision, size, 0, true});
      }
      for (const std::size_t dimension : plan.dimensions) {
        if (!is_stored) cases.push_back({kernel, precision, plan.online_size, dimension, false});
      }
    }
  }
  return cases;
}

/// Vectors of as many targets as there may be.
struct Scalings {
  std::vector<double> u, v, q, r, a;
  Scalings(std::size_t rows, std::size_t columns, std::size_t targets)
      : u(rows * targets, 1), v(columns * targets, 1), q(u), r(v), a(rows, 1.0 / static_cast<double>(rows)) {}
};

class BlockMeasurement {
 public:
  BlockMeasurement(Communicator& group, std::size_t clients, bool works_alone, const CalibrationPlan& plan,
                   std::vector<PassTime>& times)
      : plan_(plan),
        works_alone_(works_alone),
        rank_(group.rank()),
        meter_(group, !works_alone || rank_ == 0),
        times_(times) {
    base_.clients = clients;
    base_.computing = works_alone ? 1 : clients;
    base_.threads = plan.threads;
  }

  void run(const BlockCase& one) {
    const std::size_t parts = works_alone_ ? 1 : base_.clients;
    const bool computes = !works_alone_ || rank_ == 0;
    const Range part = computes ? chunk_range(one.size, parts, works_alone_ ? 0 : rank_) : Range{0, 1};
    const Range all{0, one.size};
    const RandomPoints points(one.size, std::max<std::size_t>(one.dimension, 2));
    const KernelSpec spec{one.precision, 1.0, base_.threads};
    MakeBlock* const make = kernels().find(one.kernel, "`kernel`").on("cpu")->make;
    const BlockSettings settings{spec, cpu::simd("auto"), make, make, -1, most_targets()};
    const std::unique_ptr<Block> block =
        make(block_of(points, one.is_tall ? all : part, one.is_tall ? part : all), settings);
    PassTime time = base_;
    time.kernel = one.kernel;
    time.precision = one.precision;
    time.dimension = one.dimension;
    const std::size_t largest = chunk_range(one.size, parts, parts - 1).size();
    time.rows = one.is_tall ? one.size : largest;
    time.columns = one.is_tall ? largest : one.size;
    const std::vector<double> phi(block->rows());
    const std::vector<double> psi(block->columns());
    block->set_epsilon(1.0);
    const auto note = [&](const char* verb, std::size_t targets, const Spread& spread) {
      time.verb = verb;
      time.targets = targets;
      time.seconds = spread.median;
      time.spread = spread.relative;
      if (rank_ == 0) times_.push_back(time);
    };
    // What was absorbed is stored by the next pass.
    std::vector<double> q(block->rows());
    const auto build = [&] {
      block->absorb(phi, psi);
      block->apply(1, psi.data(), q.data());
    };
    note("build", 1, meter_.measure(build, 1, 2));
    for (const std::size_t targets : plan_.targets) {
      // Many targets are bound by arithmetic: the largest sizes would tell nothing new.
      if (targets > 1 && one.size > kLargestForMany) continue;
      if (targets == 4 && one.precision != Precision::float64) continue;
      measure_verbs(*block, targets, one, note);
    }
  }

 private:
  [[nodiscard]] std::size_t most_targets() const { return *std::ranges::max_element(plan_.targets); }

  template <class Note>
  void measure_verbs(Block& block, std::size_t targets, const BlockCase& one, const Note& note) {
    Scalings x(block.rows(), block.columns(), targets);
    const HalfStep step{x.a, {}};
    const int warm_up = one.kernel == "dense" && targets == 1 ? kWarmUp : 1;
    if (!works_alone_ && !one.is_tall) {
      const auto fused = [&] { block.fused(targets, step, x.v.data(), x.q.data(), x.u.data(), x.r.data()); };
      note("fused", targets, meter_.measure(fused, warm_up));
      std::ranges::fill(x.u, 1.0);
    }
    const auto apply = [&] { block.apply(targets, x.v.data(), x.q.data()); };
    const auto apply_transposed = [&] { block.apply_transposed(targets, x.u.data(), x.r.data()); };
    note("apply", targets, meter_.measure(apply, 2));
    note("apply-transposed", targets, meter_.measure(apply_transposed, 2));
  }

  const CalibrationPlan& plan_;
  const bool works_alone_;
  const std::size_t rank_;
  PassMeter meter_;
  std::vector<PassTime>& times_;
  PassTime base_;
};

double rest_of_iteration(std::size_t rows, std::size_t columns, int threads) {
  const RandomPoints x(rows, 2);
  const RandomPoints y(columns, 2);
  Problem problem;
  problem.cost = PointClouds{x.view(), y.view(), Metric::sqeuclidean};
  problem.epsilon = 1;
  Options options;
  options.topology = "centralized";
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = 40;
  options.threads = threads;
  const double iteration = seconds_of_iteration(solve(problem, options));

  const KernelSpec spec{Precision::float64, 1.0, threads};
  MakeBlock* const make = kernels().find("dense", "`kernel`").on("cpu")->make;
  CostBlock costs{make_cost_input(problem.cost), {}, {}};
  for (std::size_t i = 0; i < rows; ++i) costs.rows.push_back(i);
  for (std::size_t j = 0; j < columns; ++j) costs.columns.push_back(j);
  costs.all_rows = rows;
  costs.all_columns = columns;
  const std::unique_ptr<Block> block = make(costs, {spec, cpu::simd("auto"), make, make, -1, 1});
  block->set_epsilon(1.0);
  block->absorb(std::vector<double>(rows), std::vector<double>(columns));
  Scalings s(rows, columns, 1);
  const HalfStep step{s.a, {}};
  std::vector<double> seconds;
  for (int k = 0; k < 40; ++k) {
    const Timer timer;
    block->fused(1, step, s.v.data(), s.q.data(), s.u.data(), s.r.data());
    if (k >= kWarmUp) seconds.push_back(timer.seconds());
  }
  return std::max(0.0, iteration - spread_of(seconds).median);
}

}  // namespace

void measure_passes(Communicator& group, std::size_t clients, bool works_alone, const CalibrationPlan& plan,
                    const std::function<void(const std::string& what)>& step, std::vector<PassTime>& times) {
  reserve_threads(plan.threads);
  BlockMeasurement measurement(group, clients, works_alone, plan, times);
  for (const BlockCase& one : cases_of(plan, clients > 1 && !works_alone)) {
    step(fmt::format("{} kernel, {}, n = {}, {} client{}{} of {} thread{}", one.kernel, name_of(one.precision),
                     one.size, clients, clients == 1 ? "" : "s", works_alone ? ", one computing," : "", plan.threads,
                     plan.threads == 1 ? "" : "s"));
    measurement.run(one);
  }
}

void measure_element_wise(int threads, Profile& profile) {
  constexpr std::size_t kMany = 1 << 16;
  constexpr std::size_t kFew = 16;
  profile.seconds_per_row = rest_of_iteration(kMany, kFew, threads) / kMany;
  profile.seconds_per_column = rest_of_iteration(kFew, kMany, threads) / kMany;
}

}  // namespace fedsinkhorn
