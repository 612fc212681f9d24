// The library speaks of fields, the command line of flags.
#pragma once

#include <string>
#include <vector>

namespace fedsinkhorn {

/// A line in which fields stand in backquotes, with the flags instead. old_flags: those given by an older name, which
/// are called by it.
[[nodiscard]] std::string with_flags(const std::string& line, const std::vector<std::string>& old_flags = {});

}  // namespace fedsinkhorn
