// Numbers from a file, .csv or .npy.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fedsinkhorn/matrix.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/csv_table.hpp"

namespace fedsinkhorn {

/// Whether the name ends like that of a file this can read.
[[nodiscard]] bool is_table_name(const std::string& path);

/// What is accepted.
struct TableUse {
  NoRows no_rows = NoRows::refused;
  Order order = Order::by_rows;
  Infinity infinity = Infinity::refused;  ///< of CSV; .npy files have what they have
  bool takes_any_name = false;            ///< what is not named .csv is a .npy file
};

/// Movable; views are valid as long as the object lives.
class NumberTable {
 public:
  /// Throws InputError naming the file.
  explicit NumberTable(const std::string& path, const TableUse& use);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// A vector is a single column. As it is stored: see is_by_columns().
  [[nodiscard]] AnyMatrix matrix() const;
  [[nodiscard]] bool is_by_columns() const { return npy_ && npy_->is_by_columns(); }
  [[nodiscard]] bool is_vector() const { return npy_ && npy_->shape().size() == 1; }
  /// Whether its numbers are of float32: their sums agree to fewer digits.
  [[nodiscard]] bool is_float32() const { return npy_ && npy_->is_float32(); }
  /// Memory of numbers that are not mapped, or whose pages stay: columns are never done with before the end.
  [[nodiscard]] std::size_t held_bytes() const;
  /// Tells that these rows will not be read again soon.
  void release_rows(std::size_t first, std::size_t count) const {
    if (npy_) npy_->release_rows(first, count);
  }
  /// A single row or column of numbers. Throws InputError if there are several of both.
  [[nodiscard]] std::vector<double> vector() const;
  /// A matrix as float64.
  [[nodiscard]] std::vector<double> values() const;
  /// Names of columns and rows; empty: there are none.
  [[nodiscard]] const std::vector<std::string>& columns() const { return csv_.columns; }
  [[nodiscard]] const std::vector<std::string>& labels() const { return csv_.labels; }

 private:
  std::string name_;
  std::optional<NpyFile> npy_;
  CsvTable csv_;
};

/// Throws InputError if both have names of columns (or, for a single column of numbers, labels) and they differ.
void check_same_assets(const NumberTable& one, const NumberTable& other);
/// Throws InputError if both have names of columns and they differ.
void check_same_coordinates(const NumberTable& one, const NumberTable& other);

}  // namespace fedsinkhorn
