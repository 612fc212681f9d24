#include "backend/cpu/pass_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace fedsinkhorn {
namespace {

constexpr int kPasses = 3;
// A smaller gain over the first plan is noise.
constexpr double kClearly = 0.97;

constexpr std::array kNames = {"spread", "spread, line pairs", "late", "late, line pairs", "nothing asked"};

}  // namespace

std::string describe(const PassPlan& plan) {
  return fmt::format("{} rows at once, {}", plan.rows_at_once, kNames[static_cast<std::size_t>(plan.asking)]);
}

std::vector<PassPlan> plans_for_two_uses(std::size_t row_bytes, const Caches& caches) {
  const auto fitting = [&](std::size_t bytes) {
    std::size_t rows = cpu::kRowBlock;
    while (rows > 1 && rows * row_bytes > bytes) rows /= 2;
    return rows;
  };
  const std::size_t in_second = fitting(caches.second);
  const std::size_t suggested = in_second >= 2 ? in_second : fitting(caches.last / 10);
  std::vector<PassPlan> plans = {{suggested, cpu::Asking::spread}};
  for (const std::size_t rows : {suggested, 2 * suggested, suggested / 2}) {
    if (rows < 1 || rows > cpu::kRowBlock) continue;
    for (const cpu::Asking asking : cpu::kAskings) {
      if (const PassPlan plan{rows, asking}; plan != plans.front()) plans.push_back(plan);
    }
  }
  return plans;
}

std::vector<PassPlan> plans_for_one_use() {
  std::vector<PassPlan> plans;
  for (const std::size_t rows : {cpu::kRowBlock, cpu::kRowBlock / 2}) {
    for (const cpu::Asking asking : {cpu::Asking::late, cpu::Asking::late_pairs, cpu::Asking::none}) {
      plans.push_back({rows, asking});
    }
  }
  return plans;
}

PassTuner::PassTuner(std::vector<PassPlan> plans, std::size_t bytes, const Caches& caches)
    : plans_(std::move(plans)), best_(plans_.front()), least_(plans_.size()) {
  for (auto& seconds : least_) seconds = std::numeric_limits<double>::infinity();
  if (bytes >= 2 * caches.second) passes_left_ = kPasses;
}

// A piece gets another plan in every pass: pieces may differ, for example in where their memory is.
std::size_t PassTuner::number(std::size_t piece) const {
  return (piece + static_cast<std::size_t>(passes_left_)) % plans_.size();
}

void PassTuner::note(std::size_t piece, std::size_t entries, double seconds) {
  if (!is_measuring() || entries == 0) return;
  const double each = seconds / static_cast<double>(entries);
  std::atomic<double>& least = least_[number(piece)];
  double seen = least.load();
  while (each < seen && !least.compare_exchange_weak(seen, each)) {
  }
}

void PassTuner::end_pass() {
  if (!is_measuring() || --passes_left_ > 0) return;
  std::size_t fastest = 0;
  for (std::size_t k = 1; k < plans_.size(); ++k) {
    if (least_[k].load() < least_[fastest].load()) fastest = k;
  }
  if (least_[fastest].load() < kClearly * least_.front().load()) best_ = plans_[fastest];
}

}  // namespace fedsinkhorn
