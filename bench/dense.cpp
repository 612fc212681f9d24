// A stored kernel: an iteration cannot take less than one read of K, and one read is what it should take. Where there
// is AVX-512 everything is measured twice, with it and with AVX2, as on machines that have no more.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/caches.hpp"
#include "core/memory.hpp"
#include "core/stopwatch.hpp"
#include "dense_kernel.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kEpsilon = 0.05;  // of the largest cost
constexpr double kGoal64 = 1.12;
constexpr double kGoal32 = 1.15;
constexpr double kGoalOfShapes = 1.2;
/// Iterations before the first that is timed: a kernel may try out in its first rounds how it runs best.
constexpr int kSettling = 12;

/// One pass must take turns with one read for at least so long, or the clock and the start of threads show.
constexpr double kLeastSeconds = 4e-3;

/// Which tables of inner loops: the one that is forced, else the best, and AVX2 where that is not the best.
std::vector<std::string> tables_to_measure() {
  const std::string best = cpu::simd("auto").name;
  const char* const forced = std::getenv(cpu::kForcedSimd);  // NOLINT(concurrency-mt-unsafe): nothing writes it now
  std::vector<std::string> names = {best};
  if (best == "avx512" && (forced == nullptr || *forced == '\0')) names.emplace_back("avx2");
  return names;
}

/// The fused pass answers to the two passes, the narrow types to float64.
void verify(const Instance& instance, DenseKernel& float64, DenseKernel& mixed, DenseKernel& float32) {
  Iteration reference(instance, float64.kernel());
  Iteration one_pass(instance, float64.kernel());
  Iteration one_pass_mixed(instance, mixed.kernel());
  Iteration one_pass_float32(instance, float32.kernel());
  for (int k = 0; k < 3; ++k) {
    reference.two_passes();
    one_pass.fused();
    one_pass_mixed.fused();
    one_pass_float32.fused();
  }
  require_close("dense, fused u", one_pass.u(), reference.u(), 1e-11);
  require_close("dense, fused v", one_pass.v(), reference.v(), 1e-11);
  require_close("dense, mixed v", one_pass_mixed.v(), reference.v(), 1e-5);
  require_close("dense, float32 v", one_pass_float32.v(), reference.v(), 1e-4);
}

/// Iterations as users meet them: inside solve(), updates, checks and all. After each of them K is read once from
/// inside the solver's callback, so that both meet the same machine. The first iterations are not counted: one is done
/// in logs, and the kernel settles.
std::vector<Timing> time_solve(const Instance& instance, const DenseKernel& same_size, Precision precision, int threads,
                               int iterations) {
  Timing iteration{fmt::format("solve(), {}", precision == Precision::mixed ? "mixed" : "float64"), {}};
  Timing read{iteration.name + ": read", {}};
  Options options;
  options.backend = "cpu";
  options.simd = instance.simd().name;
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = iterations + kSettling;
  options.threads = threads;
  options.precision = precision;
  Timer since_callback;
  options.on_check = [&](const Progress& progress) {
    const double seconds = since_callback.seconds();
    const Timer reading;
    same_size.read();
    if (progress.iteration > kSettling) {
      iteration.seconds.push_back(seconds);
      read.seconds.push_back(reading.seconds());
    }
    since_callback = Timer();
  };
  (void)solve(instance.problem(), options);
  return {iteration, read};
}

void add_row(Table& table, const std::string& name, const Timing& timing, const Timing& floor, double bytes) {
  const double seconds = median(timing.seconds);
  table.add({name, duration_text(seconds), duration_text(quantile(timing.seconds, 0)),
             duration_text(quantile(timing.seconds, 0.9)), fmt::format("{:.1f}", bytes / seconds / 1e9),
             ratio_text(ratios(timing.seconds, floor.seconds))});
}

Table new_table() { return Table({"", "median", "least", "p90", "GB/s", "x read (middle 80 %)"}); }

void settle(Iteration& iteration) {
  for (int k = 0; k < kSettling; ++k) iteration.fused();
}

// ------------------------------------------------------------------------------------- the square everyone measures

