// Translates the library's field names to flags.
#pragma once

#include <string>
#include <vector>

namespace fedsinkhorn {

/// Replaces fields in backquotes by their flags. old_flags: old names used on the command line; these are kept.
[[nodiscard]] std::string with_flags(const std::string& line, const std::vector<std::string>& old_flags = {});

}  // namespace fedsinkhorn
