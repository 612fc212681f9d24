// Text from outside (file names, JSON, other clients) on its way to a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fedsinkhorn {

/// Longest word and longest line shown, in characters.
inline constexpr std::size_t kLongestWord = 400;
inline constexpr std::size_t kLongestLine = 1000;

/// The text with everything escaped that is not plain text: control characters (\n, \t, \x1b), invalid UTF-8 (\xff),
/// and characters that reorder or hide others (\u202e). Nothing in the result moves the cursor or breaks the line.
[[nodiscard]] std::string escaped(std::string_view text);

/// At most `most` characters (code points of valid UTF-8); in a longer text "..." replaces the middle.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

/// A name, escaped and shortened.
[[nodiscard]] std::string printable_word(std::string_view word);

/// A line of words, escaped and shortened: first long words, to keep the rest of the line, then the line itself.
/// Trailing blanks and line breaks are dropped.
[[nodiscard]] std::string printable_line(std::string_view line);

/// "12345" as "12,345".
[[nodiscard]] std::string grouped(std::string digits);
[[nodiscard]] inline std::string grouped(std::uint64_t number) { return grouped(std::to_string(number)); }

}  // namespace fedsinkhorn
