// Words on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// An empty word is usually an unset shell variable; it must not be treated like a missing option.
[[nodiscard]] inline CLI::Validator not_empty() {
  return {[](const std::string& word) { return word.empty() ? "is empty; give a name" : ""; }, "", "not empty"};
}

/// For Option::each: records that a flag was given, even with its default value.
[[nodiscard]] inline std::function<void(std::string)> note_in(std::vector<std::string>& flags,
                                                              const std::string& flag) {
  return [&flags, flag](const std::string&) { flags.push_back(flag); };
}

}  // namespace fedsinkhorn
