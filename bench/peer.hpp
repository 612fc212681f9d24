// Other solvers, each in a child process that does as many iterations as it is told to and says how long they took, so
// that all of them take turns in one run.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "child_process.hpp"
#include "report.hpp"

namespace fedsinkhorn::bench {

/// A script of peers/, talked to line by line.
class Peer {
 public:
  /// problem: a number of points, or a folder (see peers/problem.py). Nothing, and a note, where it cannot run.
  static std::optional<Peer> start(const std::string& name, const std::string& packages, const std::string& problem,
                                   double epsilon, int threads, Report& report);

  [[nodiscard]] nlohmann::json ask(const std::string& question) const;
  /// Answers to the question have the seconds. The peer must outlive it.
  [[nodiscard]] Contender contender(const std::string& name, const std::string& question) const;

 private:
  explicit Peer(std::unique_ptr<ChildProcess> child) : child_(std::move(child)) {}
  std::unique_ptr<ChildProcess> child_;
};

}  // namespace fedsinkhorn::bench
