// Words on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// An empty word is mostly a shell variable that was not set; it must not pass for an option left out.
[[nodiscard]] inline CLI::Validator not_empty() {
  return {[](const std::string& word) { return word.empty() ? "is empty; give a name" : ""; }, "", "not empty"};
}

/// For Option::each: notes that a flag was given, with its default value perhaps.
[[nodiscard]] inline std::function<void(std::string)> note_in(std::vector<std::string>& flags,
                                                              const std::string& flag) {
  return [&flags, flag](const std::string&) { flags.push_back(flag); };
}

}  // namespace fedsinkhorn
