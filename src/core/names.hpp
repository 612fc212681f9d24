// Names of the choices, as used on the command line and in the summary. Every name stands in one switch without a
// default, so that the compiler reports a choice that has none.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"
#include "fedsinkhorn/risk.hpp"

namespace fedsinkhorn {

// Empty for what is no enumerator.

[[nodiscard]] constexpr std::string_view name_of(Metric metric) {
  switch (metric) {
    case Metric::sqeuclidean: return "sqeuclidean";
    case Metric::euclidean: return "euclidean";
    case Metric::cosine: return "cosine";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(RiskCost cost) {
  switch (cost) {
    case RiskCost::sqeuclidean: return "sqeuclidean";
    case RiskCost::euclidean: return "euclidean";
    case RiskCost::cosine: return "cosine";
    case RiskCost::mahalanobis: return "mahalanobis";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Norm norm) {
  switch (norm) {
    case Norm::l1: return "l1";
    case Norm::l2: return "l2";
    case Norm::linf: return "linf";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::float64: return "float64";
    case Precision::float32: return "float32";
    case Precision::mixed: return "mixed";
    case Precision::digits50: return "50";
    case Precision::bfloat16: return "bfloat16";
    case Precision::tf32: return "tf32";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Passes passes) {
  switch (passes) {
    case Passes::fused: return "fused";
    case Passes::two: return "two";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Stabilization stabilization) {
  switch (stabilization) {
    case Stabilization::absorption: return "absorption";
    case Stabilization::log: return "log";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Feasibility feasibility) {
  switch (feasibility) {
    case Feasibility::check: return "check";
    case Feasibility::skip: return "skip";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(DampingKind kind) {
  switch (kind) {
    case DampingKind::arithmetic: return "arithmetic";
    case DampingKind::geometric: return "geometric";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Server server) {
  switch (server) {
    case Server::none: return "none";
    case Server::sums: return "sums";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(ClipKind kind) {
  switch (kind) {
    case ClipKind::rows: return "rows";
    case ClipKind::slice: return "slice";
    case ClipKind::none: return "none";
  }
  return {};
}

[[nodiscard]] constexpr std::string_view name_of(Status status) {
  switch (status) {
    case Status::converged: return "converged";
    case Status::iteration_limit: return "iteration_limit";
    case Status::diverged: return "diverged";
    case Status::interrupted: return "interrupted";
    case Status::client_lost: return "client_lost";
    case Status::budget_spent: return "budget_spent";
    case Status::sums_limit: return "sums_limit";
  }
  return {};
}

/// All of them: enumerators count from 0, and the first number without a name is none.
template <class Choice>
[[nodiscard]] std::vector<Choice> all_choices() {
  std::vector<Choice> all;
  for (int k = 0; !name_of(static_cast<Choice>(k)).empty(); ++k) all.push_back(static_cast<Choice>(k));
  return all;
}

[[nodiscard]] inline std::string_view name_of(const KernelName& kernel) { return kernel.text(); }

template <class Choice>
[[nodiscard]] std::optional<Choice> choice_named(std::string_view wanted) {
  for (const Choice choice : all_choices<Choice>()) {
    if (wanted == name_of(choice)) return choice;
  }
  return std::nullopt;
}

/// "a, b or c", for messages.
[[nodiscard]] inline std::string alternatives(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k > 0) text += k + 1 == names.size() ? " or " : ", ";
    text += names[k];
  }
  return text;
}
template <class Choice>
[[nodiscard]] std::string alternatives() {
  std::vector<std::string_view> names;
  for (const Choice choice : all_choices<Choice>()) names.push_back(name_of(choice));
  return alternatives(names);
}

}  // namespace fedsinkhorn
