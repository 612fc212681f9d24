// NumPy's .npy files: reading through a memory map, writing atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "fedsinkhorn/matrix.hpp"

namespace fedsinkhorn {

/// Whether an array without rows is accepted: it may be one client's part, but not a whole problem.
enum class NoRows { refused, allowed };

/// by_rows: Fortran order is turned into C order. as_stored: float64 and float32 stay in the order of the file.
enum class Order { by_rows, as_stored };

/// A .npy file of numbers: format versions 1 to 3, one or two dimensions. Float64 and float32, little-endian, in C
/// order (or as stored) are mapped into memory: opening reads only the header, pages of data are read when they are
/// touched. Other types of real numbers (half, long double, integers, booleans), orders and alignments are converted to
/// float64 when the file is opened, which takes memory. Movable; views are valid as long as the object lives.
class NpyFile {
 public:
  /// Throws InputError naming the path if the file is missing, truncated, not a .npy file, of another type or rank, or
  /// if there is not enough memory to convert it.
  static NpyFile open(const std::filesystem::path& path, NoRows no_rows = NoRows::refused,
                      Order order = Order::by_rows);

  NpyFile(NpyFile&&) noexcept;
  NpyFile& operator=(NpyFile&&) noexcept;
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;
  ~NpyFile();

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] std::span<const std::size_t> shape() const;
  /// Whether the file has numbers of float32, converted or not.
  [[nodiscard]] bool is_float32() const;
  /// Whether matrix() is the transpose of the array: only with Order::as_stored.
  [[nodiscard]] bool is_by_columns() const;
  /// Memory of converted numbers; 0 if the file is mapped.
  [[nodiscard]] std::size_t converted_bytes() const;

  /// The whole array; a one-dimensional array is a single column.
  [[nodiscard]] AnyMatrix matrix() const;
  /// Rows [first, first + count) of matrix(), without touching the rest of the file.
  [[nodiscard]] AnyMatrix rows(std::size_t first, std::size_t count) const;
  /// Tells that these rows will not be read again soon, so that their pages can be released. Views stay valid.
  void release_rows(std::size_t first, std::size_t count) const;
  /// All values of matrix() converted to float64.
  [[nodiscard]] std::vector<double> to_vector() const;

 private:
  struct State;
  explicit NpyFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a C-order float64 .npy file piece by piece, under a temporary name in the same folder. finish() renames it to
/// its final name; without finish() nothing is left behind.
class NpyWriter {
 public:
  /// shape: one to three dimensions. Throws InputError naming the path when it cannot be written.
  NpyWriter(const std::filesystem::path& path, std::span<const std::size_t> shape);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  void append(std::span<const double> values);
  /// Throws std::logic_error unless exactly as many values were appended as the shape has.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a whole vector or matrix atomically.
void write_npy(const std::filesystem::path& path, std::span<const double> values, std::span<const std::size_t> shape);

}  // namespace fedsinkhorn
