// The manual page, made from the commands and options themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace fedsinkhorn {

/// In roff, for section 1.
[[nodiscard]] std::string man_page(const CLI::App& app);

}  // namespace fedsinkhorn
