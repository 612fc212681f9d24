// Checks the online operator and RoundFinisher against the obvious float64 loops. A line a case, exit 1 on failure.
//
// Tolerances, of the relative error of q and r, with E the largest magnitude in the exponent (base 2: potentials,
// squared lengths and costs over epsilon):
//   float64: 1e-14 + 1e-15 E (1 + sqrt(d) / 16): 1e-12 at an E of a thousand.
//   float32: 2e-6 + 6e-7 E, a few units in the last place of a float32 of size E, and 2^-25 E more for each product of
//   16 coordinates, which the tensor cores add up without rounding to nearest. tf32: as float32, and 2^-9 S / sqrt(d)
//   more for d > 16, where S bounds the exponent's part that is a product of coordinates: 2^-11 from either factor, of
//   random sign.
#include <cstdio>
#include <cstring>
#include <span>

#include "backend/cuda/finish_rounds.hpp"
#include "cuda/require_device.hpp"
#include "device/transfer.hpp"
#include "online_reference.hpp"

namespace fedsinkhorn::cuda {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
bool failed = false;

void report(const char* what, bool good) {
  std::printf("%-70s %s\n", what, good ? "ok" : "FAILED");
  failed = failed || !good;
}

DeviceBuffer<double> poisoned(std::size_t size) {
  DeviceBuffer<double> buffer(size);
  fill_bytes(buffer, 0xFF);
  return buffer;
}

bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

/// Points, potentials after one round in the log domain, and the exact K.
struct Instance {
  Points points;
  double epsilon = 1;
  std::vector<double> phi, psi, k, v, u;
  double exponent = 0;  ///< E
  double product = 0;   ///< S

  [[nodiscard]] std::size_t n() const { return points.x.size() / points.dimension; }
  [[nodiscard]] std::size_t m() const { return points.y.size() / points.dimension; }
};

constexpr std::size_t kTargets = 10;

double longest(const std::vector<double>& points, std::size_t dimension) {
  double most = 0;
  for (std::size_t i = 0; i < points.size() / dimension; ++i) {
    double square = 0;
    for (std::size_t c = 0; c < dimension; ++c) square += points[i * dimension + c] * points[i * dimension + c];
    most = std::max(most, square);
  }
  return std::sqrt(most);
}

Instance make_instance(std::size_t n, std::size_t m, std::size_t dimension, Metric metric, double share,
                       bool coincident, bool forbidden, std::mt19937_64& draw) {
  Instance it;
  it.points.dimension = dimension;
  it.points.metric = metric;
  it.points.x = random_points(n, dimension, metric, draw);
  it.points.y = random_points(m, dimension, metric, draw);
  if (coincident) {
    const std::size_t shared = std::min(n, m) / 2 * dimension;
    std::copy_n(it.points.x.begin(), shared, it.points.y.begin());
    if (n > 2)
      std::copy_n(it.points.x.begin(), dimension, it.points.x.begin() + static_cast<std::ptrdiff_t>(dimension));
  }
  std::vector<long double> cost(n * m);
  in_parallel(n, [&](std::size_t i) {
    for (std::size_t j = 0; j < m; ++j) cost[i * m + j] = cost_of(it.points, i, j);
  });
  long double mean = 0;
  for (const long double c : cost) mean += c / static_cast<long double>(n * m);
  it.epsilon = share * std::max(1e-3, static_cast<double>(mean));

  it.phi.assign(n, 0);
  it.psi.assign(m, 0);
  in_parallel(n, [&](std::size_t i) {
    long double least = kInfinity;
    for (std::size_t j = 0; j < m; ++j) least = std::min(least, cost[i * m + j]);
    long double sum = 0;
    for (std::size_t j = 0; j < m; ++j) sum += std::exp((least - cost[i * m + j]) / it.epsilon);
    it.phi[i] = static_cast<double>(least - it.epsilon * std::log(sum / static_cast<long double>(m)));
  });
  in_parallel(m, [&](std::size_t j) {
    long double most = -kInfinity;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, it.phi[i] - cost[i * m + j]);
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp((it.phi[i] - cost[i * m + j] - most) / it.epsilon);
    it.psi[j] = static_cast<double>(-most - it.epsilon * std::log(sum / static_cast<long double>(n)));
  });
  const double x = longest(it.points.x, dimension);
  const double y = longest(it.points.y, dimension);
  const double scale = 1.4427 / it.epsilon;
  it.product = metric == Metric::sqeuclidean ? 2 * scale * x * y : metric == Metric::cosine ? scale : scale * (x + y);
  const double lengths = metric == Metric::sqeuclidean ? x * x + y * y : metric == Metric::cosine ? 1 : x + y;
  it.exponent = scale * lengths;
  for (const double p : it.phi) it.exponent = std::max(it.exponent, scale * std::abs(p));
  for (const double p : it.psi) it.exponent = std::max(it.exponent, scale * std::abs(p));
  if (forbidden) {
    for (std::size_t i = 0; i < n; i += 7) it.phi[i] = -kInfinity;
    for (std::size_t j = 3; j < m; j += 5) it.psi[j] = -kInfinity;
  }
  it.k.resize(n * m);
  in_parallel(n, [&](std::size_t i) {
    for (std::size_t j = 0; j < m; ++j) {
      it.k[i * m + j] = static_cast<double>(
          std::exp((static_cast<long double>(it.phi[i]) + it.psi[j] - cost[i * m + j]) / it.epsilon));
    }
  });
  std::uniform_real_distribution<double> mass(0.5, 1.5);
  it.v.resize(kTargets * m);
  it.u.resize(kTargets * n);
  for (double& w : it.v) w = mass(draw) / static_cast<double>(m);
  for (double& w : it.u) w = mass(draw) / static_cast<double>(n);
  return it;
}

