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

/// Movable; views are valid as long as the object lives.
class NumberTable {
 public:
  /// Throws InputError naming the file.
  explicit NumberTable(const std::string& path, NoRows no_rows = NoRows::refused);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] AnyMatrix matrix() const;
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
void check_same_columns(const NumberTable& one, const NumberTable& other);

}  // namespace fedsinkhorn
