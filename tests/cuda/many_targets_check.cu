// Products and rounds for many targets against plain loops in float64 on the host. A line per case.
#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "backend/cuda/many_targets.hpp"
#include "cuda/require_device.hpp"
#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace {

using namespace fedsinkhorn;
using namespace fedsinkhorn::cuda;
using Vector = std::vector<double>;

constexpr int kRounds = 3;

struct Case {
  Storage storage;
  std::size_t n, m, targets;
};

const char* name_of(Storage storage) {
  switch (storage) {
    case Storage::float64: return "float64";
    case Storage::float32: return "float32";
    case Storage::mixed: return "mixed";
    case Storage::bfloat16: return "bfloat16";
  }
  return "?";
}

double rounded(Storage storage, double x) {
  if (storage == Storage::float64) return x;
  const auto narrow = static_cast<float>(x);
  return static_cast<double>(storage == Storage::bfloat16 ? __bfloat162float(__float2bfloat16(narrow)) : narrow);
}

struct Instance {
  Vector kernel;  // n x m, rounded to the storage
  Vector a, b, x, u;
};

Instance make(const Case& c) {
  std::mt19937_64 random(c.n * 1000003 + c.m * 1009 + c.targets);
  std::uniform_real_distribution<double> uniform(0, 1);
  Instance result{Vector(c.n * c.m), Vector(c.n), Vector(c.targets * c.m), Vector(c.targets * c.m),
                  Vector(c.targets * c.n)};
  for (std::size_t i = 0; i < c.n; ++i) {
    for (std::size_t j = 0; j < c.m; ++j) {
      const bool zero = j > 0 && j % c.n != i && uniform(random) < 0.1;  // no row or column is empty
      result.kernel[i * c.m + j] = zero ? 0 : rounded(c.storage, 3 * std::exp(-6 * uniform(random)));
    }
  }
  for (double& x : result.a) x = (0.5 + uniform(random)) / static_cast<double>(c.n);
  for (std::size_t k = 0; k < result.b.size(); ++k) {
    const bool zero = k % c.m != 0 && uniform(random) < 0.1;
    result.b[k] = zero ? 0 : (0.5 + uniform(random)) / static_cast<double>(c.m);
    result.x[k] = zero ? 0 : 0.5 + uniform(random);
  }
  for (double& u : result.u) u = (0.5 + uniform(random)) / static_cast<double>(c.n);
  return result;
}

