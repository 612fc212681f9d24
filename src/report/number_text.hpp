// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// "12,345".
[[nodiscard]] std::string count_text(std::uint64_t count);
/// Small and large ones as m x 10^e; "not known" for NaN.
[[nodiscard]] std::string number_text(double value, int digits = 6);
/// "1.24 ms", "3.5 s", "2 min 5 s".
[[nodiscard]] std::string seconds_text(double seconds);

[[nodiscard]] inline Cell number_cell(double value) { return {number_text(value), true}; }
[[nodiscard]] inline Cell count_cell(std::uint64_t value) { return {count_text(value), true}; }
[[nodiscard]] inline Cell seconds_cell(double value) { return {seconds_text(value), true}; }
[[nodiscard]] Cell bytes_cell(std::uint64_t bytes);

/// For specs of charts: JSON has no NaN.
[[nodiscard]] Json number_or_null(double value);

}  // namespace fedsinkhorn::report
