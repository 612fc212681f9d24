// Studies read back from records that may be damaged, their tables, charts and pages.
#include "report/study.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "report/record_json.hpp"
#include "report/study_figures.hpp"
#include "report/study_page.hpp"
#include "report/study_views.hpp"
#include "support/in_a_folder.hpp"

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

CellRecord made_record(const std::string& cell, Json parameters, Json measured) {
  return {"made", cell, std::move(parameters), std::move(measured), "a machine", "1.2.3"};
}

/// Two client counts by two runs; one run did not end.
std::vector<CellRecord> made_records() {
  return {made_record("a", {{"clients", 2}, {"run", 0}, {"n", 10}},
                      {{"seconds", 1.0}, {"share", 1}, {"curve", {{0, 1.0}, {1, 0.1}}}}),
          made_record("b", {{"clients", 2}, {"run", 1}, {"n", 10}}, {{"seconds", 3.0}, {"share", 0}}),
          made_record("c", {{"clients", 4}, {"run", 0}, {"n", 10}}, {{"seconds", kInfinite}, {"share", 1}}),
          made_record("d", {{"clients", 4}, {"run", 1}, {"n", 10}}, {{"seconds", 2.0}, {"share", nullptr}})};
}

StudyDescription made_study() {
  StudyDescription study;
  study.name = "made";
  study.title = "Made <up>";
  study.question = "How long?";
  study.paper = "section 9";
  study.scale = "smoke";
  study.cells = {"a", "b", "c", "d"};
  study.differences = {"Ours is another machine."};
  study.tables = {
      {.caption = "Times",
       .rows = {{"clients", "clients"}},
       .figures = {
           {.title = "time", .key = "seconds", .format = "seconds", .paper = {{{{"clients", 2}}, "7 s | <b>"}}}}}};
  study.charts = {{.id = "curves",
                   .title = "Error",
                   .description = "Falls.",
                   .kind = "curves",
                   .groups = {{"clients", "{} clients"}},
                   .figures = {{.title = "error", .key = "curve"}},
                   .x_axis = {{"title", "iteration"}},
                   .y_axis = {{"title", "error"}, {"log", true}}}};
  return study;
}

class StudyTest : public testing::InAFolder {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "made" / "cells");
    write("study.json", study_json(made_study()));
    for (const CellRecord& record : made_records()) write("cells/" + record.cell + ".json", cell_json(record));
  }

  void write(const std::string& name, const Json& json) const { std::ofstream(folder_ / "made" / name) << json; }
  void write_text(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / "made" / name) << text;
  }
  [[nodiscard]] StudyRecords read() const { return read_study(folder_ / "made"); }
};

std::vector<std::string> texts(const std::vector<Cell>& row) {
  std::vector<std::string> all;
  for (const Cell& cell : row) all.push_back(cell.text);
  return all;
}

using Texts = std::vector<std::string>;

TEST_F(StudyTest, IsReadBackAsItWasWritten) {
  const StudyRecords all = read();
  EXPECT_EQ(study_json(all.study), study_json(made_study()));
  ASSERT_EQ(all.records.size(), 4U);
  EXPECT_EQ(cell_json(all.records[2]), cell_json(made_records()[2]));
  EXPECT_TRUE(all.notes.empty());
  EXPECT_EQ(all.missing, 0U);
}

TEST_F(StudyTest, DamagedAndForeignRecordsAreSkippedByName) {
  write_text("cells/a.json", "{\"schema_version\": 1, \"ki");
  write_text("cells/b.json", "{\"rows\": 3}");
  Json newer = cell_json(made_records()[2]);
  newer["schema_version"] = 2;
  write("cells/c.json", newer);
  Json incomplete = cell_json(made_records()[3]);
  incomplete.erase("measured");
  write("cells/d.json", incomplete);
  write("cells/<script>.json", cell_json(made_records()[0]));
  const StudyRecords all = read();
  EXPECT_TRUE(all.records.empty());
  ASSERT_EQ(all.notes.size(), 5U);
  EXPECT_EQ(all.notes[0], "made: cells/a.json: not JSON, or truncated, at byte 26 (skipped)");
  EXPECT_EQ(all.notes[1], "made: cells/b.json: not the record of a cell (skipped)");
  EXPECT_EQ(all.notes[2], "made: cells/c.json: version 2, but this program reads version 1 (skipped)");
  EXPECT_EQ(all.notes[3], "made: cells/d.json: 'measured' is missing (skipped)");
  EXPECT_EQ(all.notes[4], "made: cells/<script>.json: not of this study (skipped)");
  const std::string html = page_html(page_of_studies(folder_));
  EXPECT_EQ(html.find("<script>.json"), std::string::npos) << "text from files is escaped";
}

