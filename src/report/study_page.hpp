// Pages of studies: of one, or of several in folders beside each other; and the same as Markdown.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/study.hpp"

namespace fedsinkhorn::report {

/// Views that the records do not allow become notes.
[[nodiscard]] Section study_section(const StudyRecords& records, std::vector<std::string>& notes);

[[nodiscard]] Page studies_page(const std::vector<StudyRecords>& studies, std::vector<std::string> notes);

/// The folders of studies in this one, sorted by name.
[[nodiscard]] std::vector<std::filesystem::path> study_folders(const std::filesystem::path& folder);

/// Of a folder with study.json, or of one with such folders in it. Throws RecordError if none can be used.
[[nodiscard]] Page page_of_studies(const std::filesystem::path& folder);

/// A section as GitHub's Markdown: paragraphs, facts and tables. Charts are for pages; their tables are left out too.
[[nodiscard]] std::string section_markdown(const Section& section);

}  // namespace fedsinkhorn::report
