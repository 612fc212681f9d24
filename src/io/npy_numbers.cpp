#include "io/npy_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace fedsinkhorn {
namespace {

template <class T>
T number_at(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes{};
  std::copy_n(at, sizeof(T), bytes.begin());
  if (swapped) std::ranges::reverse(bytes);
  T number{};
  std::memcpy(&number, bytes.data(), sizeof(T));
  return number;
}

template <class T>
double float64_at(const std::byte* at, bool swapped) {
  return static_cast<double>(number_at<T>(at, swapped));
}

double boolean_at(const std::byte* at, bool /*swapped*/) { return *at == std::byte{0} ? 0 : 1; }

/// IEEE 754's binary16: a sign, 5 bits of exponent, 10 of the fraction.
double half_at(const std::byte* at, bool swapped) {
  const int bits = number_at<std::uint16_t>(at, swapped);
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  double size = std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 0) size = std::ldexp(fraction, -24);
  if (exponent == 31) size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
  return bits >> 15 == 0 ? size : -size;
}

using NumberReader = double (*)(const std::byte*, bool);

NumberReader reader_of(const NumberFormat& format) {
  const std::size_t bytes = format.bytes;
  switch (format.kind) {
    case 'b': return boolean_at;
    case 'i':
      if (bytes == 1) return float64_at<std::int8_t>;
      if (bytes == 2) return float64_at<std::int16_t>;
      return bytes == 4 ? float64_at<std::int32_t> : float64_at<std::int64_t>;
    case 'u':
      if (bytes == 1) return float64_at<std::uint8_t>;
      if (bytes == 2) return float64_at<std::uint16_t>;
      return bytes == 4 ? float64_at<std::uint32_t> : float64_at<std::uint64_t>;
    default:
      if (bytes == 2) return half_at;
      if (bytes == 4) return float64_at<float>;
      return bytes == 8 ? float64_at<double> : float64_at<long double>;
  }
}

}  // namespace

std::vector<double> converted_numbers(const NpyHeader& header, const std::byte* data) {
  constexpr std::size_t kAtOnce = 64;  // columns: of each a line of the cache is used again for the next rows
  const NumberReader read = reader_of(header.format);
  const std::size_t bytes = header.format.bytes;
  const bool swapped = header.format.is_big_endian;
  const std::size_t rows = header.shape.front();
  const std::size_t columns = header.shape.size() == 2 ? header.shape[1] : 1;
  std::vector<double> numbers(rows * columns);
  for (std::size_t first = 0; first < columns; first += kAtOnce) {
    const std::size_t last = std::min(columns, first + kAtOnce);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = first; j < last; ++j) {
        const std::size_t at = header.by_columns ? j * rows + i : i * columns + j;
        numbers[i * columns + j] = read(data + at * bytes, swapped);
      }
    }
  }
  return numbers;
}

}  // namespace fedsinkhorn
