// Times an iteration of the online operator (apply and apply_transposed: 2 n^2 exponentials) on clouds of n points.
//
// Floors: exponentials on the special function units at 4.2e12 a second, products of coordinates in float16 on the
// tensor cores at 790e12 operations a second (three times as many where points are split); the larger counts. err f: of
// f = phi + epsilon log(a / q) against float64, the largest over the largest |f|, and the root of the mean square.
#include <cstdio>
#include <functional>
#include <string>

#include "../../tests/cuda/online_reference.hpp"
#include "backend/cuda/online.hpp"
#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn::cuda {
namespace {

constexpr double kExponentials = 4.2e12;
constexpr double kTensorOperations = 790e12;

/// Median time of one call in ms.
double median_ms(const Stream& stream, int repeats, const std::function<void()>& work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  check(cudaEventCreate(&begin), "making an event");
  check(cudaEventCreate(&end), "making an event");
  std::vector<float> times;
  for (int k = 0; k <= repeats; ++k) {
    check(cudaEventRecord(begin, stream.get()), "timing");
    work();
    check(cudaEventRecord(end, stream.get()), "timing");
    stream.wait();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "timing");
    if (k > 0) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

/// Clouds, epsilon and potentials after a few rounds in float64.
struct Instance {
  Points points;
  double epsilon = 0;
  std::vector<double> phi, psi, q;
};

Instance make_instance(std::size_t n, std::size_t d, Metric metric) {
  Instance it;
  std::mt19937_64 draw(n + d);
  it.points.dimension = d;
  it.points.metric = metric;
  it.points.x = random_points(n, d, metric, draw);
  it.points.y = random_points(n, d, metric, draw);
  if (d <= 3) {
    std::uniform_real_distribution<double> unit(-0.5, 0.5);
    for (double& x : it.points.x) x = unit(draw);
    for (double& y : it.points.y) y = unit(draw);
  }
  double mean = 0;
  for (std::size_t k = 0; k < 1000; ++k) mean += static_cast<double>(cost_of(it.points, k, n - 1 - k)) / 1000;
  it.epsilon = 0.05 * mean;

  const double mass = 1 / static_cast<double>(n);
  const std::unique_ptr<Operator> online = make_online(it.points, OnlineAccuracy::float64);
  const Stream stream;
  const std::vector<double> zeros(n, 0.0), masses(n, mass);
  DeviceBuffer<double> phi = on_device(zeros), psi = on_device(zeros), a = on_device(masses), u = on_device(masses),
                       v = on_device(masses), q(n), r(n);
  DeviceBuffer<RoundStatus> status(3);
  DeviceBuffer<int> made(1);
  PlainRounds rounds;
  rounds.a = rounds.b = a.data();
  rounds.x = rounds.v = v.data();
  rounds.u = u.data();
  rounds.q = q.data();
  rounds.r = r.data();
  rounds.count = 3;
  rounds.status = status.data();
  rounds.made = made.data();
  online->absorb(phi.data(), psi.data(), it.epsilon, stream.get());
  online->rounds(rounds, stream.get());
  stream.wait();
  it.phi = on_host(u);
  it.psi = on_host(v);
  for (double& x : it.phi) x = it.epsilon * std::log(x / mass);
  for (double& x : it.psi) x = it.epsilon * std::log(x / mass);
  phi = on_device(it.phi);
  psi = on_device(it.psi);
  online->absorb(phi.data(), psi.data(), it.epsilon, stream.get());
  online->apply(1, a.data(), q.data(), stream.get());
  stream.wait();
  it.q = on_host(q);
  return it;
}

void bench(const Instance& it, OnlineAccuracy accuracy, std::size_t targets) {
  const std::size_t d = it.points.dimension;
  const std::size_t n = it.phi.size();
  const double pairs = static_cast<double>(n) * static_cast<double>(n);
  const double mass = 1 / static_cast<double>(n);
  const std::unique_ptr<Operator> online = make_online(it.points, accuracy);
  const Stream stream;
  const std::vector<double> masses(n * targets, mass);
  const DeviceBuffer<double> phi = on_device(it.phi), psi = on_device(it.psi), a = on_device(masses),
                             u = on_device(masses), v = on_device(masses), q(n * targets), r(n * targets);
  online->absorb(phi.data(), psi.data(), it.epsilon, stream.get());
  stream.wait();
  fill_bytes(q, 0xFF);
  online->apply(targets, v.data(), q.data(), stream.get());
  stream.wait();
  const std::vector<double> found = on_host(q);
  double worst = 0, squares = 0, largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double error = std::abs(it.epsilon * std::log(found[i] / it.q[i]));
    worst = std::isnan(error) || error > worst ? error : worst;
    squares += error * error * mass;
    largest = std::max(largest, std::abs(it.phi[i] - it.epsilon * std::log(it.q[i])));
  }

  const DeviceBuffer<RoundStatus> status(4 * targets);
  const DeviceBuffer<int> made(1);
  PlainRounds rounds;
  rounds.targets = targets;
  rounds.a = rounds.b = a.data();
  rounds.x = rounds.v = v.data();
  rounds.u = u.data();
  rounds.q = q.data();
  rounds.r = r.data();
  rounds.count = 4;
  rounds.status = status.data();
  rounds.made = made.data();
  const int repeats = accuracy == OnlineAccuracy::float64 ? 5 : 21;
  const double apply = median_ms(stream, repeats, [&] { online->apply(targets, v.data(), q.data(), stream.get()); });
  const double round = median_ms(stream, repeats, [&] { online->rounds(rounds, stream.get()); }) / rounds.count;
  const bool split = accuracy == OnlineAccuracy::float32 || d <= 16;
  const double exponentials = 1e3 * 2 * pairs / kExponentials;
  const double products = 1e3 * 4 * pairs * static_cast<double>(d) * (split ? 3 : 1) / kTensorOperations;
  const double floor = std::max(exponentials, products);
  std::printf(
      "%6zu %4zu %-11s %-7s %3zu: round %8.3f ms (apply %8.3f)  floor %6.3f (exp %.3f, mma %.3f)  ratio %5.2f  "
      "err f %.1e rms %.1e\n",
      n, d,
      it.points.metric == Metric::sqeuclidean ? "sqeuclidean"
      : it.points.metric == Metric::euclidean ? "euclidean"
                                              : "cosine",
      accuracy == OnlineAccuracy::float64   ? "float64"
      : accuracy == OnlineAccuracy::float32 ? "float32"
                                            : "tf32",
      targets, round, apply, floor, exponentials, products, round / floor, worst / largest,
      std::sqrt(squares) / largest);
}

void bench_all(std::size_t n, std::size_t d, Metric metric, bool others) {
  const Instance it = make_instance(n, d, metric);
  for (const OnlineAccuracy accuracy : {OnlineAccuracy::float32, OnlineAccuracy::tf32}) bench(it, accuracy, 1);
  if (!others) return;
  bench(it, OnlineAccuracy::float64, 1);
  bench(it, OnlineAccuracy::float32, 8);
}

}  // namespace
}  // namespace fedsinkhorn::cuda

/// Arguments: n and dimensions to bench alone.
int main(int argc, char** argv) {
  using namespace fedsinkhorn;
  if (argc > 2) {
    for (int k = 2; k < argc; ++k) {
      cuda::bench_all(std::stoul(argv[1]), std::stoul(argv[k]), Metric::sqeuclidean, false);
    }
    return 0;
  }
  for (const std::size_t n : {std::size_t{10000}, std::size_t{50000}}) {
    for (const std::size_t d : {std::size_t{3}, std::size_t{64}}) cuda::bench_all(n, d, Metric::sqeuclidean, true);
  }
  for (const std::size_t d : {std::size_t{8}, std::size_t{16}, std::size_t{32}, std::size_t{128}, std::size_t{512}}) {
    cuda::bench_all(50000, d, Metric::sqeuclidean, false);
  }
  for (const std::size_t d : {std::size_t{3}, std::size_t{64}}) {
    cuda::bench_all(50000, d, Metric::euclidean, false);
    cuda::bench_all(50000, d, Metric::cosine, false);
  }
}
