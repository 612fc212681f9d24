// What a run has left in its folder, read back: summary.json, trace.csv and, with --report, plan-view.json. Files may
// be damaged, or of another version: what cannot be used is left out, with a note.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/record_json.hpp"

namespace fedsinkhorn::report {

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
