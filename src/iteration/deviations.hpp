// What absorption does to one side: scalings as deviations from the absorbed potentials, and those moved to where the
// deviations are small.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedsinkhorn {

/// log(scaling / mass) of all targets on one side, rows or columns; -inf where there is no mass.
class Deviations {
 public:
  /// masses: one list of that size for each target. They outlive this, and scalings equal to them deviate by nothing.
  Deviations(std::size_t size, std::vector<const double*> masses);
  /// scalings: targets x size.
  Deviations(std::span<const double> scalings, std::size_t size, std::vector<const double*> masses);
  /// logs: targets x size, the deviations themselves.
  Deviations(std::size_t size, std::vector<const double*> masses, std::vector<double> logs);

  /// base + epsilon * the middle of the targets' deviations: where a common base would be nearest to all of them.
  [[nodiscard]] std::vector<double> centre(std::span<const double> base, double epsilon) const;
  /// From now on relative to `to` instead of `from`. Their difference is exact where both are multiples of small powers
  /// of two and close together.
  void move(std::span<const double> from, std::span<const double> to, double epsilon);
  /// All are multiplied: from now on in units of another epsilon.
  void scale(double factor);
  /// Whether some deviation of that target is larger, in absolute value.
  [[nodiscard]] bool any_beyond(std::size_t target, double limit) const;
  /// The way back: mass * exp(deviation), 0 where there is no mass.
  void write_scalings(std::size_t target, std::span<double> scalings) const;
  /// Targets after it move down.
  void remove(std::size_t target);

 private:
  std::size_t size_;
  std::vector<const double*> masses_;
  std::vector<double> logs_;  // targets x size
};

}  // namespace fedsinkhorn