template <class Body>
void over_targets(std::size_t targets, Body body) {
  const std::size_t workers = std::min<std::size_t>(targets, std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      for (std::size_t t = w; t < targets; t += workers) body(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Expected {
  Vector q, u, r, v;  // after all rounds
  Vector q1, u1, r1;  // of the first
  std::vector<RoundStatus> status;
};

Expected reference(const Case& c, const Instance& in) {
  Expected e{Vector(c.targets * c.n), in.u, Vector(c.targets * c.m), in.x, {}, {}, {}, {}};
  e.q1 = e.u1 = e.q;
  e.r1 = e.r;
  e.status.resize(kRounds * c.targets);
  over_targets(c.targets, [&](std::size_t t) {
    double* q = &e.q[t * c.n];
    double* u = &e.u[t * c.n];
    double* r = &e.r[t * c.m];
    double* v = &e.v[t * c.m];
    const double* b = &in.b[t * c.m];
    for (int round = 0; round < kRounds; ++round) {
      RoundStatus status{0, 0, std::numeric_limits<double>::infinity(), 0};
      const auto meet = [&](double sum) {
        status.least = std::min(status.least, sum);
        status.greatest = std::max(status.greatest, sum);
      };
      for (std::size_t i = 0; i < c.n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < c.m; ++j) sum += in.kernel[i * c.m + j] * v[j];
        q[i] = sum;
        status.error_a += std::abs(u[i] * sum - in.a[i]);
        u[i] = in.a[i] / sum;
        meet(sum);
      }
      std::fill(r, r + c.m, 0.0);
      for (std::size_t i = 0; i < c.n; ++i) {
        for (std::size_t j = 0; j < c.m; ++j) r[j] += in.kernel[i * c.m + j] * u[i];
      }
      for (std::size_t j = 0; j < c.m; ++j) {
        status.error_b += std::abs(v[j] * r[j] - b[j]);
        v[j] = b[j] > 0 ? b[j] / r[j] : 0;
        if (b[j] > 0) meet(r[j]);
      }
      e.status[static_cast<std::size_t>(round) * c.targets + t] = status;
      if (round > 0) continue;
      std::copy(q, q + c.n, &e.q1[t * c.n]);
      std::copy(u, u + c.n, &e.u1[t * c.n]);
      std::copy(r, r + c.m, &e.r1[t * c.m]);
    }
  });
  return e;
}

DeviceBuffer<double> poisoned(std::size_t size) {
  return on_device(Vector(size, std::numeric_limits<double>::quiet_NaN()));
}

template <class T>
DeviceBuffer<std::byte> store(const Case& c, const Vector& kernel, std::size_t stride) {
  std::vector<T> entries(c.n * stride, T(0.0F));
  for (std::size_t i = 0; i < c.n; ++i) {
    for (std::size_t j = 0; j < c.m; ++j) entries[i * stride + j] = T(kernel[i * c.m + j]);
  }
  std::vector<std::byte> bytes(entries.size() * sizeof(T));
  std::memcpy(bytes.data(), entries.data(), bytes.size());
  return on_device(bytes);
}

/// Largest |x - y| / |y|; infinite if one is NaN.
double difference(const Vector& x, const Vector& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] == y[i] ? 0 : std::abs(x[i] - y[i]) / std::abs(y[i]);
    worst = d <= worst ? worst : (std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return worst;
}

bool same_bits(const Vector& x, const Vector& y) { return std::memcmp(x.data(), y.data(), x.size() * 8) == 0; }

struct Outcome {
  Vector q, u, r, v;
  std::vector<RoundStatus> status;
  int made = 0;
};

struct Checker {
  const Case& c;
  const Instance& in;
  const Expected& expected;
  StoredKernel kernel;
  bool good = true;

  void expect(bool condition, const char* what) {
    if (condition) return;
    good = false;
    std::printf("  FAILED: %s\n", what);
  }

  Outcome rounds(ManyTargets& products, cudaStream_t stream) const {
    const auto a = on_device(in.a), b = on_device(in.b);
    auto u = on_device(in.u), v = on_device(in.x);
    auto q = poisoned(c.targets * c.n), r = poisoned(c.targets * c.m);
    DeviceBuffer<RoundStatus> status(kRounds * c.targets);
    DeviceBuffer<int> made(1);
    PlainRounds job;
    job.targets = c.targets;
    job.a = a.data();
    job.b = b.data();
    job.x = v.data();
    job.u = u.data();
    job.v = v.data();
    job.q = q.data();
    job.r = r.data();
    job.count = kRounds;
    job.status = status.data();
    job.made = made.data();
    products.rounds(kernel, job, stream);
    check(cudaStreamSynchronize(stream), "waiting");
    return {on_host(q), on_host(u), on_host(r), on_host(v), on_host(status), on_host(made)[0]};
  }

  double status_difference(const Outcome& outcome) const {
    double worst = 0;
    const auto meet = [&](double x, double y, double scale) {
      const double d = std::abs(x - y) / scale;
      worst = d <= worst ? worst : (std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
    };
    for (std::size_t k = 0; k < outcome.status.size(); ++k) {
      const RoundStatus& x = outcome.status[k];
      const RoundStatus& y = expected.status[k];
      meet(x.error_a, y.error_a, 1 + y.error_a);
      meet(x.error_b, y.error_b, 1 + y.error_b);
      meet(x.least, y.least, y.least);
      meet(x.greatest, y.greatest, y.greatest);
    }
    return worst;
  }

  /// Bits of an output depend on its own sum alone, whatever other rows there are.
  void check_part(ManyTargets& products, const double* v, const Vector& whole, cudaStream_t stream) {
    const std::size_t first = c.n / 3;
    StoredKernel part = kernel;
    part.rows = c.n - first;
    part.data = static_cast<const std::byte*>(kernel.data) + first * kernel.stride * bytes_of(c.storage);
    auto q = poisoned(c.targets * part.rows);
    products.apply(part, c.targets, v, q.data(), stream);
    check(cudaStreamSynchronize(stream), "waiting");
    const Vector found = on_host(q);
    bool same = true;
    for (std::size_t t = 0; t < c.targets; ++t) {
      same = same && std::memcmp(&found[t * part.rows], &whole[t * c.n + first], part.rows * 8) == 0;
    }
    expect(same, "a part of the rows gives the same bits");
  }

  void run(Multiplier multiplier) {
    const Stream stream;
    const auto products = make_many_targets(c.storage, multiplier);
    if (!products) return;
    const double tolerance = c.storage == Storage::float64 || c.storage == Storage::mixed ? 1e-13 : 1e-5;

    const auto a = on_device(in.a), v = on_device(in.x), u1 = on_device(expected.u1);
    auto q = poisoned(c.targets * c.n), u = poisoned(c.targets * c.n), r = poisoned(c.targets * c.m);
    auto q2 = poisoned(c.targets * c.n), r2 = poisoned(c.targets * c.m);
    products->apply(kernel, c.targets, v.data(), q.data(), stream.get());
    products->apply_transposed(kernel, c.targets, u1.data(), r.data(), stream.get());
    stream.wait();
    const Vector applied = on_host(q);
    double worst = std::max(difference(applied, expected.q1), difference(on_host(r), expected.r1));
    products->fused(kernel, c.targets, a.data(), v.data(), q2.data(), u.data(), r2.data(), stream.get());
    stream.wait();
    expect(same_bits(on_host(q2), applied), "fused gives the q of apply");
    worst = std::max({worst, difference(on_host(u), expected.u1), difference(on_host(r2), expected.r1)});
    if (multiplier == Multiplier::own) check_part(*products, v.data(), applied, stream.get());

    const Outcome first = rounds(*products, stream.get());
    const Outcome second = rounds(*products, stream.get());
    worst = std::max({worst, difference(first.q, expected.q), difference(first.u, expected.u),
                      difference(first.r, expected.r), difference(first.v, expected.v)});
    expect(worst <= tolerance, "results");
    const double status = status_difference(first);
    expect(status <= tolerance, "status");
    expect(first.made == kRounds, "made");
    expect(same_bits(first.q, second.q) && same_bits(first.u, second.u) && same_bits(first.r, second.r) &&
               same_bits(first.v, second.v),
           "the same bits twice");
    std::printf("%-8s %-6s %5zu x %-5zu targets %4zu  worst %.2e  status %.2e  %s\n", name_of(c.storage),
                products->library(), c.n, c.m, c.targets, worst, status, good ? "ok" : "FAILED");
  }
};

bool check_case(const Case& c) {
  const Instance in = make(c);
  const Expected expected = reference(c, in);
  const std::size_t per_line = 256 / bytes_of(c.storage);
  const std::size_t stride = (c.m + per_line - 1) / per_line * per_line;
  const DeviceBuffer<std::byte> stored = c.storage == Storage::float64    ? store<double>(c, in.kernel, stride)
                                         : c.storage == Storage::bfloat16 ? store<__nv_bfloat16>(c, in.kernel, stride)
                                                                          : store<float>(c, in.kernel, stride);
  Checker checker{c, in, expected, {c.storage, stored.data(), c.n, c.m, stride}};
  checker.run(Multiplier::own);
  checker.run(Multiplier::cublas);
  return checker.good;
}

}  // namespace

/// Arguments: n, m and the number of targets of one case; else all cases.
int main(int count, char** arguments) {
  fedsinkhorn::testing::require_device_or_skip();
  constexpr std::size_t shapes[][2] = {{1, 1},       {5, 3},      {33, 257},  {127, 1000},
                                       {1003, 1001}, {2500, 130}, {4300, 70}, {70, 4300}};
  bool good = true;
  for (const Storage storage : {Storage::float64, Storage::float32, Storage::mixed, Storage::bfloat16}) {
    if (count == 4) {
      const auto number = [&](int i) { return std::strtoul(arguments[i], nullptr, 10); };
      good = check_case({storage, number(1), number(2), number(3)}) && good;
      continue;
    }
    for (const auto& [n, m] : shapes) {
      for (const std::size_t targets : {1, 2, 4, 17, 64, 65, 500}) good = check_case({storage, n, m, targets}) && good;
    }
  }
  std::printf(good ? "all good\n" : "FAILED\n");
  return good ? 0 : 1;
}
