// What the experiments have in common. Each prints a table in Markdown, which the pages of docs/ quote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn::experiments {

/// The robustness study of the paper, scaled down: n points in the unit square, random masses.
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

/// Seconds an iteration takes one of so many clients in a simulation.
[[nodiscard]] double iteration_seconds(std::size_t n, std::size_t clients);

/// Options for a simulated run of the study.
[[nodiscard]] Options study_options(const DelayLaw& law, std::size_t n, std::size_t clients, std::uint64_t seed);

/// Calls body(0), body(1), ... on all cores, and returns when all are done.
void for_all(std::size_t count, const std::function<void(std::size_t)>& body);

[[nodiscard]] double median(std::vector<double> values);

/// seeds: how many runs; 0 means as many as the documented table has.
void async_robustness(std::size_t seeds);
void async_damping(std::size_t seeds);
void async_staleness(std::size_t seeds);
void async_straggler(std::size_t seeds);
/// n: rows and columns of the problems; 0 means as many as the documented table has.
void acceleration(std::size_t seeds, std::size_t n);
/// output: folder for files besides the tables; empty: none are written.
void privacy(std::size_t seeds, std::size_t n, const std::filesystem::path& output);

}  // namespace fedsinkhorn::experiments
