// Names of the choices, as the command line takes them and the summary prints them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

template <class Choice>
struct Names;

template <>
struct Names<Metric> {
  static constexpr std::array kList = {std::pair{Metric::sqeuclidean, "sqeuclidean"},
                                       std::pair{Metric::euclidean, "euclidean"}, std::pair{Metric::cosine, "cosine"}};
};
template <>
struct Names<Norm> {
  static constexpr std::array kList = {std::pair{Norm::l1, "l1"}, std::pair{Norm::l2, "l2"},
                                       std::pair{Norm::linf, "linf"}};
};
template <>
struct Names<Precision> {
  static constexpr std::array kList = {
      std::pair{Precision::float64, "float64"},   std::pair{Precision::float32, "float32"},
      std::pair{Precision::mixed, "mixed"},       std::pair{Precision::digits50, "50"},
      std::pair{Precision::bfloat16, "bfloat16"}, std::pair{Precision::tf32, "tf32"}};
};
template <>
struct Names<Passes> {
  static constexpr std::array kList = {std::pair{Passes::fused, "fused"}, std::pair{Passes::two, "two"}};
};
template <>
struct Names<Stabilization> {
  static constexpr std::array kList = {std::pair{Stabilization::absorption, "absorption"},
                                       std::pair{Stabilization::log, "log"}};
};
template <>
struct Names<Feasibility> {
  static constexpr std::array kList = {std::pair{Feasibility::check, "check"}, std::pair{Feasibility::skip, "skip"}};
};
template <>
struct Names<Status> {
  static constexpr std::array kList = {
      std::pair{Status::converged, "converged"}, std::pair{Status::iteration_limit, "iteration_limit"},
      std::pair{Status::diverged, "diverged"}, std::pair{Status::interrupted, "interrupted"},
      std::pair{Status::client_lost, "client_lost"}};
};
template <>
struct Names<DampingKind> {
  static constexpr std::array kList = {std::pair{DampingKind::arithmetic, "arithmetic"},
                                       std::pair{DampingKind::geometric, "geometric"}};
};

template <class Choice>
[[nodiscard]] constexpr std::string_view name_of(Choice choice) {
  for (const auto& [value, name] : Names<Choice>::kList) {
    if (value == choice) return name;
  }
  return "?";
}

[[nodiscard]] inline std::string_view name_of(const KernelName& kernel) { return kernel.text(); }

template <class Choice>
[[nodiscard]] constexpr std::optional<Choice> choice_named(std::string_view wanted) {
  for (const auto& [value, name] : Names<Choice>::kList) {
    if (wanted == name) return value;
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
  for (const auto& [value, name] : Names<Choice>::kList) names.emplace_back(name);
  return alternatives(names);
}

}  // namespace fedsinkhorn
