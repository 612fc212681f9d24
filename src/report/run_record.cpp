#include "report/run_record.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/printable.hpp"

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

constexpr int kSummaryVersion = 1;
/// A report with more points than this would be large, and its lines no better to see.
constexpr std::size_t kMostPoints = 2000;

RunKind kind_of(const Json& summary) {
  if (!summary.is_object()) throw RecordError("summary.json: not an object");
  if (has(summary, "formulation") && has(summary, "worst_case_loss")) return RunKind::risk;
  if (!has(summary, "schema_version"))
    throw RecordError("summary.json: not written by fedsinkhorn (no schema_version)");
  if (const auto version = count(summary, "schema_version"); version != kSummaryVersion) {
    throw RecordError(
        fmt::format("summary.json: version {}, but this program reads version {}", version, kSummaryVersion));
  }
  return RunKind::solve;
}

/// Every how many rows are kept, the last one always.
std::size_t stride_of(std::size_t rows) { return (rows + kMostPoints - 1) / kMostPoints; }

std::vector<TracePoint> thinned(const std::vector<TracePoint>& all) {
  std::vector<TracePoint> some;
  const std::size_t stride = std::max<std::size_t>(1, stride_of(all.size()));
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k % stride == 0 || k + 1 == all.size()) some.push_back(all[k]);
  }
  return some;
}

double number_in(std::string_view field, std::size_t line) {
  if (field == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failure != std::errc() || end != field.data() + field.size()) {
    throw RecordError(fmt::format("trace.csv: line {}: '{}' is no number", line, printable_word(std::string(field))));
  }
  return value;
}

/// iteration,seconds,error_a,error_b,epsilon and more columns, which are not needed.
std::vector<TracePoint> parsed_trace(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  constexpr std::string_view header = "iteration,seconds,error_a,error_b,epsilon";
  if (!std::getline(lines, line) || !line.starts_with(header)) throw RecordError("trace.csv: not a trace");
  std::vector<TracePoint> trace;
  for (std::size_t row = 2; std::getline(lines, line); ++row) {
    std::array<double, 5> values{};
    std::string_view rest = line;
    for (double& value : values) {
      const std::size_t comma = rest.find(',');
      value = number_in(rest.substr(0, comma), row);
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    trace.push_back({values[0], values[1], values[2], values[3], values[4]});
  }
  return thinned(trace);
}

}  // namespace

RunRecord read_run_record(const fs::path& folder) {
  RunRecord record;
  record.name = fs::absolute(folder).lexically_normal().filename().string();
  if (record.name.empty()) record.name = fs::absolute(folder).lexically_normal().parent_path().filename().string();
  record.summary = parsed_file(folder / "summary.json");
  record.kind = kind_of(record.summary);
  const auto optionally = [&](const char* name, const auto& read) {
    if (!fs::exists(folder / name)) return;
    try {
      read(folder / name);
    } catch (const RecordError& error) {
      record.notes.push_back(fmt::format("{} (left out)", error.what()));
    }
  };
  optionally("trace.csv", [&](const fs::path& path) { record.trace = parsed_trace(file_content(path)); });
  optionally("plan-view.json", [&](const fs::path& path) { record.plan_view = parsed_file(path); });
  return record;
}

}  // namespace fedsinkhorn::report