double tolerance(const Instance& it, OnlineAccuracy accuracy) {
  const auto dimension = static_cast<double>(it.points.dimension);
  if (accuracy == OnlineAccuracy::float64) return 1e-14 + 1e-15 * it.exponent * (1 + std::sqrt(dimension) / 16);
  const double exact = 2e-6 + (6e-7 + std::ceil(dimension / 16) * 3 * 0x1p-25) * it.exponent;
  if (accuracy == OnlineAccuracy::float32 || it.points.dimension <= 16) return exact;
  return exact + it.product / 512 / std::sqrt(dimension);
}

struct Sums {
  std::vector<double> q, r;
};

Sums sums_of(const Points& points, OnlineAccuracy accuracy, const std::vector<double>& phi,
             const std::vector<double>& psi, double epsilon, std::size_t targets, const std::vector<double>& v,
             const std::vector<double>& u) {
  const std::unique_ptr<Operator> online = make_online(points, accuracy);
  const Stream stream;
  const DeviceBuffer<double> phi_there = on_device(phi), psi_there = on_device(psi), v_there = on_device(v),
                             u_there = on_device(u);
  const DeviceBuffer<double> q = poisoned(targets * phi.size()), r = poisoned(targets * psi.size());
  online->absorb(phi_there.data(), psi_there.data(), epsilon, stream.get());
  online->apply(targets, v_there.data(), q.data(), stream.get());
  online->apply_transposed(targets, u_there.data(), r.data(), stream.get());
  stream.wait();
  return {on_host(q), on_host(r)};
}

/// Largest relative error of q and r; infinite if one is NaN, or wrong where it should be zero.
double worst_error(const Instance& it, const Sums& sums, std::size_t targets) {
  std::atomic<double> worst{0};
  const auto compare = [&](double found, long double wanted) {
    double error = static_cast<double>(std::abs(found - wanted) / wanted);
    if (wanted == 0) error = found == 0 ? 0 : kInfinity;
    if (std::isnan(error)) error = kInfinity;
    double before = worst;
    while (before < error && !worst.compare_exchange_weak(before, error)) {
    }
  };
  const std::size_t n = it.n(), m = it.m();
  in_parallel(targets * n, [&](std::size_t at) {
    long double sum = 0;
    for (std::size_t j = 0; j < m; ++j) sum += static_cast<long double>(it.k[at % n * m + j]) * it.v[at / n * m + j];
    compare(sums.q[at], sum);
  });
  in_parallel(targets * m, [&](std::size_t at) {
    long double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += static_cast<long double>(it.k[i * m + at % m]) * it.u[at / m * n + i];
    compare(sums.r[at], sum);
  });
  return worst;
}

