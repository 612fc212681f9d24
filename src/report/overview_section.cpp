// What was solved, and how it ended.
#include <fmt/format.h>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

Outcome outcome_of(const Json& summary) {
  const std::string status = text(summary, "status");
  const std::string iterations = count_text(count(summary, "iterations"));
  if (status == "converged") return {Verdict::good, fmt::format("Converged in {} iterations", iterations)};
  if (status == "budget_spent") {
    return {Verdict::good, fmt::format("Privacy budget spent, as planned, after {} iterations", iterations)};
  }
  if (status == "iteration_limit") {
    return {Verdict::fair, fmt::format("Not converged: stopped at the limit of {} iterations", iterations)};
  }
  if (status == "sums_limit") {
    return {Verdict::fair, fmt::format("Not converged: stopped at the limit of sums, after {} iterations", iterations)};
  }
  if (status == "interrupted") return {Verdict::fair, fmt::format("Interrupted after {} iterations", iterations)};
  if (status == "diverged") return {Verdict::bad, fmt::format("Diverged at iteration {}", iterations)};
  if (status == "client_lost") return {Verdict::bad, fmt::format("A client was lost at iteration {}", iterations)};
  throw RecordError(fmt::format("'status' is '{}', which is none of ours", status));
}

Facts problem_facts(const Json& summary) {
  Facts facts{"Problem", {}};
  facts.values = {{"rows", count_text(count(summary, "rows"))},
                  {"columns", count_text(count(summary, "columns"))},
                  {"targets", count_text(count(summary, "targets"))},
                  {"epsilon", number_text(number(summary, "epsilon"))},
                  {"kernel", text(summary, "kernel")},
                  {"precision", text(summary, "precision")},
                  {"tolerance", number_text(number(summary, "tolerance"))}};
  return facts;
}

Facts result_facts(const Json& summary) {
  const Json& cost = member(summary, "cost");
  const Json& error = member(summary, "error");
  Facts facts{"Result", {}};
  facts.values = {{"cost <P, C>", number_text(number(cost, "linear"))},
                  {"objective", number_text(number(cost, "objective"))},
                  {"dual", number_text(number(cost, "dual"))},
                  {fmt::format("error of the rows ({})", text(error, "norm")), number_text(number(error, "a"))},
                  {fmt::format("error of the columns ({})", text(error, "norm")), number_text(number(error, "b"))}};
  return facts;
}

Facts way_facts(const Json& summary) {
  Facts facts{"How", {}};
  facts.values = {{"method", text(summary, "method")},
                  {"topology", text(summary, "topology")},
                  {"clients", count_text(count(summary, "client_count"))},
                  {"transport", text(summary, "transport")},
                  {"policy", text(summary, "policy")},
                  {"backend", fmt::format("{}, {}", text(summary, "backend"), text(summary, "simd"))},
                  {"threads per client", count_text(count(summary, "threads"))},
                  {"time to solve", seconds_text(number(summary, "solve_seconds"))},
                  {"time in all", seconds_text(number(summary, "wall_seconds"))},
                  {"version", text(summary, "version")}};
  return facts;
}

}  // namespace

std::optional<Section> overview_section(const RunRecord& run) {
  if (run.kind != RunKind::solve) return std::nullopt;
  const Json& summary = run.summary;
  Section section{"overview", "What was solved"};
  section.outcomes.push_back(outcome_of(summary));
  if (has(summary, "hint")) section.paragraphs.push_back(text(summary, "hint"));
  if (has(summary, "precision_is_reduced") && member(summary, "precision_is_reduced") == true) {
    section.paragraphs.emplace_back("The precision was reduced: the result is right to that precision alone.");
  }
  section.facts = {problem_facts(summary), result_facts(summary), way_facts(summary)};
  return section;
}

}  // namespace fedsinkhorn::report
