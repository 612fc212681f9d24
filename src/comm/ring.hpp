// Real numbers as integers modulo 2^128, so that their sums are exact, do not depend on the order of the terms, and can
// be masked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exact_sum.hpp"

namespace fedsinkhorn {

/// Adds and subtracts modulo 2^128.
__extension__ using Word = unsigned __int128;
__extension__ using SignedWord = __int128;

/// A number as `words` digits of 96 bits, the lowest first, in units of 2^unit. Every digit is a signed number in a
/// word of its own, so digits can be added without carries: of 2^12 numbers, as many as there may be clients.
struct FixedPoint {
  static constexpr int kDigit = 96;

  std::size_t words = 1;
  int unit = 0;
  int limit = 0;  ///< numbers must be smaller than 2^limit

  [[nodiscard]] bool holds(double x) const { return std::abs(x) < std::ldexp(1.0, limit); }
};

/// Shares of a total, and other numbers below 8.
inline constexpr FixedPoint kShare{1, -112, 3};
/// Errors, products of residuals, dual values.
inline constexpr FixedPoint kStatistic{6, -352, 224};
/// Every float64.
inline constexpr FixedPoint kAnyNumber{23, -1152, 1024};

/// Adds x to the number. What is below half a unit is lost. x must fit.
inline void add_to(const FixedPoint& format, double x, std::span<Word> number) {
  if (x == 0) return;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(x), &exponent);
  constexpr int kBits = 53;
  auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kBits));
  int position = exponent - kBits - format.unit;  // of its lowest bit
  if (position < 0) {
    if (position < -kBits) return;
    mantissa = (mantissa + (std::uint64_t{1} << (-position - 1))) >> -position;
    position = 0;
  }
  const std::size_t digit = std::min(static_cast<std::size_t>(position / FixedPoint::kDigit), number.size() - 1);
  const int shift = position - static_cast<int>(digit) * FixedPoint::kDigit;
  const bool is_negative = x < 0;
  const auto add = [is_negative](Word& word, Word value) { word = is_negative ? word - value : word + value; };
  const int room = FixedPoint::kDigit - shift;
  if (room >= kBits || digit + 1 == number.size()) {  // the last word has more room than 96 bits
    add(number[digit], Word{mantissa} << shift);
    return;
  }
  add(number[digit], Word{mantissa & ((std::uint64_t{1} << room) - 1)} << shift);
  add(number[digit + 1], mantissa >> room);
}

/// The number, to more than 100 bits.
[[nodiscard]] inline ExactSum number_of(const FixedPoint& format, std::span<const Word> number) {
  constexpr int kPart = 48;  // bits of a digit at a time: exact as a double
  ExactSum sum;
  for (std::size_t digit = number.size(); digit-- > 0;) {
    const auto value = static_cast<SignedWord>(number[digit]);
    const bool is_negative = value < 0;
    const Word magnitude = is_negative ? -number[digit] : number[digit];
    for (int part = 2; part >= 0; --part) {
      const auto bits = static_cast<std::uint64_t>((magnitude >> (part * kPart)) & ((Word{1} << kPart) - 1));
      if (bits == 0) continue;
      const int exponent = format.unit + static_cast<int>(digit) * FixedPoint::kDigit + part * kPart;
      const double x = std::ldexp(static_cast<double>(bits), exponent);
      sum.add(is_negative ? -x : x);
    }
  }
  return sum;
}

}  // namespace fedsinkhorn