const char* name(Metric metric) {
  return metric == Metric::sqeuclidean ? "sqeuclidean" : metric == Metric::euclidean ? "euclidean" : "cosine";
}
const char* name(OnlineAccuracy accuracy) {
  return accuracy == OnlineAccuracy::float64 ? "float64" : accuracy == OnlineAccuracy::float32 ? "float32" : "tf32";
}

constexpr OnlineAccuracy kAccuracies[] = {OnlineAccuracy::float64, OnlineAccuracy::float32, OnlineAccuracy::tf32};
constexpr Metric kMetrics[] = {Metric::sqeuclidean, Metric::euclidean, Metric::cosine};

struct Worst {
  double error = 0;
  double ratio = 0;  ///< to the tolerance

  void take(const Instance& it, OnlineAccuracy accuracy, const Sums& sums, std::size_t targets) {
    const double found = worst_error(it, sums, targets);
    error = std::max(error, found);
    ratio = std::max(ratio, found / tolerance(it, accuracy));
  }
};

struct Shape {
  std::size_t n, m;
};

/// All targets at once, then fewer; the first ones must not change the answer's accuracy.
void check_shapes(std::size_t dimension, Metric metric, std::span<const Shape> shapes, std::mt19937_64& draw) {
  Worst worst[3];
  for (const Shape shape : shapes) {
    const Instance it = make_instance(shape.n, shape.m, dimension, metric, 0.05, false, false, draw);
    for (int k = 0; k < 3; ++k) {
      for (const std::size_t targets : {std::size_t{1}, std::size_t{3}, kTargets}) {
        const std::vector<double> v(it.v.begin(), it.v.begin() + static_cast<std::ptrdiff_t>(targets * it.m()));
        const std::vector<double> u(it.u.begin(), it.u.begin() + static_cast<std::ptrdiff_t>(targets * it.n()));
        const Sums sums = sums_of(it.points, kAccuracies[k], it.phi, it.psi, it.epsilon, targets, v, u);
        worst[k].take(it, kAccuracies[k], sums, targets);
      }
    }
  }
  bool good = true;
  for (const Worst& w : worst) good = good && w.ratio <= 1;
  std::printf("%-11s d %4zu: error (share of tolerance) float64 %.1e (%.2f) float32 %.1e (%.2f) tf32 %.1e (%.2f) %s\n",
              name(metric), dimension, worst[0].error, worst[0].ratio, worst[1].error, worst[1].ratio, worst[2].error,
              worst[2].ratio, good ? "ok" : "FAILED");
  failed = failed || !good;
}

