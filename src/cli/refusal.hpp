// How a refusal is put: one line, whatever the message. All that goes to standard error but the progress line passes
// here.
#pragma once

#include <string>

#include "core/printable.hpp"

namespace fedsinkhorn {

[[nodiscard]] inline std::string refusal_line(const std::string& message) {
  return "fedsinkhorn: " + printable_line(message);
}

}  // namespace fedsinkhorn
