#include "fedsinkhorn/version.hpp"

#include "build_info.hpp"

namespace fedsinkhorn {

std::string_view version() { return build_info::kVersion; }

}  // namespace fedsinkhorn
