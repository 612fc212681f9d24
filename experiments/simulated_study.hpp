// Asynchronous clients on simulated networks: what those studies have in common. The same cell gives the same record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "study.hpp"

namespace fedsinkhorn::experiments {

/// The robustness study of the paper, scaled down: n points in the unit square, random masses, epsilon 0.05.
class StudyProblem {
 public:
  explicit StudyProblem(std::uint64_t seed, std::size_t n = 256);
  [[nodiscard]] Problem view() const;
  [[nodiscard]] std::size_t size() const { return a_.size(); }

 private:
  std::vector<double> cost_;
  std::vector<double> a_;
  std::vector<double> b_;
};

/// A network whose delays are given in iterations: what one takes a client that is not slowed down.
struct DelayLaw {
  std::string_view name;
  Scenario (*scenario)(double iteration_seconds);
};
/// log-normal delays; heavy-tailed ones; 2 % of the messages 60 iterations late; one client 10 times slower.
[[nodiscard]] std::span<const DelayLaw> delay_laws();
[[nodiscard]] const DelayLaw& delay_law(std::string_view name);

/// Seconds an iteration takes one of so many clients in a simulation.
[[nodiscard]] double iteration_seconds(std::size_t n, std::size_t clients);

/// Asynchronous clients on such a network: plain Sinkhorn to an L1 error of 1e-12, at most 3,000 iterations.
[[nodiscard]] Options simulated_options(const DelayLaw& law, std::size_t n, std::size_t clients, std::uint64_t seed);

/// For conditions: the problem, and the laws by name.
[[nodiscard]] std::string problem_sentence();
[[nodiscard]] std::string laws_sentence();

/// Adds the cell once for every block of seeds 0, 1, ...: a record for each seed would be too many files, one for all
/// of them too much to lose.
void add_seed_blocks(const Json& cell, std::size_t seeds, std::vector<Json>& cells);
/// Of one cell.
[[nodiscard]] std::vector<std::uint64_t> seeds_of(const Json& parameters);

/// Appends to the lists "iterations", "converged", "timed_out" and "diverged" (1 or 0) of a record.
void add_outcome(const Result& result, Json& measured);
/// The columns for the last three of them.
[[nodiscard]] std::vector<Figure> outcome_figures();

}  // namespace fedsinkhorn::experiments
