// What the operating system refused to do with a file.
#pragma once

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// Throws InputError. done: "read", "opened", ...; error: errno.
[[noreturn]] inline void cannot_be(const std::string& name, const char* done, int error) {
  throw InputError(name, fmt::format("cannot be {}: {}", done, std::generic_category().message(error)));
}

}  // namespace fedsinkhorn
