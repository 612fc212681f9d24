// Flags generated from the option table.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

/// Adds the flags of one --help group. arguments: receives the values; must not move.
void add_table_options(CLI::App& command, std::string_view group, SolveArguments& arguments);

/// Converts the arguments to option fields. Throws InputError.
[[nodiscard]] Options read_table_options(const SolveArguments& arguments);

}  // namespace fedsinkhorn
