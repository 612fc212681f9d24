// Formats an error as one line, whatever the message. Everything on standard error except the progress line uses this.
#pragma once

#include <string>

#include "core/printable.hpp"

namespace fedsinkhorn {

[[nodiscard]] inline std::string refusal_line(const std::string& message) {
  return "fedsinkhorn: " + printable_line(message);
}

}  // namespace fedsinkhorn