/// Coincident points, forbidden ones, tiny epsilon; the same bits again, and from a part of the rows or columns.
void check_hard(std::size_t dimension, Metric metric, OnlineAccuracy accuracy, std::size_t n, std::size_t m,
                std::mt19937_64& draw) {
  Worst worst[3];
  bool repeats = true, parts = true;
  const double shares[3] = {0.05, 0.0005, accuracy == OnlineAccuracy::float64 ? 0.0002 : 1e-11};
  for (int k = 0; k < 3; ++k) {
    const Instance it = make_instance(n, m, dimension, metric, shares[k], true, k == 0, draw);
    for (const std::size_t targets : {std::size_t{1}, std::size_t{2}}) {
      const std::vector<double> v(it.v.begin(), it.v.begin() + static_cast<std::ptrdiff_t>(targets * m));
      const std::vector<double> u(it.u.begin(), it.u.begin() + static_cast<std::ptrdiff_t>(targets * n));
      const Sums sums = sums_of(it.points, accuracy, it.phi, it.psi, it.epsilon, targets, v, u);
      // With the tiniest epsilon float32 has no digits left, and float64 steps in.
      worst[k].take(it, k == 2 ? OnlineAccuracy::float64 : accuracy, sums, targets);
      const Sums again = sums_of(it.points, accuracy, it.phi, it.psi, it.epsilon, targets, v, u);
      repeats = repeats && same_bits(sums.q, again.q) && same_bits(sums.r, again.r);
      if (targets > 1) continue;
      const auto at = [](std::size_t x) { return static_cast<std::ptrdiff_t>(x); };
      const std::size_t row = n / 3, column = m / 5;
      Points some = it.points;
      some.x.erase(some.x.begin(), some.x.begin() + at(row * dimension));
      const Sums of_rows = sums_of(some, accuracy, {it.phi.begin() + at(row), it.phi.end()}, it.psi, it.epsilon, 1, v,
                                   {u.begin() + at(row), u.end()});
      some = it.points;
      some.y.erase(some.y.begin(), some.y.begin() + at(column * dimension));
      const Sums of_columns = sums_of(some, accuracy, it.phi, {it.psi.begin() + at(column), it.psi.end()}, it.epsilon,
                                      1, {v.begin() + at(column), v.end()}, u);
      parts = parts && same_bits(of_rows.q, {sums.q.begin() + at(row), sums.q.end()}) &&
              same_bits(of_columns.r, {sums.r.begin() + at(column), sums.r.end()});
    }
  }
  const bool good = worst[0].ratio <= 1 && worst[1].ratio <= 1 && worst[2].ratio <= 1 && repeats && parts;
  std::printf("%-11s %s d %4zu %zux%zu hard: forbidden %.1e (%.2f) small eps %.1e (%.2f) tiny %.1e (%.2f)%s%s %s\n",
              name(metric), name(accuracy), dimension, n, m, worst[0].error, worst[0].ratio, worst[1].error,
              worst[1].ratio, worst[2].error, worst[2].ratio, repeats ? "" : " NOT REPEATED",
              parts ? "" : " PARTS DIFFER", good ? "ok" : "FAILED");
  failed = failed || !good;
}

bool close(double found, double wanted) {
  if (std::isnan(wanted)) return std::isnan(found);
  return found == wanted || std::abs(found - wanted) <= 1e-13 * std::abs(wanted);
}

