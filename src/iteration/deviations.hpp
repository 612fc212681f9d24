// Absorption on one side: scalings as deviations from the absorbed potentials, and moving the potentials to where the
// deviations are small.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace fedsinkhorn {

/// log(scaling / mass) of all targets on one side, rows or columns; -inf where there is no mass.
class Deviations {
 public:
  /// masses: one array of that size per target; must outlive this. A scaling equal to its mass has deviation 0.
  Deviations(std::size_t size, std::vector<const double*> masses);
  /// scalings: targets x size.
  Deviations(std::span<const double> scalings, std::size_t size, std::vector<const double*> masses);
  /// logs: targets x size, the deviations themselves.
  Deviations(std::size_t size, std::vector<const double*> masses, std::vector<double> logs);

  /// base + epsilon * the centre of the targets' deviations: the common base closest to all of them.
  [[nodiscard]] std::vector<double> centre(std::span<const double> base, double epsilon) const;
  /// Makes the deviations relative to `to` instead of `from`. The difference of the two is exact if both are multiples
  /// of small powers of two and close together.
  void move(std::span<const double> from, std::span<const double> to, double epsilon);
  /// Multiplies all deviations, to convert them to another epsilon.
  void scale(double factor);
  /// Whether some deviation of that target exceeds the limit in absolute value.
  [[nodiscard]] bool any_beyond(std::size_t target, double limit) const;
  /// Converts back: mass * exp(deviation), 0 where there is no mass.
  void write_scalings(std::size_t target, std::span<double> scalings) const;
  /// Later targets move down.
  void remove(std::size_t target);

 private:
  std::size_t size_;
  std::vector<const double*> masses_;
  std::vector<double> logs_;  // targets x size
};

}  // namespace fedsinkhorn
