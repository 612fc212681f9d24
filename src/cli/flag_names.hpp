// Translates the library's field names to flags.
#pragma once

#include <string>
#include <vector>

namespace fedsinkhorn {

/// Replaces fields in backquotes by their flags.
[[nodiscard]] std::string with_flags(const std::string& line);

}  // namespace fedsinkhorn