/// One round's ends against plain loops. nan: one q is NaN.
void check_finisher(std::size_t n, std::size_t m, std::size_t targets, Norm norm, bool nan, std::mt19937_64& draw) {
  std::uniform_real_distribution<double> positive(0.1, 2);
  const auto random = [&](std::size_t size) {
    std::vector<double> values(size);
    for (double& x : values) x = positive(draw);
    return values;
  };
  std::vector<double> a = random(n), b = random(targets * m), x = random(targets * m), u = random(targets * n),
                      q = random(targets * n), r = random(targets * m);
  for (std::size_t j = 0; j < b.size(); j += 4) {
    b[j] = 0;
    x[j] = j % 8 == 0 ? 0 : x[j];
    r[j] = j % 8 == 0 ? kInfinity : r[j];
  }
  if (nan) q[n / 2] = std::numeric_limits<double>::quiet_NaN();
  const auto join = [&](double error, double deviation) {
    const double size = norm == Norm::l2 ? deviation * deviation : std::abs(deviation);
    if (std::isnan(error) || std::isnan(size)) return std::numeric_limits<double>::quiet_NaN();
    return norm == Norm::linf ? std::max(error, size) : error + size;
  };

  DeviceBuffer<RoundStatus> status(2 * targets);
  fill_bytes(status, 0xFF);
  const DeviceBuffer<double> a_there = on_device(a), b_there = on_device(b), x_there = on_device(x),
                             u_there = on_device(u), q_there = on_device(q), r_there = on_device(r),
                             v_there = poisoned(targets * m);
  PlainRounds rounds;
  rounds.targets = targets;
  rounds.a = a_there.data();
  rounds.b = b_there.data();
  rounds.u = u_there.data();
  rounds.v = v_there.data();
  rounds.q = q_there.data();
  rounds.r = r_there.data();
  rounds.norm = norm;
  rounds.status = status.data();
  const Stream stream;
  RoundFinisher finisher;
  finisher.rows(rounds, 1, n, stream.get());
  finisher.columns(rounds, 1, x_there.data(), m, stream.get());
  stream.wait();
  const std::vector<RoundStatus> found = on_host(status);
  const std::vector<double> u_found = on_host(u_there), v_found = on_host(v_there);

  bool good = true;
  for (std::size_t k = 0; k < targets; ++k) {
    RoundStatus wanted{0, 0, kInfinity, -kInfinity};
    bool any_nan = false;
    for (std::size_t i = k * n; i < (k + 1) * n; ++i) {
      wanted.error_a = join(wanted.error_a, u[i] * q[i] - a[i - k * n]);
      any_nan = any_nan || std::isnan(q[i]);
      wanted.least = std::min(wanted.least, q[i]);
      wanted.greatest = std::max(wanted.greatest, q[i]);
      good = good && close(u_found[i], a[i - k * n] / q[i]);
    }
    for (std::size_t j = k * m; j < (k + 1) * m; ++j) {
      wanted.error_b = join(wanted.error_b, (x[j] == 0 ? 0 : x[j] * r[j]) - b[j]);
      good = good && close(v_found[j], b[j] > 0 ? b[j] / r[j] : 0);
      if (!(b[j] > 0)) continue;
      wanted.least = std::min(wanted.least, r[j]);
      wanted.greatest = std::max(wanted.greatest, r[j]);
    }
    if (any_nan) wanted.least = wanted.greatest = std::numeric_limits<double>::quiet_NaN();
    const RoundStatus& got = found[targets + k];
    good = good && close(got.error_a, wanted.error_a) && close(got.error_b, wanted.error_b) &&
           close(got.least, wanted.least) && close(got.greatest, wanted.greatest);
  }
  char line[96];
  std::snprintf(line, sizeof line, "RoundFinisher %zux%zu, %zu targets, norm %d%s", n, m, targets,
                static_cast<int>(norm), nan ? ", NaN" : "");
  report(line, good);
}

/// Whether what fused() left is u = a / q and r = K' u.
bool fused_as_verbs(Operator& online, std::size_t targets, const std::vector<double>& a, const DeviceBuffer<double>& q,
                    const DeviceBuffer<double>& u, const DeviceBuffer<double>& r, const Stream& stream) {
  const std::vector<double> q_found = on_host(q), u_found = on_host(u);
  bool good = true;
  for (std::size_t i = 0; i < u_found.size(); ++i) good = good && u_found[i] == a[i % a.size()] / q_found[i];
  const DeviceBuffer<double> again = poisoned(r.size());
  online.apply_transposed(targets, u.data(), again.data(), stream.get());
  stream.wait();
  return good && same_bits(on_host(r), on_host(again));
}

