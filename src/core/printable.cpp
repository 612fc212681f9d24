#include "core/printable.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fedsinkhorn {
namespace {

/// The first character of a text. length 0: invalid UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};

// Overlong forms, surrogates and codes above 10FFFF are invalid too.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (byte(k) & 0x3fU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

/// False for control characters, line separators, and characters that change the writing direction or have no width.
bool is_plain(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  const bool formats = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                       (code >= 0x2060 && code <= 0x206f) || code == 0x61c || code == 0xfeff;
  return !formats;
}

std::string escape_of(Character character, char first_byte) {
  if (character.length == 0) return fmt::format("\\x{:02x}", static_cast<unsigned char>(first_byte));
  switch (character.code) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  const auto code = static_cast<std::uint32_t>(character.code);
  return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    const std::size_t length = std::max<std::size_t>(1, character.length);
    if (character.length > 0 && is_plain(character.code)) {
      result += text.substr(0, length);
    } else {
      result += escape_of(character, text.front());
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view dots = "...";
  const auto characters =
      static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
  if (characters <= most) return std::string(text);
  const std::size_t kept = most > dots.size() ? most - dots.size() : 0;
  std::size_t head = 0;
  for (std::size_t left = (kept + 1) / 2; left > 0; --left) {
    do ++head;
    while (continues_character(text[head]));
  }
  std::size_t tail = text.size();
  for (std::size_t left = kept / 2; left > 0; --left) {
    do --tail;
    while (continues_character(text[tail]));
  }
  return std::string(text.substr(0, head)) + std::string(dots.substr(0, most)) + std::string(text.substr(tail));
}

std::string printable_word(std::string_view word) { return shortened(escaped(word), kLongestWord); }

std::string printable_line(std::string_view line) {
  line = line.substr(0, line.find_last_not_of(" \n") + 1);
  std::string result;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    result += printable_word(line.substr(0, end));
    const std::size_t next = std::min(line.find_first_not_of(' ', end), line.size());
    result.append(next - end, ' ');
    line.remove_prefix(next);
  }
  return shortened(result, kLongestLine);
}

std::string grouped(std::string digits) {
  for (std::size_t k = digits.size(); k > 3; k -= 3) digits.insert(k - 3, ",");
  return digits;
}

}  // namespace fedsinkhorn
