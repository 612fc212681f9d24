// How a pass goes over stored rows. This only affects speed: results have the same bits.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "core/caches.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {

struct PassPlan {
  std::size_t rows_at_once = cpu::kRowBlock;
  cpu::Asking asking = cpu::Asking::spread;
  [[nodiscard]] bool operator==(const PassPlan&) const = default;
};

/// "8 rows at once, spread".
[[nodiscard]] std::string describe(const PassPlan& plan);

/// For a pass that uses rows twice while they are in cache: first the plan the caches suggest, then others worth
/// trying. As many rows as the second level holds or, if fewer than two, as many as fit into a tenth of the last level.
[[nodiscard]] std::vector<PassPlan> plans_for_two_uses(std::size_t row_bytes, const Caches& caches);
/// For a pass that uses rows once.
[[nodiscard]] std::vector<PassPlan> plans_for_one_use();

/// Finds the best plan by measuring: in the first passes, every piece of work uses one of the plans and is timed. Which
/// is best depends on the processor and its load; the first plan is the one to beat.
class PassTuner {
 public:
  /// bytes: read per pass. If they fit into a core's own cache, nothing is measured.
  PassTuner(std::vector<PassPlan> plans, std::size_t bytes, const Caches& caches = fedsinkhorn::caches());

  /// For that piece of work in the current pass.
  [[nodiscard]] PassPlan plan(std::size_t piece) const { return is_measuring() ? plans_[number(piece)] : best_; }
  [[nodiscard]] PassPlan best() const { return best_; }
  [[nodiscard]] bool is_measuring() const { return passes_left_ > 0; }

  /// Records the time of a piece and its number of entries of K. Threads may report different pieces concurrently.
  void note(std::size_t piece, std::size_t entries, double seconds);
  void end_pass();

 private:
  [[nodiscard]] std::size_t number(std::size_t piece) const;

  std::vector<PassPlan> plans_;
  PassPlan best_;
  std::vector<std::atomic<double>> least_;  // of each plan, seconds per entry
  int passes_left_ = 0;
};

}  // namespace fedsinkhorn
