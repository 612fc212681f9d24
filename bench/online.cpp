// A kernel computed on the fly: an iteration cannot take less than n m exponentials and n m d multiply-adds.
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/parallel.hpp"
#include "floors.hpp"
#include "fma_peak.hpp"
#include "instance.hpp"
#include "online_memory.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kOnlineEpsilon = 0.05;
constexpr double kMegabytes = 100;
constexpr std::size_t kPieces = 64;

std::atomic<double> drain;  // keeps the compiler from dropping the work

std::unique_ptr<Kernel> make(const Instance& instance, MakeKernel* make_kernel, Precision precision, int threads) {
  auto kernel = make_kernel({precision, instance.checked().epsilon, threads}, instance.checked().block(),
                            instance.cost(), instance.simd());
  kernel->absorb(std::vector<double>(instance.n()), std::vector<double>(instance.m()));
  return kernel;
}

/// On fewer points, against the stored kernel in two passes.
void verify(std::size_t dimension, int threads) {
  const Instance instance(online_points(700, dimension), kOnlineEpsilon, threads);
  const auto dense = make(instance, make_dense_kernel, Precision::float64, threads);
  const auto online = make(instance, make_online_kernel, Precision::float64, threads);
  const auto mixed = make(instance, make_online_kernel, Precision::mixed, threads);
  Iteration reference(instance, *dense);
  Iteration computed(instance, *online);
  Iteration computed_mixed(instance, *mixed);
  for (int k = 0; k < 3; ++k) {
    reference.two_passes();
    computed.fused();
    computed_mixed.fused();
  }
  require_close("online, v", computed.v(), reference.v(), 1e-11);
  require_close("online, mixed v", computed_mixed.v(), reference.v(), 1e-5);
}

void multiply_adds(std::size_t count, int threads) {
  parallel_chunks(threads, kPieces,
                  [&](std::size_t, std::size_t) { drain = multiply_add_in_registers(count / kPieces); });
}

/// The same multiply-adds as products of tiles by OpenBLAS: what a very good implementation makes of the peak, packing
/// and storing the results in cache included.
void product_tiles(std::size_t n, std::size_t dimension, int threads) {
  constexpr std::size_t rows = 128;
  constexpr std::size_t columns = 512;
  const std::size_t tiles = (n + rows - 1) / rows * ((n + columns - 1) / columns);
  parallel_chunks(threads, kPieces, [&](std::size_t piece, std::size_t) {
    const std::vector<double> x(rows * dimension, 0.5);
    const std::vector<double> y(columns * dimension, 0.5);
    std::vector<double> products(rows * columns);
    const Range range = chunk_range(tiles, kPieces, piece);
    const auto k = static_cast<blasint>(dimension);
    for (std::size_t tile = range.first; tile < range.last; ++tile) {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, columns, k, 1, x.data(), k, y.data(), k, 0,
                  products.data(), columns);
    }
    drain = products[0];
  });
}

void measure_dimension(std::size_t n, std::size_t dimension, const Settings& settings, Report& report) {
  const int threads = settings.threads;
  verify(dimension, threads);
  const Instance instance(online_points(n, dimension), kOnlineEpsilon, threads);
  const auto float64 = make(instance, make_online_kernel, Precision::float64, threads);
  const auto mixed = make(instance, make_online_kernel, Precision::mixed, threads);
  Iteration iteration64(instance, *float64);
  Iteration iteration_mixed(instance, *mixed);
  const Contender contenders[] = {
      timed("exponentials", [&] { exponentials(instance.simd(), n * n, threads); }),
      timed("multiply-adds", [&] { multiply_adds(n * n * dimension, threads); }),
      timed("(as OpenBLAS tiles)", [&] { product_tiles(n, dimension, threads); }),
      timed("fused, float64", [&] { iteration64.fused(); }),
      timed("fused, mixed", [&] { iteration_mixed.fused(); }),
  };
  const RoundRobin rounds{settings.rounds(11), 1, 0.05};
  std::vector<Timing> timings = round_robin(rounds, contenders);
  const std::vector<double> floor = sums(timings[0].seconds, timings[1].seconds);

  report.note(fmt::format("n = {}, d = {}, {} threads, {}, {} rounds", n, dimension, threads, instance.simd().name,
                          rounds.rounds));
  const auto pairs = static_cast<double>(n * n);
  Table table({"", "median", "least", "p90", "x floor (middle 80 %)", "rate"});
  const auto row = [&](const std::string& name, const std::vector<double>& seconds, const std::string& rate) {
    table.add({name, duration_text(median(seconds)), duration_text(quantile(seconds, 0)),
               duration_text(quantile(seconds, 0.9)), ratio_text(ratios(seconds, floor)), rate});
  };
  const auto rate = [&](std::size_t k, double count, const char* unit) {
    return fmt::format("{:.2f} G{}/s", count / median(timings[k].seconds) / 1e9, unit);
  };
  const double multiplications = pairs * static_cast<double>(dimension);
  row(timings[0].name, timings[0].seconds, rate(0, pairs, "exp"));
  row(timings[1].name, timings[1].seconds, rate(1, multiplications, "fma"));
  row(timings[2].name, timings[2].seconds, rate(2, multiplications, "fma"));
  row("floor: both", floor, "");
  for (std::size_t k = 3; k < 5; ++k) row(timings[k].name, timings[k].seconds, rate(k, pairs, "pairs"));
  report.print(table);

  const std::string label = fmt::format("d = {}: ", dimension);
  report.value(label + "float64 / floor", median(ratios(timings[3].seconds, floor)));
  report.value(label + "mixed / floor", median(ratios(timings[4].seconds, floor)));
  for (Timing& timing : timings) timing.name = label + timing.name;
  report.timings(timings);

  const OnlineMemory memory = online_memory(n, dimension, settings.quick ? 2 : 5, threads);
  report.note(fmt::format("solve() in a process of its own: {:.1f} MB at its peak, {} an iteration after the first",
                          memory.peak_megabytes, duration_text(memory.seconds_per_iteration)));
  report.at_most(fmt::format("peak memory, n = {}, d = {}, MB", n, dimension), memory.peak_megabytes, kMegabytes);
}

}  // namespace

void measure_online(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  for (const std::size_t dimension : {std::size_t{2}, std::size_t{64}})
    measure_dimension(n, dimension, settings, report);
}

}  // namespace fedsinkhorn::bench
