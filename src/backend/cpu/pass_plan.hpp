// How a pass goes over stored rows. All of it is a matter of speed: results have the same bits.
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

/// For a pass that uses rows twice while they are in cache: what the caches suggest, and what else is worth a try. As
/// many rows as the second level holds, and if those are less than two, as many as fit into a tenth of the last level.
[[nodiscard]] std::vector<PassPlan> plans_for_two_uses(std::size_t row_bytes, const Caches& caches);
/// For a pass that uses rows once.
[[nodiscard]] std::vector<PassPlan> plans_for_one_use();

/// Finds the best plan by trying: in the first passes every piece of the work is done by one plan or another, and
/// timed. Which is best depends on the processor and on what else it has to do; the first plan is the one to beat.
class PassTuner {
 public:
  /// bytes: that a pass reads. What a core's own cache holds is not worth the trouble.
  PassTuner(std::vector<PassPlan> plans, std::size_t bytes, const Caches& caches = fedsinkhorn::caches());

  /// For that piece of the work, in the pass that is being made.
  [[nodiscard]] PassPlan plan(std::size_t piece) const { return is_measuring() ? plans_[number(piece)] : best_; }
  [[nodiscard]] PassPlan best() const { return best_; }
  [[nodiscard]] bool is_measuring() const { return passes_left_ > 0; }

  /// How long a piece took, and of how many entries of K it consists. Threads may tell of different pieces at the same
  /// time.
  void note(std::size_t piece, std::size_t entries, double seconds);
  void end_pass();

 private:
  [[nodiscard]] std::size_t number(std::size_t piece) const;

  std::vector<PassPlan> plans_;
  PassPlan best_;
  std::vector<std::atomic<double>> least_;  // of each plan, seconds an entry
  int passes_left_ = 0;
};

}  // namespace fedsinkhorn
