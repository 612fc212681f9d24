// A stored kernel: an iteration cannot take less than one read of K, and one read is what it should take.
#include <fmt/format.h>

#include "core/stopwatch.hpp"
#include "dense_kernel.hpp"
#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kEpsilon = 0.05;  // of the largest cost

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
/// inside the solver's callback, so that both meet the same machine. The first iteration is not counted: it is done in
/// logs.
std::vector<Timing> time_solve(const Instance& instance, const DenseKernel& same_size, Precision precision, int threads,
                               int iterations) {
  Timing iteration{fmt::format("solve(), {}", precision == Precision::mixed ? "mixed" : "float64"), {}};
  Timing read{iteration.name + ": read", {}};
  Options options;
  options.backend = "cpu";
  options.method = "sinkhorn";
  options.tolerance = 0;
  options.max_iterations = iterations + 1;
  options.threads = threads;
  options.precision = precision;
  Timer since_callback;
  options.on_check = [&](const Progress& progress) {
    const double seconds = since_callback.seconds();
    const Timer reading;
    same_size.read();
    if (progress.iteration > 1) {
      iteration.seconds.push_back(seconds);
      read.seconds.push_back(reading.seconds());
    }
    since_callback = Timer();
  };
  (void)solve(instance.problem(), options);
  return {iteration, read};
}

void add_row(Table& table, const Timing& timing, const Timing& floor, double bytes) {
  const double seconds = median(timing.seconds);
  table.add({timing.name, duration_text(seconds), duration_text(quantile(timing.seconds, 0)),
             duration_text(quantile(timing.seconds, 0.9)), fmt::format("{:.1f}", bytes / seconds / 1e9),
             ratio_text(ratios(timing.seconds, floor.seconds))});
}

}  // namespace

void measure_dense(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const Instance instance(random_points(CloudKind::uniform, n, 2), kEpsilon, settings.threads);
  DenseKernel float64(instance, Precision::float64, settings.threads);
  DenseKernel mixed(instance, Precision::mixed, settings.threads);
  DenseKernel float32(instance, Precision::float32, settings.threads);
  verify(instance, float64, mixed, float32);

  Iteration iteration64(instance, float64.kernel());
  Iteration iteration_mixed(instance, mixed.kernel());
  Iteration iteration32(instance, float32.kernel());
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
  const std::vector<Timing> timings = round_robin(rounds, contenders);
  report.timings(timings);

  const auto bytes64 = static_cast<double>(float64.bytes());
  const auto bytes32 = static_cast<double>(mixed.bytes());
  report.note(fmt::format("n = {}, {} threads, {}, {} rounds; x read: time over that of reading the same bytes", n,
                          settings.threads, instance.simd().name, rounds.rounds));
  Table table({"", "median", "least", "p90", "GB/s", "x read (middle 80 %)"});
  for (std::size_t k = 0; k < 4; ++k) add_row(table, timings[k], timings[0], k == 3 ? 2 * bytes64 : bytes64);
  for (std::size_t k = 4; k < 7; ++k) add_row(table, timings[k], timings[4], bytes32);
  for (const Precision precision : {Precision::float64, Precision::mixed}) {
    const bool narrow = precision == Precision::mixed;
    const auto solved =
        time_solve(instance, narrow ? mixed : float64, precision, settings.threads, settings.quick ? 5 : 30);
    report.timings(solved);
    add_row(table, solved[0], solved[1], narrow ? bytes32 : bytes64);
  }
  report.print(table);
  report.value("fused / read", median(ratios(timings[2].seconds, timings[0].seconds)));
  report.value("fused mixed / read", median(ratios(timings[5].seconds, timings[4].seconds)));
}

}  // namespace fedsinkhorn::bench
