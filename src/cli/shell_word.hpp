// Words in command lines that we print for people to copy.
#pragma once

#include <string>
#include <string_view>

#include "core/printable.hpp"

namespace fedsinkhorn {

/// The word as a shell must see it: as it is, quoted, or, with characters that are not plain text, as bash's $'...'.
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
