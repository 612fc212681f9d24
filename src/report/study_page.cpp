#include "report/study_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/number_text.hpp"
#include "report/record_json.hpp"
#include "report/study_figures.hpp"
#include "report/study_views.hpp"

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

/// Comma-separated, each once.
std::string each_once(const std::vector<CellRecord>& records, std::string CellRecord::*field) {
  std::set<std::string> values;
  for (const CellRecord& record : records) values.insert(record.*field);
  std::string all;
  for (const std::string& value : values) all += (all.empty() ? "" : "; ") + value;
  return all;
}

/// Parameters that all records have alike: "n = 3,000, iterations = 100"; empty if there are none.
std::string common_parameters(const std::vector<CellRecord>& records) {
  std::string text;
  if (records.empty()) return text;
  for (const auto& [key, value] : records.front().parameters.items()) {
    const Json wanted = {{key, value}};
    if (!std::ranges::all_of(records, [&](const CellRecord& one) { return has_parameters(one.parameters, wanted); })) {
      continue;
    }
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, parameter_text(value));
  }
  return text;
}

Facts study_facts(const StudyRecords& all) {
  Facts facts{"", {}};
  if (!all.study.paper.empty()) facts.values.emplace_back("in the paper", all.study.paper);
  facts.values.emplace_back("scale", all.study.scale);
  facts.values.emplace_back("records", count_text(all.records.size()));
  if (const std::string same = common_parameters(all.records); !same.empty()) {
    facts.values.emplace_back("in all of them", same);
  }
  facts.values.emplace_back("measured on", each_once(all.records, &CellRecord::machine));
  facts.values.emplace_back("version", each_once(all.records, &CellRecord::version));
  return facts;
}

Outcome completeness(const StudyRecords& all) {
  const std::size_t cells = all.study.cells.size();
  if (all.records.size() == cells) return {Verdict::good, fmt::format("All {} cells are measured", count_text(cells))};
  return {Verdict::fair, fmt::format("{} of {} cells are measured", count_text(all.records.size()), count_text(cells))};
}

}  // namespace

Section study_section(const StudyRecords& all, std::vector<std::string>& notes) {
  const StudyDescription& study = all.study;
  Section section{study.name, study.title};
  section.outcomes.push_back(completeness(all));
  section.paragraphs.push_back(study.question);
  section.paragraphs.insert(section.paragraphs.end(), study.conditions.begin(), study.conditions.end());
  section.facts.push_back(study_facts(all));
  const auto try_to = [&](const std::string& what, const auto& make) {
    try {
      make();
    } catch (const RecordError& error) {
      notes.push_back(fmt::format("{}: {} is left out: {}", study.name, what, error.what()));
    }
  };
  for (const TableView& view : study.tables) {
    try_to(fmt::format("the table '{}'", view.caption), [&] { section.tables.push_back(table_of(view, all.records)); });
  }
  for (const ChartView& view : study.charts) {
    try_to(fmt::format("the chart '{}'", view.title),
           [&] { section.charts.push_back(chart_of(view, all.records, study.name + "-")); });
  }
  section.closing = study.differences;
  return section;
}

Page studies_page(const std::vector<StudyRecords>& studies, std::vector<std::string> notes) {
  Page page;
  const bool is_one = studies.size() == 1;
  page.title = is_one ? "Study: " + studies.front().study.title : "Studies";
  page.lead = is_one ? studies.front().study.question : fmt::format("{} studies.", studies.size());
  for (const StudyRecords& study : studies) {
    notes.insert(notes.end(), study.notes.begin(), study.notes.end());
    page.sections.push_back(study_section(study, notes));
  }
  if (is_one) {  // the page's own head says these
    page.sections.front().title = "What was measured";
    page.sections.front().paragraphs.erase(page.sections.front().paragraphs.begin());
  }
  page.notes = std::move(notes);
  return page;
}

std::vector<fs::path> study_folders(const fs::path& folder) {
  if (is_study_folder(folder)) return {folder};
  std::vector<fs::path> inside;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && is_study_folder(entry.path())) inside.push_back(entry.path());
  }
  std::ranges::sort(inside);
  return inside;
}

Page page_of_studies(const fs::path& folder) {
  std::vector<StudyRecords> studies;
  std::vector<std::string> notes;
  for (const fs::path& path : study_folders(folder)) {
    try {
      studies.push_back(read_study(path));
    } catch (const RecordError& error) {
      notes.push_back(fmt::format("{}: {} (skipped)", path.filename().string(), error.what()));
    }
  }
  if (studies.empty()) {
    throw RecordError(notes.empty() ? "no study.json here, nor in a folder of it"
                                    : fmt::format("no study.json that can be used; {}", notes.front()));
  }
  return studies_page(studies, std::move(notes));
}

}  // namespace fedsinkhorn::report
