// How a fused pass goes over stored rows. All of it is a matter of speed: results have the same bits.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "backend/cpu/simd.hpp"
#include "core/caches.hpp"

namespace fedsinkhorn {

struct PassPlan {
  std::size_t rows_at_once = cpu::kRowBlock;  ///< used twice while they are in cache
  cpu::Asking asking = cpu::Asking::spread;
  [[nodiscard]] bool operator==(const PassPlan&) const = default;
};

/// "8 rows at once, spread".
[[nodiscard]] std::string describe(const PassPlan& plan);

/// What the caches suggest: as many rows as the second level holds, and if those are less than two, as many as fit into
/// a tenth of the last level.
[[nodiscard]] PassPlan plan_for(std::size_t row_bytes, const Caches& caches);

/// Finds the best plan by trying: in the first passes every chunk of rows is done by one plan or another, and timed.
/// Which is best depends on the processor and on what else it has to do; what the caches suggest is the one to beat.
class PassTuner {
 public:
  /// Without rows that are stored there is nothing to try.
  PassTuner(std::size_t rows, std::size_t row_bytes, bool are_stored, const Caches& caches = fedsinkhorn::caches());

  /// For that chunk, in the pass that is being made.
  [[nodiscard]] PassPlan plan(std::size_t chunk) const;
  [[nodiscard]] PassPlan best() const { return best_; }
  [[nodiscard]] bool is_measuring() const { return passes_left_ > 0; }

  /// How long a chunk took. Several threads may tell of different chunks at the same time.
  void note(std::size_t chunk, std::size_t rows, double seconds);
  void end_pass();

 private:
  [[nodiscard]] std::size_t candidate(std::size_t chunk) const;

  PassPlan best_;
  std::vector<PassPlan> candidates_;
  std::vector<double> seconds_a_row_;  // of each candidate, the least so far
  std::vector<double> of_chunks_;      // in this pass
  int passes_left_ = 0;
};

}  // namespace fedsinkhorn
