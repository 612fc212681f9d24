// How to solve it. The defaults are meant to be right; every field but the last two has a flag of that name in
// `fedsinkhorn solve`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// float64: everything. mixed: the kernel is stored in float32, all else is float64. float32: kernel, scalings and
/// products in float32, long sums in float64. digits50: 50 decimal digits, for small problems.
enum class Precision { float64, float32, mixed, digits50 };

/// fused: one read of the kernel an iteration. two: two products, each output element summed by one thread in a fixed
/// order. Both give the same bits for every number of threads (fused: up to three targets).
enum class Passes { fused, two };

/// dense: exp((phi + psi - C) / epsilon) is stored. online: it is computed anew whenever it is needed.
enum class KernelKind { dense, online };

/// absorption: matrix-vector products on a kernel that has large potentials folded in. log: every step by
/// log-sum-exp; slow, the reference the other is tested against.
enum class Stabilization { absorption, log };

/// check: prove before solving that the allowed pairs can carry the masses. skip: do not (large problems with many
/// forbidden pairs).
enum class Feasibility { check, skip };

/// What a progress display needs, handed out after every check.
struct Progress {
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  double seconds = 0;  ///< since the iterations began
  double error_a = 0;
  double error_b = 0;
  double tolerance = 0;
  std::size_t targets_left = 1;
};

struct Options {
  double tolerance = 1e-9;  ///< on the norm of the marginal errors; 0 runs all of max_iterations
  Norm norm = Norm::l1;
  std::int64_t max_iterations = 10000;
  std::int64_t check_every = 1;

  std::string method = "sinkhorn";
  std::string topology = "centralized";
  std::string backend = "auto";
  Passes passes = Passes::fused;
  KernelKind kernel = KernelKind::dense;
  Precision precision = Precision::float64;
  Stabilization stabilization = Stabilization::absorption;
  Feasibility feasibility = Feasibility::check;

  int threads = 0;            ///< 0: as many as this machine has cores
  std::string simd = "auto";  ///< instruction set: auto, avx512, avx2, sse4, baseline

  /// Set to true (by a signal handler, another thread) to stop after the current iteration. Not looked at while the
  /// input is checked, the kernel built or the result evaluated.
  const std::atomic<bool>* interrupt = nullptr;
  /// Called from the solving thread after each check. Must not throw.
  std::function<void(const Progress&)> on_check;
};

}  // namespace fedsinkhorn
