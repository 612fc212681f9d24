// Tables of numbers in CSV files: a header row of column names, perhaps a first column of labels (dates), then numbers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn {

/// Read by libcsv: quoted fields, doubled quotes, line breaks in quotes, LF or CRLF. A byte order mark, blanks around
/// fields and empty lines are skipped. Numbers are finite decimals with a point (+1.5, -2e-3), in any locale; missing
/// values are not accepted.
///
/// The first row is the header unless all of its fields are numbers: a row of a date and numbers at the top of a file
/// is a header.
/// The first of several columns has labels if its field in the first row below the header is not a number (a date, a
/// name), or if the header gives it no name, as pandas writes an index. Then every field of it is taken as text, and
/// its name is not among `columns`. Without rows labels cannot be told from numbers: `columns` then has all names.
struct CsvTable {
  std::vector<std::string> columns;  ///< their names, all different; empty: there was no header
  std::vector<std::string> labels;   ///< one per row; empty: there are none
  std::vector<double> values;        ///< rows x width, row by row
  std::size_t rows = 0;
  std::size_t width = 0;
  std::vector<std::size_t> lines;  ///< the line each row begins on, counted from 1
};

/// Whether inf and -inf are numbers.
enum class Infinity { refused, allowed };

/// Throws InputError naming the file, and for a bad field its line and column (by name where there is a header).
/// no_rows: whether a header alone is accepted; an empty file never is.
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path, NoRows no_rows = NoRows::refused,
                                Infinity infinity = Infinity::refused);

/// The same for the content of a file; `name` is for messages.
[[nodiscard]] CsvTable parse_csv(std::string_view content, const std::string& name, NoRows no_rows = NoRows::refused,
                                 Infinity infinity = Infinity::refused);

}  // namespace fedsinkhorn
