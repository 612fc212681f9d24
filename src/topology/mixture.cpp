#include "topology/mixture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/special_numbers.hpp"

namespace fedsinkhorn {
namespace {

/// Entries mixed at a time, so that those of all images stay in the first-level cache.
constexpr std::size_t kStrip = 128;

}  // namespace

void ImageHistory::mix(std::size_t slot, const Mixture& mixture, std::span<double> v) {
  if (images_.size() <= slot) images_.resize(slot + 1);
  std::deque<std::vector<double>>& logs = images_[slot];
  if (mixture.keep_newest) {
    std::vector<double> newest;
    while (!logs.empty() && logs.size() >= mixture.images) {
      newest = std::move(logs.front());  // reuses its memory
      logs.pop_front();
    }
    newest.resize(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) newest[j] = v[j] > 0 ? std::log(v[j]) : -kInfinity;
    logs.push_back(std::move(newest));
    if (mixture.gamma.empty()) return;
  }
  if (logs.empty()) return;
  const std::vector<double>& newest = logs.back();
  for (std::size_t first = 0; first < v.size(); first += kStrip) {
    const std::size_t width = std::min(kStrip, v.size() - first);
    // Differences first: near the solution they are small compared with the logarithms.
    std::array<double, kStrip> log_v;
    std::copy_n(newest.data() + first, width, log_v.data());
    for (std::size_t i = 0; i < mixture.gamma.size(); ++i) {
      const double gamma = mixture.gamma[i];
      const double* before = logs[i].data() + first;
      const double* after = logs[i + 1].data() + first;
      for (std::size_t j = 0; j < width; ++j) log_v[j] -= gamma * (after[j] - before[j]);
    }
    // Without mass, the differences are NaN.
    for (std::size_t j = 0; j < width; ++j) v[first + j] = std::isinf(newest[first + j]) ? 0.0 : std::exp(log_v[j]);
  }
}

void ImageHistory::remove(std::size_t slot) {
  if (slot < images_.size()) images_.erase(images_.begin() + static_cast<std::ptrdiff_t>(slot));
}

}  // namespace fedsinkhorn
