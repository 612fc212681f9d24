#include "iteration/deviations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/special_numbers.hpp"

namespace fedsinkhorn {
Deviations::Deviations(std::size_t size, std::vector<const double*> masses)
    : size_(size), masses_(std::move(masses)), logs_(masses_.size() * size, 0.0) {
  for (std::size_t k = 0; k < masses_.size(); ++k) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!(masses_[k][i] > 0)) logs_[k * size_ + i] = -kInfinity;
    }
  }
}

Deviations::Deviations(std::size_t size, std::vector<const double*> masses, std::vector<double> logs)
    : size_(size), masses_(std::move(masses)), logs_(std::move(logs)) {}

Deviations::Deviations(std::span<const double> scalings, std::size_t size, std::vector<const double*> masses)
    : size_(size), masses_(std::move(masses)), logs_(masses_.size() * size) {
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

void Deviations::scale(double factor) {
  for (double& x : logs_) x *= factor;
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

void Deviations::remove(std::size_t target) {
  const auto first = logs_.begin() + static_cast<std::ptrdiff_t>(target * size_);
  logs_.erase(first, first + static_cast<std::ptrdiff_t>(size_));
  masses_.erase(masses_.begin() + static_cast<std::ptrdiff_t>(target));
}

}  // namespace fedsinkhorn
