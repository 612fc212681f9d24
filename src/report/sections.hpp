// The sections of a run's report. A new one is a file and a line in sections.cpp.
#pragma once

#include <optional>
#include <vector>

#include "report/page.hpp"
#include "report/run_record.hpp"

namespace fedsinkhorn::report {

// None if the run has nothing to show there. They throw RecordError if the record lacks what it should have.
[[nodiscard]] std::optional<Section> overview_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> convergence_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> plan_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> targets_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> clients_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> delays_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> privacy_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> prediction_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> worst_case_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> radius_section(const RunRecord& run);
[[nodiscard]] std::optional<Section> moved_days_section(const RunRecord& run);

struct SectionEntry {
  const char* name;
  std::optional<Section> (*make)(const RunRecord&);
};

/// In the order of the page.
[[nodiscard]] const std::vector<SectionEntry>& sections();

}  // namespace fedsinkhorn::report
