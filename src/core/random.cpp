#include "core/random.hpp"

#include <cmath>
#include <limits>

namespace fedsinkhorn {
namespace {

/// The finaliser of SplitMix64: neighbouring seeds and streams become unrelated states.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

Random::Random(std::uint64_t seed, std::uint64_t stream) : engine_(mix(mix(seed) + stream)) {}

double Random::uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

std::uint64_t Random::below(std::uint64_t count) {
  // Raw values past the last whole multiple of count would favour small results: draw again.
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t excess = (kMax % count + 1) % count;
  std::uint64_t draw = engine_();
  while (draw > kMax - excess) draw = engine_();
  return draw % count;
}

double Random::normal() {
  // Ratio of uniforms (Kinderman and Monahan 1977) rather than Box-Muller or the polar method: the logarithm, whose
  // last bit varies between C libraries, decides acceptance only and never enters the value.
  constexpr double kWidth = 1.7155277699214135;  // 2 sqrt(2 / e), the width of the enclosing rectangle
  for (;;) {
    const double u = 1.0 - uniform();  // in (0, 1]
    const double v = uniform() - 0.5;
    const double x = kWidth * v / u;
    if (x * x <= -4.0 * std::log(u)) return x;
  }
}

}  // namespace fedsinkhorn
