// Flags made from the table of options.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

/// Those of one group of --help. arguments: where the words go; it must stay where it is.
void add_table_options(CLI::App& command, std::string_view group, SolveArguments& arguments);

/// The fields that these words mean. Throws InputError.
[[nodiscard]] Options read_table_options(const SolveArguments& arguments);

}  // namespace fedsinkhorn