TEST_F(StudyTest, RecordsMayBeLinesOfOneFile) {
  std::string lines;
  for (const CellRecord& record : made_records()) lines += cell_json(record).dump() + "\n";
  fs::remove_all(folder_ / "made" / "cells");
  write_text("cells.jsonl", lines);
  ASSERT_EQ(read().records.size(), 4U);
  EXPECT_EQ(cell_json(read().records[2]), cell_json(made_records()[2]));
  EXPECT_TRUE(read().notes.empty());

  Json stranger = cell_json(made_records()[0]);
  stranger["cell"] = "z";
  write_text("cells.jsonl", stranger.dump() + "\n" + lines.substr(0, lines.size() - 20));
  const StudyRecords all = read();
  EXPECT_EQ(all.records.size(), 3U);
  EXPECT_EQ(all.missing, 1U);
  ASSERT_EQ(all.notes.size(), 2U);
  EXPECT_EQ(all.notes[0], "made: cells.jsonl, line 5: not JSON, or truncated (skipped)");
  EXPECT_EQ(all.notes[1], "made: cells.jsonl: z: not of this study (skipped)");
}

TEST_F(StudyTest, ARecordUnderTheNameOfAnotherIsSkipped) {
  write("cells/a.json", cell_json(made_records()[1]));
  EXPECT_EQ(read().records.size(), 3U);
  EXPECT_EQ(read().notes.size(), 1U);
}

TEST_F(StudyTest, CellsThatAreNotMeasuredYetAreCounted) {
  fs::remove(folder_ / "made" / "cells" / "c.json");
  EXPECT_EQ(read().missing, 1U);
  EXPECT_TRUE(read().notes.empty()) << "a study that goes on is nothing to warn of";
  const Page page = page_of_studies(folder_ / "made");
  EXPECT_EQ(page.sections.at(0).outcomes.at(0).text, "3 of 4 cells are measured");
}

TEST_F(StudyTest, WithoutAUsableStudyThereIsNoPage) {
  write_text("study.json", "{}");
  EXPECT_THROW((void)read(), RecordError);
  EXPECT_THROW((void)page_of_studies(folder_), RecordError);
}

