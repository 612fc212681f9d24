// fedsinkhorn generate: synthetic problems on disk.
#pragma once

#include <CLI/CLI.hpp>

namespace fedsinkhorn {

/// Adds the subcommand. Its callback runs while the command line is parsed, prints what it wrote to standard output,
/// and throws InputError on failure, after removing everything it created.
void add_generate_command(CLI::App& app);

}  // namespace fedsinkhorn
