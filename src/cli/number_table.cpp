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

}  // namespace

bool is_table_name(const std::string& path) { return is_npy(path) || is_csv(path); }

NumberTable::NumberTable(const std::string& path, NoRows no_rows) : name_(display_name(path)) {
  if (is_npy(path)) {
    npy_ = NpyFile::open(path, no_rows);
  } else if (is_csv(path)) {
    csv_ = read_csv(path, no_rows);
  } else {
    throw InputError(name_, "is neither a .csv nor a .npy file", "give one of them");
  }
}

AnyMatrix NumberTable::matrix() const {
  if (npy_) return npy_->matrix();
  return MatrixView<double>{csv_.values.data(), csv_.rows, csv_.width};
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

void check_same_columns(const NumberTable& one, const NumberTable& other) {
  const std::vector<std::string>& mine = assets_of(one);
  const std::vector<std::string>& theirs = assets_of(other);
  if (mine.empty() || theirs.empty() || rows_of(one.matrix()) == 0 || rows_of(other.matrix()) == 0) return;
  if (mine.size() != theirs.size()) {
    throw InputError(one.name(), fmt::format("has {} assets", mine.size()),
                     fmt::format("{} has {}", other.name(), theirs.size()));
  }
  for (std::size_t k = 0; k < mine.size(); ++k) {
    if (mine[k] == theirs[k]) continue;
    throw InputError(one.name(), fmt::format("asset {} is '{}'", k + 1, printable_word(mine[k])),
                     fmt::format("in {} it is '{}': give the same assets in the same order", other.name(),
                                 printable_word(theirs[k])));
  }
}

}  // namespace fedsinkhorn
