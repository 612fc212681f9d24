// One function per subcommand. It adds the subcommand, whose callback does the work and throws InputError on failure.
// Subcommands with further exit statuses write theirs to `status`.
#pragma once

#include <CLI/CLI.hpp>

namespace fedsinkhorn {

void add_solve_command(CLI::App& app, int& status);
void add_generate_market_command(CLI::App& app);
void add_risk_command(CLI::App& app, int& status);
void add_report_command(CLI::App& app);
void add_demo_command(CLI::App& app, int& status);
void add_privacy_command(CLI::App& app);
void add_calibrate_profile_command(CLI::App& app);
void add_predict_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_info_command(CLI::App& app);
/// Call last: these describe all other commands.
void add_help_commands(CLI::App& app);

}  // namespace fedsinkhorn
