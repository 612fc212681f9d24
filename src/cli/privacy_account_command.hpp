// fedsinkhorn privacy account, calibrate: what Gaussian noise guarantees, and how much of it a budget asks for.
#pragma once

#include <CLI/CLI.hpp>

namespace fedsinkhorn {

// Each adds a command to `privacy`. Its callback prints to standard output and throws InputError on failure.

void add_account_command(CLI::App& privacy);
void add_calibrate_command(CLI::App& privacy);

}  // namespace fedsinkhorn
