#pragma once

#include <string_view>

namespace fedsinkhorn {

/// "major.minor.patch"
[[nodiscard]] std::string_view version();

}  // namespace fedsinkhorn
