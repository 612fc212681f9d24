// The problems that are timed, and the iteration on them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/cpu/make_kernel.hpp"
#include "cost/cost_source.hpp"
#include "fedsinkhorn/problem.hpp"
#include "problem/checked_problem.hpp"
#include "simd/simd.hpp"
#include "synthetic/generate.hpp"

namespace fedsinkhorn::bench {

struct Points {
  std::size_t dimension = 2;
  std::vector<double> x;  ///< n x dimension
  std::vector<double> y;  ///< m x dimension
  std::vector<double> a;  ///< n masses
  std::vector<double> b;  ///< m x targets masses
};

/// Random points and masses, the same for the same arguments, scaled so that the largest cost is 1.
[[nodiscard]] Points random_points(CloudKind kind, std::size_t n, std::size_t dimension, std::size_t targets = 1);
/// The same with m columns: uniform points in the plane, one target.
[[nodiscard]] Points rectangle_of_points(std::size_t n, std::size_t m);

/// Points in the unit square and masses by a formula that Python repeats bit by bit (see peers/problem.py).
[[nodiscard]] Points formula_points(std::size_t n);

/// A problem together with what the private interfaces want of it. The parts point to each other: not movable.
class Instance {
 public:
  Instance(Points points, double epsilon, int threads, const cpu::Simd& simd = cpu::simd("auto"));
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const CheckedProblem& checked() const { return checked_; }
  [[nodiscard]] const CostSource& cost() const { return *cost_; }
  [[nodiscard]] const cpu::Simd& simd() const { return simd_; }
  [[nodiscard]] std::size_t n() const { return checked_.n(); }
  [[nodiscard]] std::size_t m() const { return checked_.m(); }
  [[nodiscard]] std::size_t targets() const { return checked_.targets; }

 private:
  Points points_;
  Problem problem_;
  CheckedProblem checked_;
  const cpu::Simd& simd_;
  std::unique_ptr<CostSource> cost_;
};

/// Scalings on a kernel, and the two ways to do u = a / (K v), v = b / (K' u). Starts at v = 1.
class Iteration {
 public:
  Iteration(const Instance& instance, Kernel& kernel);

  void fused();
  void two_passes();

  [[nodiscard]] const std::vector<double>& u() const { return u_; }
  [[nodiscard]] std::vector<double>& v() { return v_; }

 private:
  void update_v();

  const CheckedProblem& problem_;
  Kernel& kernel_;
  std::vector<double> u_, q_;  // targets x n
  std::vector<double> v_, r_;  // targets x m
};

/// Throws std::runtime_error naming `what` when any |x - y| exceeds tolerance * |y|, or is NaN.
void require_close(const char* what, const std::vector<double>& x, const std::vector<double>& y, double tolerance);

}  // namespace fedsinkhorn::bench
