// Words in printed command lines that users may copy.
#pragma once

#include <string>
#include <string_view>

#include "core/printable.hpp"

namespace fedsinkhorn {

/// The word for a shell: unchanged, quoted, or, if it has unprintable characters, as bash's $'...'.
[[nodiscard]] inline std::string shell_word(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-=,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  const bool is_text = escaped(word) == word;
  std::string quoted = is_text ? "'" : "$'";
  for (const char c : word) {
    if (is_text) {
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    } else {
      quoted += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
  }
  return (is_text ? quoted : escaped(quoted)) + "'";
}

}  // namespace fedsinkhorn
