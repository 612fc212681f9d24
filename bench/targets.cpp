// Many targets share a kernel, so that an iteration is two matrix products. OpenBLAS doing nothing but those is what it
// is measured against.
#include <cblas.h>
#include <fmt/format.h>

#include "core/parallel.hpp"
#include "dense_kernel.hpp"
#include "instance.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kTargetsEpsilon = 0.05;
constexpr double kTargetsGoal = 1.3;

/// Q = V K' and R = U K, each divided into one call per thread.
class Products {
 public:
  Products(const Instance& instance, const DenseKernel& kernel, int threads)
      : targets_(static_cast<blasint>(instance.targets())),
        n_(static_cast<blasint>(instance.n())),
        m_(static_cast<blasint>(instance.m())),
        stride_(static_cast<blasint>(kernel.stride())),
        kernel_(kernel.memory().data()),
        threads_(threads),
        q_(instance.targets() * instance.n()),
        r_(instance.targets() * instance.m()) {}

  const std::vector<double>& rows(const std::vector<double>& v) {
    divide(n_, [&](blasint first, blasint count) {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, targets_, count, m_, 1, v.data(), m_,
                  kernel_ + static_cast<std::ptrdiff_t>(first) * stride_, stride_, 0, q_.data() + first, n_);
    });
    return q_;
  }

  const std::vector<double>& columns(const std::vector<double>& u) {
    divide(m_, [&](blasint first, blasint count) {
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, targets_, count, n_, 1, u.data(), n_, kernel_ + first,
                  stride_, 0, r_.data() + first, m_);
    });
    return r_;
  }

 private:
  template <class Product>
  void divide(blasint size, const Product& product) const {
    const auto parts = static_cast<std::size_t>(threads_);
    parallel_chunks(threads_, parts, [&](std::size_t part, std::size_t) {
      const Range range = chunk_range(static_cast<std::size_t>(size), parts, part, 64);
      product(static_cast<blasint>(range.first), static_cast<blasint>(range.size()));
    });
  }

  blasint targets_, n_, m_, stride_;
  const double* kernel_;
  int threads_;
  std::vector<double> q_, r_;
};

void verify(const Instance& instance, DenseKernel& kernel, Products& products) {
  Iteration iteration(instance, kernel.kernel());
  iteration.fused();
  const std::vector<double> v_before = iteration.v();
  iteration.fused();
  const CheckedProblem& problem = instance.checked();
  std::vector<double> u = products.rows(v_before);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = problem.a[i % problem.n()] / u[i];
  require_close("targets, u", iteration.u(), u, 1e-11);
  std::vector<double> v = products.columns(u);
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = problem.b[j] / v[j];
  require_close("targets, v", iteration.v(), v, 1e-11);
}

}  // namespace

void measure_targets(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(5000);
  const std::size_t targets = settings.quick ? 50 : 500;
  const Instance instance(random_points(CloudKind::uniform, n, 2, targets), kTargetsEpsilon, settings.threads);
  DenseKernel kernel(instance, Precision::float64, settings.threads);
  Products products(instance, kernel, settings.threads);
  verify(instance, kernel, products);

  const Instance single_instance(random_points(CloudKind::uniform, n, 2), kTargetsEpsilon, settings.threads);
  Iteration iteration(instance, kernel.kernel());
  Iteration single(single_instance, kernel.kernel());  // same points, so the same kernel
  iteration.fused();
  const std::vector<double> u = iteration.u();
  const std::vector<double> v = iteration.v();
  const Contender contenders[] = {
      timed("OpenBLAS: V K'", [&] { (void)products.rows(v); }),
      timed("OpenBLAS: U K", [&] { (void)products.columns(u); }),
      timed("fused, all targets", [&] { iteration.fused(); }),
      timed("fused, one target", [&] { single.fused(); }),
  };
  const RoundRobin rounds{settings.rounds(15), 1, 0.05};
  const std::vector<Timing> timings = round_robin(rounds, contenders);
  report.timings(timings);
  const std::vector<double> both = sums(timings[0].seconds, timings[1].seconds);

  report.note(fmt::format("n = {}, {} targets, {} threads, {} rounds", n, targets, settings.threads, rounds.rounds));
  const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(targets);
  Table table({"", "median", "least", "p90", "Gflop/s", "x products (middle 80 %)"});
  const auto row = [&](const std::string& name, const std::vector<double>& seconds, double count) {
    table.add({name, duration_text(median(seconds)), duration_text(quantile(seconds, 0)),
               duration_text(quantile(seconds, 0.9)), fmt::format("{:.1f}", count / median(seconds) / 1e9),
               ratio_text(ratios(seconds, both))});
  };
  row(timings[0].name, timings[0].seconds, flops);
  row(timings[1].name, timings[1].seconds, flops);
  row("OpenBLAS: both", both, 2 * flops);
  row(timings[2].name, timings[2].seconds, 2 * flops);
  row(timings[3].name, timings[3].seconds, 2 * flops / static_cast<double>(targets));
  report.print(table);
  report.at_most("fused iteration / two products by OpenBLAS", median(ratios(timings[2].seconds, both)), kTargetsGoal);
}

}  // namespace fedsinkhorn::bench
