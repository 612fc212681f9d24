// The exceptions of the library. Failure to converge is not one of them: it is a status of the result.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fedsinkhorn {

struct Result;

/// Input that cannot be solved as given: a bad file or argument, or inconsistent data.
/// The message is one line: "<culprit>: <reason>; <what would be right>". A culprit that is a field of Options is given
/// in backquotes, which what() leaves out; in the rest of the line fields stand in backquotes.
class InputError : public std::runtime_error {
 public:
  /// culprit: the file, `field` or argument at fault. remedy: what would be right (may be empty).
  InputError(const std::string& culprit, const std::string& reason, const std::string& remedy = {})
      : InputError(culprit + ": " + reason + (remedy.empty() ? "" : "; " + remedy)) {}
  /// The whole line, as received from another client.
  explicit InputError(const std::string& line)
      : std::runtime_error(with_plain_culprit(line)), marked_(std::make_shared<const std::string>(line)) {}

  /// The line with every field in backquotes, for those who call fields by other names, such as flags.
  [[nodiscard]] const std::string& marked() const noexcept { return *marked_; }

 private:
  static std::string with_plain_culprit(const std::string& line) {
    const std::size_t end = line.starts_with('`') ? line.find('`', 1) : std::string::npos;
    return end == std::string::npos ? line : line.substr(1, end - 1) + line.substr(end + 1);
  }

  std::shared_ptr<const std::string> marked_;
};

/// Some clients did not answer within the time limit.
class ClientLost : public std::runtime_error {
 public:
  ClientLost(const std::string& line, std::vector<std::size_t> lost, std::shared_ptr<const Result> so_far = nullptr)
      : std::runtime_error(line), lost_(std::move(lost)), so_far_(std::move(so_far)) {}
  /// The clients that did not answer; empty if all answered and the exchange still failed.
  [[nodiscard]] const std::vector<std::size_t>& lost() const { return lost_; }

  /// Topology async: the potentials as this client last knew them, with status client_lost. Costs are not known (NaN).
  /// Null if the loss came before the first potentials, and in other topologies.
  [[nodiscard]] const std::shared_ptr<const Result>& so_far() const { return so_far_; }

 private:
  std::vector<std::size_t> lost_;
  std::shared_ptr<const Result> so_far_;
};

/// Options::interrupt was set before the first iteration was finished: there is no result.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted before the first iteration was finished; nothing written") {}
};

/// Another client gave up. The message says why.
class ClientFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace fedsinkhorn
