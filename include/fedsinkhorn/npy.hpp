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

/// A .npy file mapped into memory: format versions 1 to 3, float64 or float32, little-endian, C order, one or two
/// dimensions. Opening reads only the header; pages of data are read when they are touched.
/// Movable; views are valid as long as the object lives.
class NpyFile {
 public:
  /// Throws InputError naming the path if the file is missing, truncated, not a .npy file, or of another type, order or
  /// rank.
  static NpyFile open(const std::filesystem::path& path, NoRows no_rows = NoRows::refused);

  NpyFile(NpyFile&&) noexcept;
  NpyFile& operator=(NpyFile&&) noexcept;
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;
  ~NpyFile();

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] std::span<const std::size_t> shape() const;
  [[nodiscard]] bool is_float32() const;

  /// The whole array; a one-dimensional array is a single column.
  [[nodiscard]] AnyMatrix matrix() const;
  /// Rows [first, first + count), without touching the rest of the file.
  [[nodiscard]] AnyMatrix rows(std::size_t first, std::size_t count) const;
  /// Tells that these rows will not be read again soon, so that their pages can be released. Views stay valid.
  void release_rows(std::size_t first, std::size_t count) const;
  /// All values converted to float64.
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
