// How a refusal is put: one line, whatever the message.
#pragma once

#include <algorithm>
#include <string>

namespace fedsinkhorn {

[[nodiscard]] inline std::string refusal_line(const std::string& message) {
  std::string line = message.substr(0, message.find_last_not_of(" \n") + 1);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return "fedsinkhorn: " + line;
}

}  // namespace fedsinkhorn
