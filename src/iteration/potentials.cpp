#include "iteration/potentials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedsinkhorn {

double power_of_two_above(double x) {
  int exponent = 0;
  const double fraction = std::frexp(x, &exponent);
  if (!(x > 0) || std::isinf(x)) return x;
  return fraction == 0.5 ? x : std::ldexp(1.0, exponent);
}

double exact_grid(double largest) {
  // |x| <= largest <= 2^e, so multiples of 2^(e - 51) need 52 bits and sums of two of them 53.
  const double power = power_of_two_above(largest);
  constexpr double lowest = 0x1p-1000;  // for zero costs any grid will do
  return std::max(power, lowest) * 0x1p-51;
}

double round_to_grid(double x, double grid) { return std::nearbyint(x / grid) * grid; }

Potential join(std::span<const double> base, std::span<const double> scaling, double epsilon) {
  Potential potential{std::vector<double>(base.size()), std::vector<double>(base.size())};
  for (std::size_t i = 0; i < base.size(); ++i) {
    if (scaling[i] == 0) {
      potential.value[i] = -std::numeric_limits<double>::infinity();
      continue;
    }
    const double x = epsilon * std::log(scaling[i]);
    const double sum = base[i] + x;
    // Knuth's two-sum: sum + rest is base + x exactly.
    const double x_part = sum - base[i];
    potential.value[i] = sum;
    potential.rest[i] = (base[i] - (sum - x_part)) + (x - x_part);
  }
  return potential;
}

void split(const Potential& potential, std::span<const double> mass, double epsilon, double grid,
           std::span<double> base, std::span<double> scaling) {
  for (std::size_t i = 0; i < mass.size(); ++i) {
    if (mass[i] == 0 || std::isinf(potential.value[i])) {
      base[i] = 0;
      scaling[i] = 0;
      continue;
    }
    base[i] = round_to_grid(potential.value[i] - epsilon * std::log(mass[i]), grid);
    scaling[i] = std::exp(((potential.value[i] - base[i]) + potential.rest[i]) / epsilon);
  }
}

void shift(Potential& potential, const ExactSum& constant) {
  for (std::size_t i = 0; i < potential.value.size(); ++i) {
    if (!std::isfinite(potential.value[i])) continue;
    ExactSum sum{potential.value[i], potential.rest[i]};
    sum.add(constant);
    potential.value[i] = sum.total();
    potential.rest[i] = (sum.value - potential.value[i]) + sum.rest;
  }
}

ExactSum log_of_power(double epsilon, int exponent) {
  // log 2 in two parts; the first is short enough that its product with the exponent is exact.
  constexpr double high = 0x1.62e42feep-1;
  constexpr double low = 0x1.a39ef35793c76p-33;
  const double first = epsilon * (exponent * high);
  return {first, std::fma(epsilon, exponent * high, -first) + epsilon * (exponent * low)};
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double x : values) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return largest;
}

}  // namespace fedsinkhorn
