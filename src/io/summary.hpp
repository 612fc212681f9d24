// summary.json, trace.csv and delays.csv.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// The text of summary.json: numbers with all digits, two-space indentation, a final newline.
[[nodiscard]] std::string summary_json(const Result& result, const Options& options, double epsilon);

/// The text of trace.csv, with a header line.
[[nodiscard]] std::string trace_csv(std::span<const TraceRow> trace);

/// The text of delays.csv: one line per ordered pair of clients and kind of slice. The histogram lists age:uses for the
/// ages that occurred.
[[nodiscard]] std::string delays_csv(std::span<const DelayRow> delays);

}  // namespace fedsinkhorn
