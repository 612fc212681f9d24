// Progress of a solve, shown to the user.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "io/error_trend.hpp"

namespace fedsinkhorn {

/// Estimates the time to the end of a solve from the slope of its error. None if the slope is not clear, if epsilon has
/// not yet reached its final value, or if the end is many times farther away than the time observed so far. Estimates
/// the time to the iteration limit if that comes first, or if the tolerance is 0.
class TimeLeft {
 public:
  /// Call after every check.
  void add(const Progress& progress);
  /// Seconds from the last check.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  [[nodiscard]] double to_the_limit() const;

  Progress first_;  // of this epsilon
  Progress last_;
  bool begun_ = false;
  ErrorHistory errors_;
};

/// On a terminal, a single line that is rewritten a few times per second and never wider than the terminal. Elsewhere
/// (a log), plain lines at growing intervals. Nothing for very short runs.
class RewrittenLine {
 public:
  explicit RewrittenLine(std::FILE* stream);
  ~RewrittenLine();
  RewrittenLine(const RewrittenLine&) = delete;
  RewrittenLine& operator=(const RewrittenLine&) = delete;

  /// seconds: since the run began. text_of(width): the line, at most that wide.
  void update(double seconds, const std::function<std::string(std::size_t width)>& text_of);
  /// Removes the line from the terminal.
  void clear();

 private:
  std::FILE* stream_;
  bool terminal_;
  double next_ = 0.5;  // time of the next display, in seconds
  bool drawn_ = false;
};

/// The progress of a solve in such a line.
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* stream) : line_(stream) {}

  void update(const Progress& progress);
  void clear() { line_.clear(); }

 private:
  RewrittenLine line_;
  TimeLeft time_left_;
};

/// Iteration, error, speed, and the time left if known. If it does not fit into `width` columns, the least important
/// parts are left out first.
[[nodiscard]] std::string progress_text(const Progress& progress, std::optional<double> seconds_left,
                                        std::size_t width);

/// The width the terminal of that stream reports, else $COLUMNS, else 80.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream);

}  // namespace fedsinkhorn
