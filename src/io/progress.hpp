// How far a solve has come, for people who wait.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "io/error_trend.hpp"

namespace fedsinkhorn {

/// Estimates when a solve will end, from the slope of its error: none while there is no clear slope, at other epsilons
/// on the way to the one asked for, or when the end is many times farther than what was seen so far. If the iteration
/// limit comes first, until that. With tolerance 0 the iteration limit is the end.
class TimeLeft {
 public:
  /// To be called after every check.
  void add(const Progress& progress);
  /// Seconds from the last check on.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  [[nodiscard]] double to_the_limit() const;

  Progress first_;  // of this epsilon
  Progress last_;
  bool begun_ = false;
  ErrorHistory errors_;
};

/// On a terminal a single line that is rewritten a few times a second and never longer than the terminal is wide;
/// elsewhere (a log) a plain line now and then, ever more rarely. Nothing for runs that are over at once.
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* stream);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const Progress& progress);
  /// Removes the line from the terminal.
  void clear();

 private:
  std::FILE* stream_;
  bool terminal_;
  double next_ = 0.5;  // seconds of the next display
  bool drawn_ = false;
  TimeLeft time_left_;
};

/// Iteration, error, speed, and the time left where it can be told. What does not fit into `width` columns is left out,
/// the least important first.
[[nodiscard]] std::string progress_text(const Progress& progress, std::optional<double> seconds_left,
                                        std::size_t width);

/// Columns of the terminal behind that stream, as it says, or $COLUMNS, or 80.
[[nodiscard]] std::size_t terminal_width(std::FILE* stream);

}  // namespace fedsinkhorn
