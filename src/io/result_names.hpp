// File names of results in an output folder.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

namespace fedsinkhorn {

/// If it exists, the set is complete.
inline constexpr std::string_view kSummaryName = "summary.json";

/// f-2.npy, summary-2.json.
[[nodiscard]] inline std::string name_of_client(std::string_view stem, std::size_t client, std::string_view ending) {
  return std::string(stem) + "-" + std::to_string(client) + std::string(ending);
}

/// Whether the clients of a folder share this file.
[[nodiscard]] constexpr bool is_shared_result(std::string_view name) {
  constexpr std::array<std::string_view, 15> names = {"f.npy",
                                                      "g.npy",
                                                      "f-rest.npy",
                                                      "g-rest.npy",
                                                      kSummaryName,
                                                      "plan.npy",
                                                      "trace.csv",
                                                      "delays.csv",
                                                      "plan-view.json",
                                                      "report.html",
                                                      "worst-case.npy",
                                                      "worst-case.csv",
                                                      "worst-case-radius.csv",
                                                      "worst-case-days.csv",
                                                      "worst-case.svg"};
  for (const std::string_view known : names) {
    if (name == known) return true;
  }
  return false;
}

/// Whether this file belongs to one client: a name that name_of_client may have returned.
[[nodiscard]] inline bool is_client_result(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kinds = {
      {{"f-", ".npy"}, {"f-rest-", ".npy"}, {"plan-", ".npy"}, {"summary-", ".json"}, {"worst-case-days-", ".csv"}}};
  for (const auto& [start, ending] : kinds) {
    if (!name.starts_with(start) || !name.ends_with(ending) || name.size() <= start.size() + ending.size()) continue;
    const std::string_view number = name.substr(start.size(), name.size() - start.size() - ending.size());
    std::size_t client = 0;
    const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), client);
    if (wrong == std::errc() && std::to_string(client) == number) return true;
  }
  return false;
}

}  // namespace fedsinkhorn
