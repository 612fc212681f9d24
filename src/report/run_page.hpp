// Pages of runs: of one, or of several in folders beside each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/page.hpp"
#include "report/run_record.hpp"

namespace fedsinkhorn::report {

/// Sections that cannot be made become notes.
[[nodiscard]] Page run_page(const RunRecord& run);
/// A table and curves of all; solves only are compared.
[[nodiscard]] Page runs_page(const std::string& title, const std::vector<RunRecord>& runs,
                             std::vector<std::string> notes);

/// Of a folder that a run has written to, or of one with such folders in it. Throws RecordError if there is nothing to
/// report on.
[[nodiscard]] Page page_of_folder(const std::filesystem::path& folder);

}  // namespace fedsinkhorn::report