TEST(StudyTable, HasTheStatisticsOfItsGroupsAndThePapersFigures) {
  const TableView view{.caption = "Times",
                       .rows = {{"clients", "clients"}},
                       .figures = {{.title = "median", .key = "seconds", .format = "seconds"},
                                   {.title = "spread", .key = "seconds", .statistic = "quartiles"},
                                   {.title = "mean", .key = "seconds", .statistic = "mean"},
                                   {.title = "deviation", .key = "seconds", .statistic = "deviation"},
                                   {.title = "converged", .key = "share", .statistic = "mean", .format = "percent"},
                                   {.title = "first run",
                                    .key = "seconds",
                                    .statistic = "most",
                                    .where = {{"run", 0}},
                                    .paper = {{{{"clients", 4}}, "9"}}}}};
  const Table table = table_of(view, made_records());
  EXPECT_EQ(table.header,
            (Texts{"clients", "median", "spread", "mean", "deviation", "converged", "first run", "first run (paper)"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(texts(table.rows[0]), (Texts{"2", "2 s", "2 [1.5, 2.5]", "2", "1", "50 %", "1", ""}));
  // A run that did not end is infinitely long; a figure that is null was not measured.
  EXPECT_EQ(texts(table.rows[1])[5], "100 %");
  EXPECT_EQ(texts(table.rows[1])[6], "∞");
  EXPECT_EQ(texts(table.rows[1])[7], "9");
}

TEST(StudyTable, AMedianBesideARunThatDidNotEndIsANumber) {
  std::vector<CellRecord> records;
  for (const Json& seconds : {Json(1), Json(2), Json(kInfinite)}) {
    records.push_back(made_record("r", {{"n", 1}}, {{"seconds", seconds}}));
  }
  const TableView view{.rows = {{"n", "n"}},
                       .figures = {{.title = "median", .key = "seconds"},
                                   {.title = "spread", .key = "seconds", .statistic = "quartiles"}}};
  EXPECT_EQ(texts(table_of(view, records).rows[0]), (Texts{"1", "2", "2 [1.5, ∞]"}));
}

TEST(StudyTable, NumbersHaveThreeDigits) {
  for (const auto& [value, text] : std::vector<std::pair<double, std::string>>{{0, "0"},
                                                                               {0.01234, "0.0123"},
                                                                               {-4.5, "-4.5"},
                                                                               {999.9, "1,000"},
                                                                               {17'712, "17,700"},
                                                                               {12'345'678, "1.23 × 10⁷"}}) {
    EXPECT_EQ(formatted(value, "number"), text);
  }
  EXPECT_EQ(formatted(0.66667, "percent"), "66.7 %");
  EXPECT_EQ(formatted(1, "percent"), "100 %");
  EXPECT_EQ(formatted(12'345, "count"), "12,345");
}

TEST(StudyTable, HasColumnsForTheValuesOfAParameter) {
  const TableView view{.caption = "Times",
                       .rows = {{"clients", "clients"}},
                       .figures = {{.title = "time", .key = "seconds"}},
                       .across = "run"};
  const Table table = table_of(view, made_records());
  EXPECT_EQ(table.header, (Texts{"clients", "run = 0", "run = 1"}));
  EXPECT_EQ(texts(table.rows[0]), (Texts{"2", "1", "3"}));
  EXPECT_EQ(texts(table.rows[1]), (Texts{"4", "∞", "2"}));
}

TEST(StudyTable, NamesWhatRecordsDoNotHave) {
  TableView view{.caption = "Times", .rows = {{"colour", "colour"}}, .figures = {{.title = "time", .key = "seconds"}}};
  EXPECT_THROW((void)table_of(view, made_records()), RecordError);
  view.rows = {{"clients", "clients"}};
  view.figures.front().key = "weight";
  EXPECT_EQ(texts(table_of(view, made_records()).rows[0]), (Texts{"2", "not measured"}));
  view.figures.front() = {.title = "time", .key = "seconds", .statistic = "mode"};
  EXPECT_THROW((void)table_of(view, made_records()), RecordError);
  view.figures.front() = {.title = "time", .key = "curve"};
  EXPECT_THROW((void)table_of(view, made_records()), RecordError) << "points are not numbers";
}

TEST(StudyChart, LinesHaveAPointPerValueOfX) {
  const ChartView view{.id = "lines",
                       .kind = "lines",
                       .x = "clients",
                       .figures = {{.title = "time", .key = "seconds", .statistic = "least"}}};
  const Chart chart = chart_of(view, made_records(), "made-");
  EXPECT_EQ(chart.id, "made-lines");
  EXPECT_EQ(chart.spec.at("series"),
            Json::parse(R"([{"name": "time", "points": [[2, 1.0], [4, 2.0]], "marks": true}])"));
  EXPECT_EQ(chart.data.rows.size(), 2U) << "the table behind it has the same numbers";
}

TEST(StudyChart, AnInfiniteValueIsAGap) {
  const ChartView view{.id = "bars",
                       .kind = "bars",
                       .groups = {{"clients", "{} clients"}, {"run", "run"}},
                       .figures = {{.title = "time", .key = "seconds"}}};
  const Chart chart = chart_of(view, made_records(), "");
  EXPECT_EQ(chart.spec.at("categories"),
            Json::parse(R"(["2 clients, run 0", "2 clients, run 1", "4 clients, run 0", "4 clients, run 1"])"));
  EXPECT_EQ(chart.spec.at("series").at(0).at("values"), Json::parse("[1.0, 3.0, null, 2.0]"));
}

TEST(StudyChart, CurvesThatAreNoPointsAreRefused) {
  std::vector<CellRecord> records = made_records();
  const ChartView view = made_study().charts.front();
  EXPECT_EQ(chart_of(view, records, "").spec.at("series").at(0).at("points"), Json::parse("[[0, 1.0], [1, 0.1]]"));
  for (const char* wrong : {"[[0, \"<script>\"]]", "[[0]]", "[1, 2]", "{}"}) {
    records[0].measured["curve"] = Json::parse(wrong);
    EXPECT_THROW((void)chart_of(view, records, ""), RecordError) << wrong;
  }
}

TEST_F(StudyTest, AViewThatCannotBeMadeBecomesANote) {
  StudyDescription study = made_study();
  study.charts.front().kind = "cake";
  write("study.json", study_json(study));
  const Page page = page_of_studies(folder_);
  ASSERT_EQ(page.notes.size(), 1U);
  EXPECT_EQ(page.notes[0], "made: the chart 'Error' is left out: no kind of chart 'cake'");
  EXPECT_EQ(page.sections.at(0).tables.size(), 1U);
}

TEST_F(StudyTest, SectionsSayWhatAllCellsShareAndWhere) {
  std::vector<std::string> notes;
  const Section section = study_section(read(), notes);
  const auto& facts = section.facts.at(0).values;
  const auto has_fact = [&](const char* name, const char* value) {
    return std::ranges::find(facts, std::pair<std::string, std::string>(name, value)) != facts.end();
  };
  EXPECT_TRUE(has_fact("in all of them", "n = 10"));
  EXPECT_TRUE(has_fact("in the paper", "section 9"));
  EXPECT_TRUE(has_fact("measured on", "a machine"));
}

TEST_F(StudyTest, MarkdownHasTheTablesAndEscapesText) {
  std::vector<std::string> notes;
  const std::string text = section_markdown(study_section(read(), notes));
  EXPECT_NE(text.find("## Made \\<up\\>\n"), std::string::npos);
  EXPECT_NE(text.find("| clients | time | time (paper) |\n| ---: | ---: | ---: |\n| 2 | 2 s | 7 s \\| \\<b\\> |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nOurs is another machine.\n"), std::string::npos);
}

}  // namespace
}  // namespace fedsinkhorn::report
