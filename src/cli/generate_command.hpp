// fedsinkhorn generate: synthetic problems on disk.
#pragma once

#include <CLI/CLI.hpp>

namespace fedsinkhorn {

/// Adds the subcommand; its callback does the work while the command line is parsed, prints what it wrote to standard
/// output, and throws InputError when it cannot. After a failure nothing that it created is left.
void add_generate_command(CLI::App& app);

}  // namespace fedsinkhorn
