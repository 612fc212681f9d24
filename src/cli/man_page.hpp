// The manual page, generated from the commands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fedsinkhorn {

/// In roff, for section 1.
[[nodiscard]] std::string man_page(const CLI::App& app);

}  // namespace fedsinkhorn
