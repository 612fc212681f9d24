// Timing things that are to be compared.
//
// Not Google Benchmark: it finishes one benchmark before it starts the next, and on a machine with neighbours the
// memory bandwidth changes within seconds, so the two would have met different machines. Here every round runs each
// contender once, and what counts is the ratio within a round.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace fedsinkhorn::bench {

struct Contender {
  std::string name;
  std::function<double()> seconds;  ///< does the work once and says how long it took
};

/// A contender that is timed from outside.
[[nodiscard]] Contender timed(std::string name, std::function<void()> work);

/// The seconds of every round.
struct Timing {
  std::string name;
  std::vector<double> seconds;
};

struct RoundRobin {
  int rounds = 15;
  int warmups = 1;
  /// Waited before each contender. Thread pools of other libraries (OpenMP's, OpenBLAS's) keep spinning for up to 30 ms
  /// after their work: where contenders bring pools of their own, the next one would have to share the cores with them.
  double pause_seconds = 0;
};

/// Runs all contenders round after round, the order reversed every other round so that nobody always follows the same
/// neighbour.
[[nodiscard]] std::vector<Timing> round_robin(const RoundRobin& settings, std::span<const Contender> contenders);

/// The value below which that share of the values lies; values need not be sorted.
[[nodiscard]] double quantile(std::vector<double> values, double share);
[[nodiscard]] double median(const std::vector<double>& values);

/// a_k / b_k, round by round.
[[nodiscard]] std::vector<double> ratios(const std::vector<double>& a, const std::vector<double>& b);
/// a_k + b_k.
[[nodiscard]] std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace fedsinkhorn::bench
