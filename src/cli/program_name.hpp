// What to type to call this program again.
#pragma once

#include <cerrno>  // declares program_invocation_name, a GNU extension
#include <string>

namespace fedsinkhorn {

[[nodiscard]] inline std::string program_name() { return program_invocation_name; }

}  // namespace fedsinkhorn