void measure_square(const cpu::Simd& simd, const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const Instance instance(random_points(CloudKind::uniform, n, 2), kEpsilon, settings.threads, simd);
  DenseKernel float64(instance, Precision::float64, settings.threads);
  DenseKernel mixed(instance, Precision::mixed, settings.threads);
  DenseKernel float32(instance, Precision::float32, settings.threads);
  verify(instance, float64, mixed, float32);

  Iteration iteration64(instance, float64.kernel());
  Iteration iteration_mixed(instance, mixed.kernel());
  Iteration iteration32(instance, float32.kernel());
  for (Iteration* iteration : {&iteration64, &iteration_mixed, &iteration32}) settle(*iteration);
  std::vector<double> q(n);
  const Contender contenders[] = {
      timed("read of K", [&] { float64.read(); }),
      timed("product K v alone", [&] { float64.kernel().apply(1, iteration64.v().data(), q.data()); }),
      timed("fused", [&] { iteration64.fused(); }),
      timed("two passes", [&] { iteration64.two_passes(); }),
      timed("read of float32 K", [&] { mixed.read(); }),
      timed("fused, mixed", [&] { iteration_mixed.fused(); }),
      timed("fused, float32", [&] { iteration32.fused(); }),
  };
  const RoundRobin rounds{settings.rounds(25), 2};
  std::vector<Timing> timings = round_robin(rounds, contenders);

  const auto bytes64 = static_cast<double>(float64.bytes());
  const auto bytes32 = static_cast<double>(mixed.bytes());
  report.note(fmt::format("n = {}, {} threads, {}, {} rounds; x read: time over that of reading the same bytes", n,
                          settings.threads, simd.name, rounds.rounds));
  Table table = new_table();
  for (std::size_t k = 0; k < 4; ++k) {
    add_row(table, timings[k].name, timings[k], timings[0], k == 3 ? 2 * bytes64 : bytes64);
  }
  for (std::size_t k = 4; k < 7; ++k) add_row(table, timings[k].name, timings[k], timings[4], bytes32);
  const std::string label = fmt::format("{}, n = {}: ", simd.name, n);
  report.at_most(label + "fused float64 / read", median(ratios(timings[2].seconds, timings[0].seconds)), kGoal64);
  report.at_most(label + "fused mixed / read", median(ratios(timings[5].seconds, timings[4].seconds)), kGoal32);
  report.at_most(label + "fused float32 / read", median(ratios(timings[6].seconds, timings[4].seconds)), kGoal32);
  for (const Precision precision : {Precision::float64, Precision::mixed}) {
    const bool narrow = precision == Precision::mixed;
    const auto solved =
        time_solve(instance, narrow ? mixed : float64, precision, settings.threads, settings.quick ? 5 : 30);
    add_row(table, solved[0].name, solved[0], solved[1], narrow ? bytes32 : bytes64);
    report.value(label + solved[0].name + " / read", median(ratios(solved[0].seconds, solved[1].seconds)));
    timings.insert(timings.end(), solved.begin(), solved.end());
  }
  report.print(table);
  for (Timing& timing : timings) timing.name = label + timing.name;
  report.timings(timings);
}

// -------------------------------------------------------------------------------------------------------- other shapes

struct Shape {
  std::size_t rows;
  std::size_t columns;
  int rounds;
  bool is_goal;
};

// The last: rows so long that no block of them fits into a second-level cache.
constexpr Shape kShapes[] = {
    {2000, 2000, 25, true}, {10000, 3000, 15, true}, {30000, 30000, 7, true}, {2000, 150000, 7, false}};

/// One kernel, its pass and its read in turns.
void measure_shape(const Instance& instance, Precision precision, const Shape& shape, const Settings& settings,
                   Table& table, Report& report) {
  const bool narrow = precision == Precision::mixed;
  const std::string name = fmt::format("{} x {}, {}", instance.n(), instance.m(), narrow ? "mixed" : "float64");
  const double needed = 1.1 * dense_kernel_bytes({precision, 1, settings.threads}, {instance.n(), instance.m()});
  if (needed > static_cast<double>(available_memory())) {
    report.note(fmt::format("{}: skipped, needs {} of memory", name, human_bytes(static_cast<std::uint64_t>(needed))));
    return;
  }
  DenseKernel kernel(instance, precision, settings.threads);
  Iteration reference(instance, kernel.kernel());
  Iteration iteration(instance, kernel.kernel());
  for (int k = 0; k < 2; ++k) {
    reference.two_passes();
    iteration.fused();
  }
  require_close("dense, fused v of another shape", iteration.v(), reference.v(), 1e-11);
  settle(iteration);

  const Timer timer;
  kernel.read();
  const int times = std::clamp(static_cast<int>(kLeastSeconds / timer.seconds()), 1, 100);
  const auto often = [times](const std::string& what, const std::function<void()>& work) {
    return Contender{what, [times, work] {
                       const Timer watch;
                       for (int k = 0; k < times; ++k) work();
                       return watch.seconds() / times;
                     }};
  };
  const Contender contenders[] = {often("read", [&] { kernel.read(); }), often("fused", [&] { iteration.fused(); })};
  std::vector<Timing> timings = round_robin({settings.rounds(shape.rounds), 1}, contenders);
  const auto bytes = static_cast<double>(kernel.bytes());
  add_row(table, name + ", read", timings[0], timings[0], bytes);
  add_row(table, name + ", fused", timings[1], timings[0], bytes);

  const std::string label = fmt::format("{}, {}: ", instance.simd().name, name);
  const double ratio = median(ratios(timings[1].seconds, timings[0].seconds));
  // A float32 kernel that fits into the last-level cache is read from there: no goal was set for that.
  const bool is_cached = narrow && kernel.bytes() <= caches().last;
  if (shape.is_goal && !is_cached) {
    report.at_most(label + "fused / read", ratio, kGoalOfShapes);
  } else {
    report.value(label + "fused / read", ratio);
  }
  for (Timing& timing : timings) timing.name = label + timing.name;
  report.timings(timings);
}

void measure_shapes(const cpu::Simd& simd, const Settings& settings, Report& report) {
  const std::size_t part = settings.quick ? 20 : 1;
  Table table = new_table();
  for (const Shape& shape : kShapes) {
    const Instance instance(rectangle_of_points(shape.rows / part, shape.columns / part), kEpsilon, settings.threads,
                            simd);
    for (const Precision precision : {Precision::float64, Precision::mixed}) {
      measure_shape(instance, precision, shape, settings, table, report);
    }
  }
  report.print(table);
}

}  // namespace

void measure_dense(const Settings& settings, Report& report) {
  for (const std::string& name : tables_to_measure()) {
    const cpu::Simd& simd = cpu::simd(name);
    measure_square(simd, settings, report);
    if (settings.n == 0) measure_shapes(simd, settings, report);
  }
}

}  // namespace fedsinkhorn::bench
