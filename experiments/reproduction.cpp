#include "reproduction.hpp"

#include <fmt/format.h>

#include "fedsinkhorn/error.hpp"
#include "report/record_json.hpp"
#include "report/study_page.hpp"
#include "study.hpp"

namespace fedsinkhorn::experiments {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHead = R"(# Reproduction

The studies of the paper and ours, as `make reproduce` has run them (`--scale machine`: smaller than the paper's, so that
two cores take less than 45 minutes). Every figure is made from the records that its section names; none is typed by
hand, and a test compares this page with them. Figures that the paper prints stand in columns of their own.
[studies.md](studies.md) says how to run a study and what a record is. Charts of the same records:
`fedsinkhorn report docs/reproduction -o charts.html`.

Clients are threads of one process on the machine that a section names. Times are for comparison within a table; with
more clients than cores, clients wait for their turns. ∞: not reached within the limit of iterations.
)";

report::StudyRecords complete(const fs::path& folder) {
  try {
    report::StudyRecords records = report::read_study(folder);
    if (!records.notes.empty()) throw report::RecordError(records.notes.front());
    if (records.missing > 0) throw report::RecordError(fmt::format("{} cells are missing", records.missing));
    return records;
  } catch (const report::RecordError& error) {
    throw InputError(folder.string(), error.what(), "run the study again");
  }
}

}  // namespace

std::string reproduction_markdown(const fs::path& folder) {
  std::string index = "\n| study | in the paper | question |\n|---|---|---|\n";
  std::string sections;
  const std::string base = fs::absolute(folder).lexically_normal().filename().string();
  for (const Study& study : studies()) {
    const report::StudyRecords records = complete(folder / study.name);
    std::vector<std::string> notes;
    report::Section section = report::study_section(records, notes);
    if (!notes.empty()) throw InputError(folder.string(), notes.front(), "run the study again");
    section.paragraphs.front() = section.title + ". " + section.paragraphs.front();
    section.title = study.name;
    index += fmt::format("| [{0}](#{0}) | {1} | {2} |\n", study.name, study.paper.empty() ? "ours" : study.paper,
                         study.question);
    sections += fmt::format("\n{0}\nRecords: [{1}/{2}/cells.jsonl]({1}/{2}/cells.jsonl)\n",
                            report::section_markdown(section), base, study.name);
  }
  return kHead + index + sections;
}

}  // namespace fedsinkhorn::experiments
