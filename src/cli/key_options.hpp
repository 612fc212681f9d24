// Options for keys by which clients recognise each other.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/solve_arguments.hpp"

namespace fedsinkhorn {

void add_key_options(CLI::App& command, SolveArguments& arguments);

}  // namespace fedsinkhorn
