// When to stop, and the trace of the run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/stopwatch.hpp"
#include "core/marginal_error.hpp"
#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// Progress of an iteration.
struct Pace {
  double epsilon = 0;          ///< of the current level
  bool is_on_the_way = false;  ///< not yet at the last level
  std::int64_t rejected = 0;   ///< rounds so far, over all targets
  std::size_t history = 0;     ///< the longest of any target
  double omega = 1;            ///< the largest of any target
  std::int64_t newton = 0;     ///< Newton steps so far, over all targets
};

/// Keeps time, the trace and the limits, and informs the observer.
class Monitor {
 public:
  /// All must outlive it.
  Monitor(const Options& options, const CheckedProblem& problem, Communicator& clock)
      : options_(options), problem_(problem), clock_(clock), start_(clock.now()), iterating_(clock) {}

  /// Whether a check is due at `iteration`, if `last` was the iteration before it.
  [[nodiscard]] bool is_check(std::int64_t last, std::int64_t iteration) const {
    return iteration / options_.check_every != last / options_.check_every || iteration >= options_.max_iterations;
  }
  [[nodiscard]] bool is_check(std::int64_t iteration) const { return is_check(iteration - 1, iteration); }
  [[nodiscard]] bool interrupted() const { return options_.interrupt != nullptr && options_.interrupt->load(); }
  /// The error to reach, in the units of the checked problem.
  [[nodiscard]] double tolerance() const { return options_.tolerance * problem_.mass; }
  /// A tolerance of 0 means the whole budget: no error is small enough.
  [[nodiscard]] bool small_enough(double error) const { return options_.tolerance > 0 && error <= tolerance(); }
  [[nodiscard]] const Options& options() const { return options_; }

  /// Takes errors in the units of the checked problem; reports them in those of the given masses. Targets finished one
  /// by one after the rest would repeat iteration numbers: the trace only keeps larger ones.
  void record(std::int64_t iteration, MarginalErrors errors, std::size_t targets_left, const Pace& pace);

  /// Iterations after this one are void: the trace is without them.
  void forget_after(std::int64_t iteration);

  [[nodiscard]] Stopwatch& iterating() { return iterating_; }
  /// One row per check. Very long traces keep only every second, fourth, ... row, and always the last: a run of days
  /// must not fill the memory with its trace.
  [[nodiscard]] std::vector<TraceRow> take_trace();

 private:
  static constexpr std::size_t kMostTraceRows = std::size_t{1} << 20;
  void thin_out_trace();

  const Options& options_;
  const CheckedProblem& problem_;
  Communicator& clock_;
  double start_;
  Stopwatch iterating_;
  std::vector<TraceRow> trace_;
  TraceRow last_row_;
  std::uint64_t rows_seen_ = 0;
  std::uint64_t trace_stride_ = 1;
};

}  // namespace fedsinkhorn
