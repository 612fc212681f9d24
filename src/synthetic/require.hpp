// What flags may ask for.
#pragma once

#include <string>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Throws InputError naming the flag, unless the condition holds.
inline void require(bool condition, const char* flag, const std::string& reason, const std::string& remedy) {
  if (!condition) throw InputError(flag, reason, remedy);
}

}  // namespace fedsinkhorn