/// rounds() against the verbs and the finisher, called one by one: the same bits.
void check_rounds(std::size_t targets, std::mt19937_64& draw) {
  const Instance it = make_instance(300, 401, 3, Metric::sqeuclidean, 0.05, false, false, draw);
  const std::size_t n = it.n(), m = it.m();
  const std::vector<double> a(n, 1 / static_cast<double>(n)), b(targets * m, 1 / static_cast<double>(m));
  const DeviceBuffer<double> a_there = on_device(a), b_there = on_device(b), phi = on_device(it.phi),
                             psi = on_device(it.psi);
  const std::unique_ptr<Operator> online = make_online(it.points, OnlineAccuracy::float32);
  const Stream stream;
  online->absorb(phi.data(), psi.data(), it.epsilon, stream.get());
  std::vector<double> newest[2];
  RoundStatus last[2] = {};
  int rounds_made = 0;
  bool fused = false;
  for (int way = 0; way < 2; ++way) {
    const std::vector<double> ones(targets * n, 1.0);
    const DeviceBuffer<double> u = on_device(ones), v = on_device(b), q = poisoned(targets * n),
                               r = poisoned(targets * m);
    const DeviceBuffer<RoundStatus> status(5 * targets);
    const DeviceBuffer<int> made(1);
    const DeviceBuffer<double> u_fused = poisoned(targets * n);
    PlainRounds rounds;
    rounds.targets = targets;
    rounds.a = a_there.data();
    rounds.b = b_there.data();
    rounds.x = v.data();
    rounds.u = u.data();
    rounds.v = v.data();
    rounds.q = q.data();
    rounds.r = r.data();
    rounds.count = 5;
    rounds.status = status.data();
    rounds.made = made.data();
    if (way == 0) {
      online->rounds(rounds, stream.get());
    } else {
      RoundFinisher finisher;
      for (int k = 0; k < rounds.count; ++k) {
        online->apply(targets, rounds.v, rounds.q, stream.get());
        finisher.rows(rounds, k, n, stream.get());
        online->apply_transposed(targets, rounds.u, rounds.r, stream.get());
        finisher.columns(rounds, k, rounds.v, m, stream.get());
      }
      online->fused(targets, rounds.a, rounds.v, rounds.q, u_fused.data(), rounds.r, stream.get());
    }
    stream.wait();
    newest[way] = on_host(v);
    if (way == 0) rounds_made = on_host(made)[0];
    if (way == 1) fused = fused_as_verbs(*online, targets, a, q, u_fused, r, stream);
    last[way] = on_host(status)[5 * targets - 1];
  }
  const bool good = same_bits(newest[0], newest[1]) && std::memcmp(&last[0], &last[1], sizeof(RoundStatus)) == 0 &&
                    last[0].error_b < 0.1 && last[0].error_a < 0.1 && rounds_made == 5 && fused;
  report(targets == 1 ? "rounds, 1 target" : "rounds, several targets", good);
}

/// small: shapes for the memory checker, which is slow.
void run(bool small) {
  std::mt19937_64 draw(20240607);
  const std::vector<std::size_t> dimensions = {1, 2, 3, 4, 5, 7, 16, 17, 32, 64, 100, 128, 300, 1024};
  const std::vector<std::size_t> few = {3, 7, 30, 64, 128, 300};
  const std::vector<Shape> shapes = {{1, 1}, {5, 3}, {100, 257}, {1000, 1001}, {513, 2049}};
  const std::vector<Shape> small_shapes = {{5, 3}, {100, 257}};
  for (const Metric metric : kMetrics) {
    for (const std::size_t d : small ? few : dimensions) check_shapes(d, metric, small ? small_shapes : shapes, draw);
  }
  for (const OnlineAccuracy accuracy : kAccuracies) {
    for (const Metric metric : kMetrics) {
      for (const std::size_t d : {std::size_t{3}, std::size_t{10}, std::size_t{64}, std::size_t{200}}) {
        if (small && d != 10) continue;
        check_hard(d, metric, accuracy, small ? 30 : 500, small ? 70 : 1400, draw);
      }
    }
  }
  // Enough columns that sums in float32 are flushed more than once.
  if (!small) {
    check_hard(2, Metric::sqeuclidean, OnlineAccuracy::float32, 20, 300000, draw);
    check_hard(65, Metric::sqeuclidean, OnlineAccuracy::float32, 20, 300000, draw);
  }
  for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
    for (const bool nan : {false, true}) {
      check_finisher(5, 3, 1, norm, nan, draw);
      if (!small) check_finisher(50001, 10007, 1, norm, nan, draw);
      if (!small) check_finisher(700, 5000, 31, norm, nan, draw);
    }
  }
  check_rounds(1, draw);
  check_rounds(10, draw);
}

}  // namespace
}  // namespace fedsinkhorn::cuda

int main(int argc, char**) {
  fedsinkhorn::testing::require_device_or_skip();
  fedsinkhorn::cuda::run(argc > 1);
  std::puts(fedsinkhorn::cuda::failed ? "FAILED" : "all ok");
  return fedsinkhorn::cuda::failed ? 1 : 0;
}
