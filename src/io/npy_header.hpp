// The header of a .npy file, in NumPy's format versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn {

/// How a number is written, the 'descr' of a file.
struct NumberFormat {
  char kind = 'f';  ///< 'f', or 'i', 'u' and 'b': integers, unsigned ones, booleans
  std::size_t bytes = sizeof(double);
  bool is_big_endian = false;

  bool operator==(const NumberFormat&) const = default;
};

/// Describes the data of an accepted file: from data_offset to its end.
struct NpyHeader {
  NumberFormat format;
  bool by_columns = false;         ///< Fortran order; false if both are the same
  std::vector<std::size_t> shape;  ///< one or two dimensions; only the first may be zero
  std::size_t data_offset = 0;     ///< any number: unpadded files are legal
};

/// The most bytes parse_npy_header() reads. Longer headers describe structured types and are refused anyway.
inline constexpr std::size_t kNpyHeaderWindow = 12 + 65535;

/// Reads the header and checks that data_offset + product(shape) * element size is exactly file_size, without overflow.
/// file_start: the first min(file_size, kNpyHeaderWindow) bytes of the file; it may be longer.
/// name: of the file in messages, printable.
/// no_rows: whether the first dimension may be zero.
/// Throws InputError with one printable line. Memory stays within a few times the header's length.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> file_start, std::uint64_t file_size,
                                         const std::string& name, NoRows no_rows = NoRows::refused);

}  // namespace fedsinkhorn
