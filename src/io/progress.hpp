// How far a solve has come, for people who wait.
#pragma once

#include <cstdio>
#include <string>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// On a terminal a single line that is rewritten a few times a second; elsewhere (a log) a plain line now and then,
/// ever more rarely. Nothing for runs that are over at once.
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
  double first_seconds_ = -1;  // where the rate of decay is measured from
  double first_error_ = 0;
};

/// The text: iteration, error, speed, and the time left if the error goes on falling as it did since `from_error` at
/// `from_seconds` (at most until the iteration limit).
[[nodiscard]] std::string progress_text(const Progress& progress, double from_seconds, double from_error);

}  // namespace fedsinkhorn
