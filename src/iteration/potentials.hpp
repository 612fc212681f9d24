// Potentials with more digits than a double, and their split into a part for the kernel and a part for the scalings.
//
// The plan depends on (f_i + g_j - C_ij) / epsilon, a small difference of large numbers: at epsilon = 1e-4 of the costs
// a last-digit error of f moves the plan by 1e-12. Two measures keep all digits:
// - Potentials are pairs value + rest, where rest is what rounding to a double left out.
// - The part absorbed into the kernel lies on a grid of powers of two, coarse enough for phi_i + psi_j to be exact.
//   Then the difference from C_ij is rounded once, relative to itself. What the grid leaves out goes into the scalings.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/exact_sum.hpp"

namespace fedsinkhorn {

struct Potential {
  std::vector<double> value;
  std::vector<double> rest;
};

/// The next power of two, or x itself if it is one, 0 or infinite. Where only this matters, it makes no difference
/// whether clients know each other's numbers exactly.
[[nodiscard]] double power_of_two_above(double x);

/// The finest grid on which sums of two numbers up to `largest` are exact.
[[nodiscard]] double exact_grid(double largest);

[[nodiscard]] double round_to_grid(double x, double grid);

/// value + rest = base + epsilon * log(scaling), element by element; -inf where the scaling is 0.
[[nodiscard]] Potential join(std::span<const double> base, std::span<const double> scaling, double epsilon);

/// Inverse of join, for one side: base on the grid and scaling such that base + epsilon log(scaling) = potential, with
/// scaling close to mass (the masses of that side). Where mass is 0, both are 0, and the base has no meaning.
void split(const Potential& potential, std::span<const double> mass, double epsilon, double grid,
           std::span<double> base, std::span<double> scaling);

/// Adds a constant to every element. No digits are lost.
void shift(Potential& potential, const ExactSum& constant);

/// epsilon log(2^exponent), to 25 digits.
[[nodiscard]] ExactSum log_of_power(double epsilon, int exponent);

/// Largest finite absolute value.
[[nodiscard]] double largest_magnitude(std::span<const double> values);

}  // namespace fedsinkhorn
