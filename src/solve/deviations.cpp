#include "solve/deviations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedsinkhorn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Deviations::Deviations(std::span<const double> scalings, std::size_t size, Masses masses)
    : size_(size), masses_(masses), logs_(masses.size() * size) {
  for (std::size_t k = 0; k < masses_.size(); ++k) {
    for (std::size_t i = 0; i < size_; ++i) {
      const double share = masses_[k][i];
      logs_[k * size_ + i] = share > 0 ? std::log(scalings[k * size_ + i] / share) : -kInfinity;
    }
  }
}

std::vector<double> Deviations::centre(std::span<const double> base, double epsilon) const {
  std::vector<double> result(size_);
  for (std::size_t i = 0; i < size_; ++i) {
    double low = kInfinity;
    double high = -kInfinity;
    for (std::size_t k = 0; k < masses_.size(); ++k) {
      const double x = logs_[k * size_ + i];
      if (std::isinf(x)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
    result[i] = base[i] + epsilon * (low <= high ? (low + high) / 2 : 0.0);
  }
  return result;
}

void Deviations::move(std::span<const double> from, std::span<const double> to, double epsilon) {
  for (std::size_t i = 0; i < size_; ++i) {
    const double moved = (from[i] - to[i]) / epsilon;
    for (std::size_t k = 0; k < masses_.size(); ++k) logs_[k * size_ + i] += moved;
  }
}

bool Deviations::any_beyond(std::size_t target, double limit) const {
  const auto first = logs_.begin() + static_cast<std::ptrdiff_t>(target * size_);
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(size_),
                     [limit](double x) { return std::isfinite(x) && std::abs(x) > limit; });
}

void Deviations::write_scalings(std::size_t target, std::span<double> scalings) const {
  for (std::size_t i = 0; i < size_; ++i) {
    const double share = masses_[target][i];
    scalings[i] = share > 0 ? share * std::exp(logs_[target * size_ + i]) : 0.0;
  }
}

}  // namespace fedsinkhorn
