#include "comm/draw.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

namespace fedsinkhorn {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

constexpr double kLogOfTwo = 0.6931471805599453;
// Far from overflow even after sums and products with sensible numbers.
constexpr double kLeast = 1e-200;
constexpr double kMost = 1e200;

// The last bits of std::exp and std::log vary between C libraries and processors, and one bit can change which of two
// messages arrives first. These sums are rounded the same way everywhere; 14 digits are correct.

double portable_exp(double x) {
  x = std::clamp(x, -690.0, 690.0);
  const double power = std::nearbyint(x / kLogOfTwo);
  const double rest = x - power * kLogOfTwo;  // at most 0.35 in size
  double sum = 1;
  for (int i = 14; i > 0; --i) sum = 1 + sum * rest / i;
  return std::ldexp(sum, static_cast<int>(power));
}

double portable_log(double x) {
  int power = 0;
  double mantissa = std::frexp(x, &power);
  if (mantissa < 0.7) {
    mantissa *= 2;
    --power;
  }
  const double s = (mantissa - 1) / (mantissa + 1);  // at most 0.18 in size; the logarithm is 2 atanh(s)
  double sum = 0;
  for (int i = 21; i > 0; i -= 2) sum = sum * s * s + 1.0 / i;
  return 2 * s * sum + power * kLogOfTwo;
}

double within_range(double x) { return std::clamp(x, kLeast, kMost); }

}  // namespace

double Draws::from(const Law& law) {
  const Overloaded drawn = {
      [](const ConstantLaw& one) { return one.value; },
      [this](const UniformLaw& one) { return std::min(random().uniform(one.least, one.most), one.most); },
      [this](const LogNormalLaw& one) {
        return within_range(one.median * portable_exp(one.sigma * random().normal()));
      },
      [this](const HeavyTailedLaw& one) {
        const double u = 1 - random().uniform();  // in (0, 1]
        return within_range(one.least * portable_exp(-portable_log(u) / one.exponent));
      },
  };
  return std::visit(drawn, law);
}

double Draws::from(const Lateness& late) {
  return late.probability > 0 && random().uniform() < late.probability ? late.seconds : 0;
}

}  // namespace fedsinkhorn
