// Shell completion, generated from the commands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fedsinkhorn {

/// A script for bash: source it, or install it as share/bash-completion/completions/fedsinkhorn.
[[nodiscard]] std::string bash_completion(const CLI::App& app);

}  // namespace fedsinkhorn
