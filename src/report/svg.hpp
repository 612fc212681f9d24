// What our pictures have in common.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

namespace fedsinkhorn::svg {

inline constexpr const char* kInk = "#1f2430";
inline constexpr const char* kMuted = "#667085";
inline constexpr const char* kLine = "#e4e7ec";

using Out = std::back_insert_iterator<std::string>;

[[nodiscard]] inline std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default:
        // XML 1.0 cannot represent the other control characters.
        if (static_cast<unsigned char>(c) >= 0x20) result += c;
    }
  }
  return result;
}

/// A power of ten, with the exponent in superscript characters.
[[nodiscard]] inline std::string power_of_ten(int exponent) {
  constexpr std::array<const char*, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[static_cast<std::size_t>(digit - '0')];
  return text;
}

/// Three digits; small and large numbers as m x 10^e.
[[nodiscard]] inline std::string scientific(double value) {
  if (value == 0 || !std::isfinite(value) || (std::abs(value) >= 1e-3 && std::abs(value) < 1e5)) {
    return fmt::format("{:.3g}", value);
  }
  const std::string text = fmt::format("{:.2e}", value);
  const std::size_t e = text.find('e');
  std::string mantissa = text.substr(0, e);
  while (mantissa.back() == '0') mantissa.pop_back();
  if (mantissa.back() == '.') mantissa.pop_back();
  const std::string power = power_of_ten(std::stoi(text.substr(e + 1)));
  return mantissa == "1" ? power : mantissa + " × " + power;
}

/// Characters of a UTF-8 text.
[[nodiscard]] inline double length_of(std::string_view text) {
  return static_cast<double>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace fedsinkhorn::svg
