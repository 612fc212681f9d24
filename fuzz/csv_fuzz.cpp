// libFuzzer target for CSV tables.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fedsinkhorn/error.hpp"
#include "io/csv_table.hpp"

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

/// A refusal is one short line that names the file; an accepted table is consistent.
void check(std::string_view content, fedsinkhorn::NoRows no_rows) {
  fedsinkhorn::CsvTable table;
  try {
    table = fedsinkhorn::parse_csv(content, "fuzz.csv", no_rows);
  } catch (const fedsinkhorn::InputError& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzz.csv: ") && message.size() < 600);
    require(std::none_of(message.begin(), message.end(), [](char c) { return c >= 0 && c < ' '; }));
    return;
  }
  require(table.width > 0 && (table.rows > 0 || no_rows == fedsinkhorn::NoRows::allowed));
  require(table.values.size() == table.rows * table.width && table.lines.size() == table.rows);
  require(table.columns.empty() || table.columns.size() == table.width);
  require(table.labels.empty() || table.labels.size() == table.rows);
  require(std::is_sorted(table.lines.begin(), table.lines.end()));
  require(std::all_of(table.values.begin(), table.values.end(), [](double value) { return std::isfinite(value); }));
}

}  // namespace

// libFuzzer looks the function up by this name.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {  // NOLINT(readability-identifier-naming)
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  check(content, fedsinkhorn::NoRows::refused);
  check(content, fedsinkhorn::NoRows::allowed);
  return 0;
}
