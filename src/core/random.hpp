// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>
#include <random>

namespace fedsinkhorn {

/// A seeded generator for test problems (not for privacy noise: it is predictable).
///
/// The standard fixes the raw output of std::mt19937_64 but leaves its distributions to each library, so those are not
/// used: everything here follows from the raw output by operations that IEEE 754 rounds in one way only.
/// Copyable; not safe to share between threads.
class Random {
 public:
  /// Generators with the same seed and different streams are unrelated: one stream per thing drawn keeps, say, the
  /// points unchanged when more masses are drawn.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  /// All 64 bits.
  std::uint64_t bits() { return engine_(); }

  /// A multiple of 2^-53 in [0, 1).
  double uniform();

  /// In [low, high), except that rounding may reach high.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// In {0, ..., count - 1}, all equally likely; count must be positive.
  std::uint64_t below(std::uint64_t count);

  /// Mean 0, variance 1.
  double normal();

 private:
  std::mt19937_64 engine_;
};

}  // namespace fedsinkhorn
