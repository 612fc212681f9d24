#include "costmodel/fit.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace fedsinkhorn {
namespace {

/// Sums of a weighted regression.
struct Moments {
  double weight = 0, x = 0, y = 0, xx = 0, xy = 0;

  void add(double w, const TimedBytes& point) {
    weight += w;
    x += w * point.bytes;
    y += w * point.seconds;
    xx += w * point.bytes * point.bytes;
    xy += w * point.bytes * point.seconds;
  }
  [[nodiscard]] double determinant() const { return weight * xx - x * x; }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

LineFit line_of(std::span<const TimedBytes> points, std::span<const double> weights) {
  Moments sums;
  for (std::size_t k = 0; k < points.size(); ++k) sums.add(weights[k], points[k]);
  LineFit fit;
  const double determinant = sums.determinant();
  const bool has_slope = determinant > 1e-12 * sums.weight * sums.xx;
  fit.beta = has_slope ? (sums.weight * sums.xy - sums.x * sums.y) / determinant : 0;
  fit.alpha = (sums.y - fit.beta * sums.x) / sums.weight;
  if (fit.beta < 0) {
    fit.beta = 0;
    fit.alpha = sums.y / sums.weight;
  }
  if (fit.alpha < 0) {
    fit.alpha = 0;
    fit.beta = sums.xx > 0 ? sums.xy / sums.xx : 0;
  }
  return fit;
}

double residual(const LineFit& fit, const TimedBytes& point) {
  return point.seconds - fit.alpha - fit.beta * point.bytes;
}

void add_quality(std::span<const TimedBytes> points, std::span<const double> weights, LineFit& fit) {
  Moments sums;
  double squares = 0;
  double effective = 0;  // points that kept their weight
  for (std::size_t k = 0; k < points.size(); ++k) {
    sums.add(weights[k], points[k]);
    squares += weights[k] * residual(fit, points[k]) * residual(fit, points[k]);
    effective += weights[k] > 0 ? 1 : 0;
  }
  const double mean = sums.y / sums.weight;
  double total = 0;
  for (std::size_t k = 0; k < points.size(); ++k) {
    total += weights[k] * (points[k].seconds - mean) * (points[k].seconds - mean);
  }
  fit.r_squared = total > 0 ? std::max(0.0, 1 - squares / total) : 1;
  const double determinant = sums.determinant();
  if (effective < 3 || determinant <= 0) return;
  const double variance = squares / (effective - 2);
  const double quantile = boost::math::quantile(boost::math::students_t(effective - 2), 0.975);
  fit.beta_error = quantile * std::sqrt(variance * sums.weight / determinant);
  fit.alpha_error = quantile * std::sqrt(variance * sums.xx / determinant);
}

}  // namespace

LineFit fit_line(std::span<const TimedBytes> points) {
  const auto of_time = [](const TimedBytes& point) { return 1 / (point.seconds * point.seconds); };
  std::vector<double> weights(points.size());
  std::ranges::transform(points, weights.begin(), of_time);
  LineFit fit = line_of(points, weights);
  constexpr int kRounds = 20;
  constexpr double kFar = 4.685;  // of Tukey: 95 % as good as least squares for normal errors
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> relative;
    for (const TimedBytes& point : points) relative.push_back(std::abs(residual(fit, point)) / point.seconds);
    const double scale = std::max(median(relative) / 0.6745, 1e-9);
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double far = relative[k] / (kFar * scale);
      weights[k] = far < 1 ? of_time(points[k]) * (1 - far * far) * (1 - far * far) : 0;
    }
    fit = line_of(points, weights);
  }
  add_quality(points, weights, fit);
  return fit;
}

}  // namespace fedsinkhorn
