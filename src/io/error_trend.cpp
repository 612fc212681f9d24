#include "io/error_trend.hpp"

#include <algorithm>
#include <cmath>

namespace fedsinkhorn {
namespace {

constexpr std::size_t kFewestSamples = 8;
constexpr std::size_t kMostSamples = 128;

/// Reorders the values.
double quantile(std::vector<double>& values, double share) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double ErrorTrend::until(double log_tolerance) const { return std::max(0.0, (log_error - log_tolerance) / rate); }

std::optional<ErrorTrend> error_trend(std::span<const ErrorSample> samples) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  const double now = samples.back().at;
  const double middle = (samples.front().at + now) / 2;
  const auto later = std::partition_point(samples.begin(), samples.end(),
                                          [&](const ErrorSample& sample) { return sample.at < middle; });
  samples = samples.subspan(static_cast<std::size_t>(later - samples.begin()));
  if (samples.size() < kFewestSamples) return std::nullopt;

  // Neighbours say little about the slope, so pairs are at least a third of the time apart.
  const double apart = (now - samples.front().at) / 3;
  std::vector<double> rates;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (std::size_t j = i + 1; j < samples.size(); ++j) {
      const double time = samples[j].at - samples[i].at;
      if (time > 0 && time >= apart) rates.push_back((samples[i].log_error - samples[j].log_error) / time);
    }
  }
  if (rates.size() < kFewestSamples) return std::nullopt;
  const double slow = quantile(rates, 0.25);
  const double fast = quantile(rates, 0.75);
  constexpr double clear = 2.5;  // half of all pairs agree within this factor
  if (!(slow > 0) || fast > clear * slow) return std::nullopt;

  ErrorTrend trend;
  trend.rate = quantile(rates, 0.5);
  std::vector<double> levels;
  for (const ErrorSample& sample : samples) levels.push_back(sample.log_error - trend.rate * (now - sample.at));
  trend.log_error = quantile(levels, 0.5);
  return trend;
}

void ErrorHistory::add(double at, double error) {
  if (!(error > 0) || std::isinf(error)) return;
  if (!samples_.empty() && !(at >= samples_.back().at + spacing_)) return;
  samples_.push_back({at, std::log(error)});
  if (samples_.size() < kMostSamples) return;
  for (std::size_t k = 1; 2 * k < samples_.size(); ++k) samples_[k] = samples_[2 * k];
  samples_.resize(samples_.size() / 2);
  spacing_ = (samples_.back().at - samples_.front().at) / static_cast<double>(samples_.size());
}

void ErrorHistory::clear() {
  samples_.clear();
  spacing_ = 0;
}

}  // namespace fedsinkhorn
