// When to stop, and the record of how it went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/stopwatch.hpp"
#include "core/marginal_error.hpp"
#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"

namespace fedsinkhorn {

/// How an iteration gets along.
struct Pace {
  double epsilon = 0;          ///< of the level
  bool is_on_the_way = false;  ///< to the last one
  std::int64_t rejected = 0;   ///< rounds so far, of all targets
  std::size_t history = 0;     ///< the longest of the targets'
  double omega = 1;            ///< the largest of the targets'
};

/// Counts time, keeps the trace, tells the observer, and knows the limits.
class Monitor {
 public:
  /// All must outlive it.
  Monitor(const Options& options, const CheckedProblem& problem, Communicator& clock)
      : options_(options), problem_(problem), clock_(clock), start_(clock.now()), iterating_(clock) {}

  /// Whether a check is due at `iteration`, the one before having been `last`.
  [[nodiscard]] bool is_check(std::int64_t last, std::int64_t iteration) const {
    return iteration / options_.check_every != last / options_.check_every || iteration >= options_.max_iterations;
  }
  [[nodiscard]] bool is_check(std::int64_t iteration) const { return is_check(iteration - 1, iteration); }
  [[nodiscard]] bool interrupted() const { return options_.interrupt != nullptr && options_.interrupt->load(); }
  /// The error to reach, in the units of the checked problem.
  [[nodiscard]] double tolerance() const { return options_.tolerance * problem_.mass; }
  /// A tolerance of 0 asks for the whole budget: nothing is small enough.
  [[nodiscard]] bool small_enough(double error) const { return options_.tolerance > 0 && error <= tolerance(); }
  [[nodiscard]] const Options& options() const { return options_; }

  /// Errors are in the units of the checked problem; the trace and the observer get them in those of the masses given.
  /// Rows of targets that are finished one by one after the rest would repeat iteration numbers: only later ones count.
  void record(std::int64_t iteration, MarginalErrors errors, std::size_t targets_left, const Pace& pace);

  [[nodiscard]] Stopwatch& iterating() { return iterating_; }
  /// One row a check, except that of very many every second, fourth, ... is kept, and always the last: a run of days
  /// must not fill the memory with its diary.
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
