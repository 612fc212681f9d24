// The entries of the option table, by subject. option_table.cpp puts them in the order of --help.
#pragma once

#include <vector>

#include "options/option_table.hpp"

namespace fedsinkhorn {

inline constexpr OptionRange kOneOrMore{.least = 1, .wrong = "must be at least 1"};
inline constexpr double kMostClients = 4096;

// solve_options.cpp
[[nodiscard]] std::vector<OptionEntry> problem_options();
[[nodiscard]] std::vector<OptionEntry> stopping_options();
[[nodiscard]] std::vector<OptionEntry> arithmetic_options();
[[nodiscard]] std::vector<OptionEntry> machinery_options();
[[nodiscard]] std::vector<OptionEntry> client_options();
[[nodiscard]] std::vector<OptionEntry> policy_options();
[[nodiscard]] std::vector<OptionEntry> asynchronous_options();
[[nodiscard]] std::vector<OptionEntry> output_options();

// private_options.cpp
[[nodiscard]] std::vector<OptionEntry> noise_options();
[[nodiscard]] std::vector<OptionEntry> marginal_options();
[[nodiscard]] std::vector<OptionEntry> clip_options();

}  // namespace fedsinkhorn
