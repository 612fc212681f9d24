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

/// Whether an array without rows will do: as one client's part, but not as a whole.
enum class NoRows { refused, allowed };

/// A .npy file mapped into memory: format versions 1 to 3, float64 or float32, little-endian, C order, one or two
/// dimensions. Opening reads the header alone; pages of data are read when they are touched.
/// Movable; views handed out live as long as the object.
class NpyFile {
 public:
  /// Throws InputError naming the path: missing, not a .npy file, truncated, another type, order or rank.
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
  /// These rows will not be read again soon: their pages need not stay in this process. Views stay valid.
  void release_rows(std::size_t first, std::size_t count) const;
  /// All values converted to float64.
  [[nodiscard]] std::vector<double> to_vector() const;

 private:
  struct State;
  explicit NpyFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Writes a C-order float64 .npy file row block by row block, under a temporary name in the same folder that takes the
/// final name in finish(). Without finish() nothing is left behind.
class NpyWriter {
 public:
  /// shape: one to three dimensions. Throws InputError naming the path when it cannot be written.
  NpyWriter(const std::filesystem::path& path, std::span<const std::size_t> shape);
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  void append(std::span<const double> values);
  /// Throws std::logic_error unless exactly the promised number of values was appended.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a vector or matrix in one go, atomically.
void write_npy(const std::filesystem::path& path, std::span<const double> values, std::span<const std::size_t> shape);

}  // namespace fedsinkhorn
