#include "kernel/pass_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace fedsinkhorn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostChunks = 32;
// Every plan gets four of 32 chunks in a pass.
constexpr int kPasses = 2;
// What is not clearly better than what the caches suggest is noise.
constexpr double kClearly = 0.97;
// Kernels that a core's own cache holds ask memory for nothing.
constexpr std::size_t kFewRows = 4 * kMostChunks;

constexpr std::array kNames = {"spread", "spread, line pairs", "late", "late, line pairs"};

}  // namespace

std::string describe(const PassPlan& plan) {
  return fmt::format("{} rows at once, {}", plan.rows_at_once, kNames[static_cast<std::size_t>(plan.asking)]);
}

PassPlan plan_for(std::size_t row_bytes, const Caches& caches) {
  const auto fitting = [&](std::size_t bytes) {
    std::size_t rows = cpu::kRowBlock;
    while (rows > 1 && rows * row_bytes > bytes) rows /= 2;
    return rows;
  };
  const std::size_t in_second = fitting(caches.second);
  return {in_second >= 2 ? in_second : fitting(caches.last / 10), cpu::Asking::spread};
}

PassTuner::PassTuner(std::size_t rows, std::size_t row_bytes, bool are_stored, const Caches& caches)
    : best_(plan_for(row_bytes, caches)) {
  if (!are_stored || rows < kFewRows || rows * row_bytes < 2 * caches.second) return;
  const std::size_t other = best_.rows_at_once < cpu::kRowBlock ? 2 * best_.rows_at_once : best_.rows_at_once / 2;
  candidates_.push_back(best_);
  for (const std::size_t at_once : {best_.rows_at_once, other}) {
    for (const cpu::Asking asking : cpu::kAskings) {
      if (const PassPlan plan{at_once, asking}; plan != best_) candidates_.push_back(plan);
    }
  }
  seconds_a_row_.assign(candidates_.size(), kInfinity);
  of_chunks_.assign(kMostChunks, kInfinity);
  passes_left_ = kPasses;
}

// The first chunk is another plan's in every pass: chunks may differ, in where their memory is for one thing.
std::size_t PassTuner::candidate(std::size_t chunk) const {
  return (chunk + static_cast<std::size_t>(passes_left_)) % candidates_.size();
}

PassPlan PassTuner::plan(std::size_t chunk) const { return is_measuring() ? candidates_[candidate(chunk)] : best_; }

void PassTuner::note(std::size_t chunk, std::size_t rows, double seconds) {
  if (is_measuring() && chunk < kMostChunks && rows > 0) of_chunks_[chunk] = seconds / static_cast<double>(rows);
}

void PassTuner::end_pass() {
  if (!is_measuring()) return;
  for (std::size_t chunk = 0; chunk < kMostChunks; ++chunk) {
    double& least = seconds_a_row_[candidate(chunk)];
    least = std::min(least, std::exchange(of_chunks_[chunk], kInfinity));
  }
  if (--passes_left_ > 0) return;
  const auto fastest = std::ranges::min_element(seconds_a_row_);
  if (*fastest < kClearly * seconds_a_row_.front()) {
    best_ = candidates_[static_cast<std::size_t>(fastest - seconds_a_row_.begin())];
  }
}

}  // namespace fedsinkhorn
