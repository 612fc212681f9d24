#include "cli/number_table.hpp"

#include <fmt/format.h>

#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {
namespace {

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }
bool is_csv(const std::string& path) { return path.ends_with(".csv"); }

/// What its numbers belong to: names of columns, or labels if every row has one number.
const std::vector<std::string>& assets_of(const NumberTable& table) {
  return columns_of(table.matrix()) == 1 && !table.labels().empty() ? table.labels() : table.columns();
}

/// what: is named.
void check_same_names(const NumberTable& one, const std::vector<std::string>& mine, const NumberTable& other,
                      const std::vector<std::string>& theirs, const char* what) {
  if (mine.empty() || theirs.empty()) return;
  if (mine.size() != theirs.size()) {
    throw InputError(one.name(), fmt::format("has {} {}s", mine.size(), what),
                     fmt::format("{} has {}", other.name(), theirs.size()));
  }
  for (std::size_t k = 0; k < mine.size(); ++k) {
    if (mine[k] == theirs[k]) continue;
    throw InputError(one.name(), fmt::format("{} {} is '{}'", what, k + 1, printable_word(mine[k])),
                     fmt::format("in {} it is '{}': give the same {}s in the same order", other.name(),
                                 printable_word(theirs[k]), what));
  }
}

}  // namespace

bool is_table_name(const std::string& path) { return is_npy(path) || is_csv(path); }

NumberTable::NumberTable(const std::string& path, const TableUse& use) : name_(display_name(path)) {
  if (is_csv(path)) {
    csv_ = read_csv(path, use.no_rows, use.infinity);
  } else if (use.takes_any_name || is_npy(path)) {
    npy_ = NpyFile::open(path, use.no_rows, use.order);
  } else {
    throw InputError(name_, "is neither a .csv nor a .npy file", "give one of them");
  }
}

AnyMatrix NumberTable::matrix() const {
  if (npy_) return npy_->matrix();
  return MatrixView<double>{csv_.values.data(), csv_.rows, csv_.width};
}

std::size_t NumberTable::held_bytes() const {
  if (!npy_) return csv_.values.size() * sizeof(double);
  if (!is_by_columns()) return npy_->converted_bytes();
  return rows_of(matrix()) * columns_of(matrix()) * (is_float32() ? sizeof(float) : sizeof(double));
}

std::vector<double> NumberTable::values() const { return npy_ ? npy_->to_vector() : csv_.values; }

std::vector<double> NumberTable::vector() const {
  const std::size_t rows = rows_of(matrix());
  const std::size_t columns = columns_of(matrix());
  if (rows > 1 && columns > 1) {
    throw InputError(name_, fmt::format("has {} rows and {} columns", rows, columns), "give a single row or column");
  }
  return values();
}

void check_same_assets(const NumberTable& one, const NumberTable& other) {
  if (rows_of(one.matrix()) == 0 || rows_of(other.matrix()) == 0) return;
  check_same_names(one, assets_of(one), other, assets_of(other), "asset");
}

void check_same_coordinates(const NumberTable& one, const NumberTable& other) {
  check_same_names(one, one.columns(), other, other.columns(), "coordinate");
}

}  // namespace fedsinkhorn
