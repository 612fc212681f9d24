#include "topology/mixture.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace fedsinkhorn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void ImageHistory::mix(std::size_t slot, const Mixture& mixture, std::span<double> v) {
  if (images_.size() <= slot) images_.resize(slot + 1);
  std::deque<std::vector<double>>& logs = images_[slot];
  if (mixture.keep_newest) {
    std::vector<double> newest(v.size());
    for (std::size_t j = 0; j < v.size(); ++j) newest[j] = v[j] > 0 ? std::log(v[j]) : -kInfinity;
    logs.push_back(std::move(newest));
    while (logs.size() > mixture.images) logs.pop_front();
    if (mixture.gamma.empty()) return;
  }
  if (logs.empty()) return;
  // The differences come first: near the solution they are small beside the logarithms.
  std::vector<double> log_v = logs.back();
  for (std::size_t i = 0; i < mixture.gamma.size(); ++i) {
    const double gamma = mixture.gamma[i];
    const std::vector<double>& before = logs[i];
    const std::vector<double>& after = logs[i + 1];
    for (std::size_t j = 0; j < v.size(); ++j) log_v[j] -= gamma * (after[j] - before[j]);
  }
  // Where there is no mass, differences are not numbers.
  for (std::size_t j = 0; j < v.size(); ++j) v[j] = std::isinf(logs.back()[j]) ? 0.0 : std::exp(log_v[j]);
}

void ImageHistory::remove(std::size_t slot) {
  if (slot < images_.size()) images_.erase(images_.begin() + static_cast<std::ptrdiff_t>(slot));
}

}  // namespace fedsinkhorn
