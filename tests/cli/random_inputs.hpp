// Random numbers for input files.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace fedsinkhorn::test {

using Values = std::vector<double>;

/// Uniform in [0, 1).
[[nodiscard]] inline Values random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  Values values(count);
  for (double& value : values) value = uniform(engine);
  return values;
}

/// count x targets; each column sums to 1.
[[nodiscard]] inline Values random_masses(std::size_t count, unsigned seed, std::size_t targets = 1) {
  Values masses = random_values(count * targets, seed);
  for (std::size_t k = 0; k < targets; ++k) {
    double total = 0;
    for (std::size_t i = k; i < masses.size(); i += targets) total += masses[i] += 0.1;
    for (std::size_t i = k; i < masses.size(); i += targets) masses[i] /= total;
  }
  return masses;
}

}  // namespace fedsinkhorn::test
