// What was solved, and how it ended.
#include <fmt/format.h>

#include <cmath>

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
  const double epsilon = number(summary, "epsilon");
  facts.values = {{"rows", count_text(count(summary, "rows"))},
                  {"columns", count_text(count(summary, "columns"))},
                  {"targets", count_text(count(summary, "targets"))}};
  if (has(summary, "dimension")) {
    facts.values.emplace_back(
        "points", fmt::format("dimension {}, {}", count_text(count(summary, "dimension")), text(summary, "metric")));
  }
  facts.values.emplace_back("epsilon", number_text(epsilon));
  if (has(summary, "largest_cost")) {
    facts.values.emplace_back("epsilon / largest cost",
                              (member(summary, "largest_cost_is_bound") == true ? "at least " : "") +
                                  number_text(epsilon / number(summary, "largest_cost"), 2));
  }
  facts.values.emplace_back("tolerance", number_text(number(summary, "tolerance")));
  facts.values.emplace_back("kernel", text(summary, "kernel"));
  facts.values.emplace_back("precision", text(summary, "precision"));
  return facts;
}

/// The larger one of both sides. In a private run that of the columns is known alone.
double worse_error(const Json& error) { return std::fmax(number(error, "a"), number(error, "b")); }

Facts result_facts(const Json& summary) {
  const Json& cost = member(summary, "cost");
  const Json& error = member(summary, "error");
  const std::string missing = text(summary, "policy") == "private" ? "not released" : "not computed";
  const auto cost_text = [&](double value) { return std::isnan(value) ? missing : number_text(value); };
  Facts facts{"Result", {}};
  facts.values = {{"cost <P, C>", cost_text(number(cost, "linear"))},
                  {"objective", cost_text(number(cost, "objective"))},
                  {"dual", cost_text(number(cost, "dual"))},
                  {fmt::format("marginal error ({})", text(error, "norm")), number_text(worse_error(error), 3)}};
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
  if (has(summary, "notes")) {
    for (const Json& note : array(summary, "notes")) {
      if (note.is_string()) section.paragraphs.push_back("Note: " + note.get<std::string>());
    }
  }
  if (has(summary, "precision_is_reduced") && member(summary, "precision_is_reduced") == true) {
    section.paragraphs.emplace_back("The precision was reduced: the result is right only to that precision.");
  }
  section.facts = {problem_facts(summary), result_facts(summary), way_facts(summary)};
  return section;
}

}  // namespace fedsinkhorn::report
