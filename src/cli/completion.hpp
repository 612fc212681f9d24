// Completion of command lines by the shell, made from the commands and options themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fedsinkhorn {

/// A script for bash: source it, or install it as share/bash-completion/completions/fedsinkhorn.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

}  // namespace fedsinkhorn
