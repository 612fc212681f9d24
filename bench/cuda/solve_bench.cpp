// Whole solves on a device: seconds to a tolerance, accelerated and plain, checked against the CPU first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "core/random.hpp"
#include "device/devices.hpp"
#include "fedsinkhorn/solve.hpp"

namespace {

using namespace fedsinkhorn;

constexpr std::size_t kPoints = 10000;
constexpr double kEpsilon = 1e-3;  // of the largest cost

std::vector<double> points(std::uint64_t seed) {
  Random random(seed);
  std::vector<double> coordinates(2 * kPoints);
  // The largest squared distance is then almost 1.
  for (double& x : coordinates) x = random.uniform() / std::sqrt(2.0);
  return coordinates;
}

double largest_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) largest = std::max(largest, std::abs(x[k] - y[k]));
  return largest;
}

Result median_of(int repeats, const Problem& problem, const Options& options) {
  std::vector<Result> results(static_cast<std::size_t>(repeats));
  for (Result& result : results) result = solve(problem, options);
  std::sort(results.begin(), results.end(),
            [](const Result& x, const Result& y) { return x.solve_seconds < y.solve_seconds; });
  return std::move(results[results.size() / 2]);
}

}  // namespace

int main() {
  if (const std::string reason = cuda::why_no_device(); !reason.empty()) {
    fmt::print("skipped: {}\n", reason);
    return 0;
  }
  const std::vector<double> x = points(1);
  const std::vector<double> y = points(2);
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{x.data(), kPoints, 2}, MatrixView<double>{y.data(), kPoints, 2}};
  problem.epsilon = kEpsilon;
  Options options;
  options.max_iterations = 20000;

  options.backend = "cpu";
  const Result reference = solve(problem, options);
  fmt::print("n = {}, points in a square, epsilon = {} of the largest cost, to an L1 error of 1e-9\n", kPoints,
             kEpsilon);
  fmt::print("{:8} {:10} {:>7} {:>10} {:>12} {:>12}\n", "backend", "method", "rounds", "seconds", "ms a round",
             "f - f(cpu)");
  fmt::print("{:8} {:10} {:7} {:10.4f} {:12.3f} {:>12}\n", "cpu", "auto", reference.iterations, reference.solve_seconds,
             1e3 * reference.solve_seconds / static_cast<double>(reference.iterations), "");
  options.backend = "cuda";
  for (const char* method : {"auto", "anderson", "sinkhorn"}) {
    options.method = method;
    const Result result = median_of(5, problem, options);
    // Plain potentials have a constant of their own.
    std::vector<double> f = result.f;
    const double constant = std::string_view(method) == "sinkhorn" ? f[0] - reference.f[0] : 0;
    for (double& value : f) value -= constant;
    fmt::print("{:8} {:10} {:7} {:10.4f} {:12.3f} {:12.1e}{}\n", "cuda", method, result.iterations,
               result.solve_seconds, 1e3 * result.solve_seconds / static_cast<double>(result.iterations),
               largest_difference(f, reference.f), result.status == Status::converged ? "" : "  NOT CONVERGED");
  }
  return 0;
}
