// Exit statuses; part of the command-line contract.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

inline constexpr int kConverged = 0;
inline constexpr int kInternalError = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kNotConverged = 3;
inline constexpr int kClientLost = 4;
inline constexpr int kInterrupted = 130;

/// For --help and the manual page.
inline constexpr std::array<std::pair<int, std::string_view>, 6> kExitStatuses = {{
    {kConverged, "converged, or a private run that has made its releases"},
    {kInternalError, "an internal error: a bug, please report it"},
    {kBadInput, "bad input or usage (nothing written)"},
    {kNotConverged, "stopped without converging (results written)"},
    {kClientLost, "a client was lost or timed out (async: results so far written, if there are any)"},
    {kInterrupted, "interrupted (results so far written)"},
}};

[[nodiscard]] inline std::string exit_status_text() {
  std::string text = "Exit status:";
  for (const auto& [code, meaning] : kExitStatuses) {
    const std::string number = std::to_string(code);
    text += "\n" + std::string(5 - number.size(), ' ') + number + "  " + std::string(meaning);
  }
  return text;
}

[[nodiscard]] constexpr int exit_status(Status status) {
  switch (status) {
    case Status::converged:
    case Status::budget_spent: return kConverged;  // as many releases as were asked for
    case Status::interrupted: return kInterrupted;
    case Status::client_lost: return kClientLost;
    case Status::iteration_limit:
    case Status::sums_limit:
    case Status::diverged: break;
  }
  return kNotConverged;
}

}  // namespace fedsinkhorn
