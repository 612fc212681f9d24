// What a run has left in its folder, read back: summary.json, trace.csv and, with --report, plan-view.json. Files may
// be damaged, or of another version: what cannot be used is left out, with a note.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// What is wrong with a record; names the file or key.
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Members of an object. They throw a RecordError if the key is missing or has another type.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);
/// NaN for null.
[[nodiscard]] double number(const Json& object, std::string_view key);
/// Not negative.
[[nodiscard]] std::uint64_t count(const Json& object, std::string_view key);
[[nodiscard]] std::string text(const Json& object, std::string_view key);
[[nodiscard]] const Json& array(const Json& object, std::string_view key);
[[nodiscard]] bool has(const Json& object, std::string_view key);

struct TracePoint {
  double iteration = 0;
  double seconds = 0;
  double error_a = 0;
  double error_b = 0;
  double epsilon = 0;
};

enum class RunKind { solve, risk };

struct RunRecord {
  std::string name;  ///< of its folder
  RunKind kind = RunKind::solve;
  Json summary;
  std::vector<TracePoint> trace;    ///< empty if there is none
  std::optional<Json> plan_view{};  ///< see plan_view.hpp
  std::vector<std::string> notes{};
};

/// Throws RecordError if there is no summary of a solve or of a worst case. Other files that cannot be used become
/// notes.
[[nodiscard]] RunRecord read_run_record(const std::filesystem::path& folder);

}  // namespace fedsinkhorn::report
