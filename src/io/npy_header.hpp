// The header of a .npy file: what NumPy's format versions 1.0, 2.0 and 3.0 put before the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn {

/// What the data of an accepted file are: little-endian float64 or float32 in C order, from data_offset to the end.
struct NpyHeader {
  bool is_float32 = false;
  std::vector<std::size_t> shape;  ///< one or two dimensions, none of them zero but perhaps the first
  std::size_t data_offset = 0;     ///< may be any number: files that are not padded are legal
};

/// The most bytes parse_npy_header() looks at. Longer headers describe structured types and are refused anyway.
inline constexpr std::size_t kNpyHeaderWindow = 12 + 65535;

/// Reads the header and holds it against the size of the file: data_offset + product(shape) * size of an element is
/// file_size exactly, with no overflow on the way.
/// file_start: the first min(file_size, kNpyHeaderWindow) bytes of the file; it may be longer.
/// name: what messages call the file, printable.
/// no_rows: whether the first dimension may be zero.
/// Throws InputError with one printable line. Memory stays within a few times the header's length.
[[nodiscard]] NpyHeader parse_npy_header(std::span<const std::byte> file_start, std::uint64_t file_size,
                                         const std::string& name, NoRows no_rows = NoRows::refused);

}  // namespace fedsinkhorn
