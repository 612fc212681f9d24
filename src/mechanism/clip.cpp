#include "mechanism/clip.hpp"

#include <algorithm>
#include <cmath>

namespace fedsinkhorn {
namespace {

/// Scales the numbers at first, first + stride, ... down to the norm.
void clip_vector(double most, std::span<double> numbers, std::size_t first, std::size_t stride) {
  double norm = 0;
  bool is_finite = true;
  for (std::size_t i = first; i < numbers.size(); i += stride) {
    if (std::isnan(numbers[i])) numbers[i] = 0;
    is_finite &= std::isfinite(numbers[i]);
  }
  if (!is_finite) {  // their direction
    for (std::size_t i = first; i < numbers.size(); i += stride) {
      numbers[i] = std::isinf(numbers[i]) ? std::copysign(most, numbers[i]) : 0;
    }
  }
  for (std::size_t i = first; i < numbers.size(); i += stride) norm = std::hypot(norm, numbers[i]);
  if (norm <= most) return;
  for (std::size_t i = first; i < numbers.size(); i += stride) numbers[i] *= most / norm;
}

}  // namespace

void clip(ClipKind kind, double most, std::size_t targets, std::span<double> slice) {
  constexpr double kLargestLogarithm = 700;
  const std::size_t rows = slice.size() / targets;
  switch (kind) {
    case ClipKind::rows:
      for (std::size_t i = 0; i < rows; ++i) clip_vector(most, slice, i, rows);
      break;
    case ClipKind::slice: clip_vector(most, slice, 0, 1); break;
    case ClipKind::none:
      for (double& x : slice) x = std::isnan(x) ? 0 : std::clamp(x, -kLargestLogarithm, kLargestLogarithm);
      break;
  }
}

}  // namespace fedsinkhorn
