// One function per subcommand. Each adds itself to the command line; its callback does the work and throws InputError
// when it cannot. Those that end in more ways than well or badly write the exit status to `status`.
#pragma once

#include <CLI/CLI.hpp>

namespace fedsinkhorn {

void add_solve_command(CLI::App& app, int& status);
void add_demo_command(CLI::App& app, int& status);
void add_info_command(CLI::App& app);
/// After all others, which they tell about.
void add_help_commands(CLI::App& app);

}  // namespace fedsinkhorn
