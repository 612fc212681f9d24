// Products and rounds with a stored kernel against the slow, obvious way. One line a case; exit status 1 if any failed.
// With an argument: only shapes of at most that many entries.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cuda/require_device.hpp"
#include "device/transfer.hpp"
#include "stored_matrix.cuh"

namespace fedsinkhorn::cuda::testing {
namespace {

using Vector = std::vector<double>;

/// A vector on the device.
class OnDevice {
 public:
  explicit OnDevice(std::size_t size) : data_(size) { *this = Vector(size, std::nan("")); }
  explicit OnDevice(const Vector& x) : data_(x.size()) { *this = x; }
  OnDevice& operator=(const Vector& x) {
    copy_to_device(std::span(x), data_.data());
    return *this;
  }
  [[nodiscard]] Vector get() const { return on_host(data_); }
  operator double*() const { return data_.data(); }

 private:
  DeviceBuffer<double> data_;
};

struct Instance {
  Vector a, b, x, u;

  Instance(std::size_t n, std::size_t m, std::uint64_t seed) : a(n), b(m), x(m), u(n) {
    for (std::size_t i = 0; i < n; ++i) a[i] = (0.1 + random_number(seed + 2, i)) / static_cast<double>(n);
    for (std::size_t j = 0; j < m; ++j) {
      b[j] =
          j > 0 && random_number(seed + 3, j) < 0.05 ? 0 : (0.1 + random_number(seed + 4, j)) / static_cast<double>(m);
    }
    for (std::size_t j = 0; j < m; ++j) x[j] = b[j] > 0 ? 0.5 + random_number(seed + 5, j) : 0;
    for (std::size_t i = 0; i < n; ++i) u[i] = 0.5 + random_number(seed + 6, i);
  }
};

struct Outcome {
  Vector q, u, r, v;
  std::vector<RoundStatus> status;
  int made = 0;
};

double add_error(Norm norm, double sum, double x) {
  return norm == Norm::linf ? std::max(sum, std::abs(x)) : sum + (norm == Norm::l2 ? x * x : std::abs(x));
}

Outcome slow_rounds(const StoredKernel& kernel, const Instance& in, Norm norm, int count) {
  Outcome out{{}, in.u, {}, in.x, {}, count};
  OnDevice q(kernel.rows), r(kernel.columns);
  for (int round = 0; round < count; ++round) {
    RoundStatus status{0, 0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    slow_apply(kernel, OnDevice(out.v), q);
    out.q = q.get();
    for (std::size_t i = 0; i < kernel.rows; ++i) {
      status.error_a = add_error(norm, status.error_a, out.u[i] * out.q[i] - in.a[i]);
      status.least = std::min(status.least, out.q[i]);
      status.greatest = std::max(status.greatest, out.q[i]);
      out.u[i] = in.a[i] / out.q[i];
    }
    slow_transposed(kernel, OnDevice(out.u), r);
    out.r = r.get();
    for (std::size_t j = 0; j < kernel.columns; ++j) {
      if (in.b[j] == 0) {
        out.v[j] = 0;
        continue;
      }
      status.error_b = add_error(norm, status.error_b, out.v[j] * out.r[j] - in.b[j]);
      status.least = std::min(status.least, out.r[j]);
      status.greatest = std::max(status.greatest, out.r[j]);
      out.v[j] = in.b[j] / out.r[j];
    }
    out.status.push_back(status);
  }
  return out;
}

struct Limits {
  double tolerance = -1;
  double safe_scaling = 1e300;
};

Outcome fast_rounds(DensePass& pass, const StoredKernel& kernel, const Instance& in, Norm norm, int count,
                    Limits limits = {}) {
  const std::size_t n = kernel.rows, m = kernel.columns;
  const OnDevice a(in.a), b(in.b), u(in.u), v(in.x), q(n), r(m);
  const DeviceBuffer<RoundStatus> status(static_cast<std::size_t>(count));
  const DeviceBuffer<int> made(1);
  PlainRounds rounds;
  rounds.a = a;
  rounds.b = b;
  rounds.x = v;
  rounds.u = u;
  rounds.v = v;
  rounds.q = q;
  rounds.r = r;
  rounds.norm = norm;
  rounds.count = count;
  rounds.tolerance = limits.tolerance;
  rounds.safe_scaling = limits.safe_scaling;
  rounds.status = status.data();
  rounds.made = made.data();
  pass.rounds(kernel, rounds, nullptr);
  check(cudaDeviceSynchronize(), "rounds");
  Outcome out{q.get(), u.get(), r.get(), v.get(), on_host(status), on_host(made)[0]};
  out.status.resize(static_cast<std::size_t>(out.made));
  return out;
}

/// Largest relative difference; NaN is infinitely far.
double distance(const Vector& x, const Vector& y) {
  if (x.size() != y.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = x[i] == y[i] ? 0 : std::abs(x[i] - y[i]) / std::abs(y[i]);
    if (!(apart <= largest)) largest = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
  }
  return largest;
}

/// Errors: relative to the masses, which are about 1.
double distance(const RoundStatus& x, const RoundStatus& y) {
  const double errors =
      std::max(std::abs(x.error_a - y.error_a) / (1 + y.error_a), std::abs(x.error_b - y.error_b) / (1 + y.error_b));
  return std::max(std::isnan(errors) ? std::numeric_limits<double>::infinity() : errors,
                  distance(Vector{x.least, x.greatest}, Vector{y.least, y.greatest}));
}

bool same(const Vector& x, const Vector& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}
bool same(const Outcome& x, const Outcome& y) {
  return same(x.q, y.q) && same(x.u, y.u) && same(x.r, y.r) && same(x.v, y.v) && x.made == y.made &&
         std::memcmp(x.status.data(), y.status.data(), x.status.size() * sizeof(RoundStatus)) == 0;
}

Vector part_of(const Vector& x, std::size_t from) { return {x.begin() + static_cast<std::ptrdiff_t>(from), x.end()}; }

bool check_shape(Storage storage, std::size_t n, std::size_t m) {
  const double allowed = storage == Storage::float64 || storage == Storage::mixed ? 1e-13 : 1e-5;
  const std::uint64_t seed = n * 31 + m;
  RandomKernel kernel(storage, n, m, seed);
  const Instance in(n, m, seed);
  const auto pass = make_dense_pass(storage, n, m);
  std::string failed;
  const auto expect = [&](bool good, const char* what) {
    if (!good) failed += std::string(" ") + what;
  };

  // products
  const OnDevice a(in.a), x(in.x), u(in.u), q(n), r(m), slow_q(n), slow_r(m);
  pass->apply(kernel.get(), x, q, nullptr);
  slow_apply(kernel.get(), x, slow_q);
  pass->apply_transposed(kernel.get(), u, r, nullptr);
  slow_transposed(kernel.get(), u, slow_r);
  const Vector all_q = q.get(), all_r = r.get();
  const double products = std::max(distance(all_q, slow_q.get()), distance(all_r, slow_r.get()));
  expect(products <= allowed, "products");

  // parts of the products, as the clients of a federation have them
  if (n > 2 && m > 2) {
    const std::size_t row = n / 3, column = m / 3;
    const RandomKernel lower(storage, n - row, m, seed, row, 0), right(storage, n, m - column, seed, 0, column);
    const OnDevice part_q(n - row), part_r(m - column);
    make_dense_pass(storage, n - row, m)->apply(lower.get(), x, part_q, nullptr);
    expect(same(part_q.get(), part_of(all_q, row)), "rows-alone");
    make_dense_pass(storage, n, m - column)->apply_transposed(right.get(), u, part_r, nullptr);
    expect(same(part_r.get(), part_of(all_r, column)), "columns-alone");
  }

  // one pass
  const OnDevice fused_q(n), fused_u(n), fused_r(m);
  pass->fused(kernel.get(), a, x, fused_q, fused_u, fused_r, nullptr);
  check(cudaDeviceSynchronize(), "fused");
  Vector wanted_u = slow_q.get();
  for (std::size_t i = 0; i < n; ++i) wanted_u[i] = in.a[i] / wanted_u[i];
  slow_transposed(kernel.get(), OnDevice(wanted_u), slow_r);
  const double fused = std::max({distance(fused_q.get(), slow_q.get()), distance(fused_u.get(), wanted_u),
                                 distance(fused_r.get(), slow_r.get())});
  expect(fused <= allowed, "fused");

  // rounds
  double rounds = 0;
  for (const auto& [norm, count] : {std::pair{Norm::l1, 1}, {Norm::l2, 2}, {Norm::linf, 7}}) {
    const Outcome slow = slow_rounds(kernel.get(), in, norm, count);
    const Outcome fast = fast_rounds(*pass, kernel.get(), in, norm, count);
    expect(fast.made == count, "made");
    double apart = std::max(
        {distance(fast.q, slow.q), distance(fast.u, slow.u), distance(fast.r, slow.r), distance(fast.v, slow.v)});
    for (int i = 0; i < std::min(fast.made, count); ++i) {
      const auto at = static_cast<std::size_t>(i);
      apart = std::max(apart, distance(fast.status[at], slow.status[at]));
    }
    rounds = std::max(rounds, apart);
    expect(same(fast, fast_rounds(*pass, kernel.get(), in, norm, count)), "determinism");
  }
  expect(rounds <= 3 * allowed, "rounds");

  // the end before the end: as many rounds as were made give the same
  for (const Limits limits : {Limits{1e9, 1e300}, Limits{-1, 1.0001}}) {
    const Outcome stopped = fast_rounds(*pass, kernel.get(), in, Norm::l1, 12, limits);
    expect(stopped.made <= 2 || stopped.made == 12, "stop");
    expect(same(stopped, fast_rounds(*pass, kernel.get(), in, Norm::l1, stopped.made)), "stopped-state");
  }

  // NaN
  Instance bad = in;
  bad.x[m / 2] = std::nan("");
  const Outcome broken = fast_rounds(*pass, kernel.get(), bad, Norm::l1, 5);
  expect(!broken.status.empty() && std::isnan(broken.status[0].least) && std::isnan(broken.status[0].greatest), "NaN");

  std::printf("%-8s %6zu x %-6zu  products %.1e  fused %.1e  rounds %.1e  %s%s\n", name_of(storage), n, m, products,
              fused, rounds, failed.empty() ? "ok" : "FAILED:", failed.c_str());
  std::fflush(stdout);
  return failed.empty();
}

}  // namespace
}  // namespace fedsinkhorn::cuda::testing

int main(int argc, char** argv) {
  fedsinkhorn::testing::require_device_or_skip();
  using fedsinkhorn::cuda::Storage;
  const double most = argc > 1 ? std::atof(argv[1]) : 1e18;
  const std::pair<std::size_t, std::size_t> shapes[] = {
      {1, 1},       {1, 7},      {5, 3},       {33, 257},     {100, 100},   {127, 1000},  {1000, 127},
      {1003, 1001}, {257, 3500}, {5000, 5000}, {3000, 10000}, {700, 25000}, {300, 50001}, {40, 300000}};
  bool good = true;
  for (const auto& [n, m] : shapes) {
    if (static_cast<double>(n) * static_cast<double>(m) > most) continue;
    for (const Storage storage : {Storage::float64, Storage::float32, Storage::mixed, Storage::bfloat16}) {
      try {
        good = fedsinkhorn::cuda::testing::check_shape(storage, n, m) && good;
      } catch (const std::exception& error) {
        std::printf("%s %zu x %zu: %s\n", fedsinkhorn::cuda::testing::name_of(storage), n, m, error.what());
        return 1;
      }
    }
  }
  std::printf("%s\n", good ? "all good" : "FAILED");
  return good ? 0 : 1;
}
