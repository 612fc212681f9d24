// The errors of the library. Non-convergence is not among them: it is a status of the result.
#pragma once

#include <stdexcept>
#include <string>

namespace fedsinkhorn {

/// Input that cannot be solved as given: a file, an argument, or data that contradict each other.
/// The message is one line: "<culprit>: <reason>; <what would be right>".
class InputError : public std::runtime_error {
 public:
  /// culprit: the file, flag or argument at fault. remedy: what would be right (may be empty).
  InputError(const std::string& culprit, const std::string& reason, const std::string& remedy = {})
      : std::runtime_error(culprit + ": " + reason + (remedy.empty() ? "" : "; " + remedy)) {}
};

}  // namespace fedsinkhorn
