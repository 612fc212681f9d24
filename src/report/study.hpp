// A study as data: what was asked, which cells were measured, and how they are shown. fedsinkhorn-experiments writes
// it (experiments/), pages and docs/reproduction.md are made from it.
//
//   FOLDER/study.json        the question, the names of the cells, the views
//   FOLDER/cells/NAME.json   one record per cell: its parameters and what was measured
//   FOLDER/cells.jsonl       the same records, one per line, where many small files would be a nuisance
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/page.hpp"

namespace fedsinkhorn::report {

/// Of study.json and of the records. Increases when a field is removed or changes its meaning.
inline constexpr int kStudyVersion = 1;

/// What the paper prints for the cells with these parameters.
struct PaperFigure {
  Json at = Json::object();
  std::string text{};
};

/// A figure of a group of records.
struct Figure {
  std::string title{};
  std::string key{};  ///< of the measured values
  /// Of the group: median, mean, least, most, deviation (standard deviation), quartiles (median [p25, p75]), sum,
  /// first.
  std::string statistic = "median";
  std::string format =
      "number";  ///< number (three digits), precise (six), seconds, percent (of a share), count, bytes, text
  Json where = Json::object();  ///< only records with these parameters
  std::vector<PaperFigure> paper{};
};

/// A parameter and what it is called in tables. In names of series, "{}" in the title stands for the value: "{}
/// clients".
struct Grouping {
  std::string parameter{};
  std::string title{};
};

/// A row for every combination of the parameters in `rows`, a column for every figure.
struct TableView {
  std::string caption{};
  std::vector<Grouping> rows{};
  std::vector<Figure> figures{};
  std::string across{};  ///< a parameter: the figures appear once for each of its values; empty: none
  Json where = Json::object();
};

/// kind: what is drawn.
///   lines   the figures of the groups by the parameter x
///   bars    the figures of the groups, one category each
///   curves  the measured list of points of the first record of every group, whose key is that of the first figure
///   dots    a point for each number in the measured list of every record, at the parameter x
struct ChartView {
  std::string id{};
  std::string title{};
  std::string description{};
  std::string kind{};
  std::string x{};                 ///< a parameter
  std::vector<Grouping> groups{};  ///< series of lines, curves and dots; categories of bars
  std::vector<Figure> figures{};
  Json x_axis = Json::object();  ///< as in web/README.md
  Json y_axis = Json::object();
  bool stacked = false;  ///< bars
  Json where = Json::object();
};

struct StudyDescription {
  std::string name;
  std::string title;
  std::string question;
  std::string paper;  ///< where in the paper; empty: ours alone
  std::string scale;
  std::vector<std::string> conditions;   ///< what is run, and how
  std::vector<std::string> differences;  ///< why figures differ from those of the paper
  std::vector<std::string> cells;        ///< names of the records, in the order of the tables
  std::vector<TableView> tables;
  std::vector<ChartView> charts;
};

/// For measured numbers that are infinite, such as the time of a run that did not end: JSON has none. NaN becomes null:
/// not measured.
inline constexpr const char* kInfinite = "infinite";

/// What one cell has measured: numbers, texts, lists of numbers or of points.
struct CellRecord {
  std::string study;
  std::string cell;
  Json parameters = Json::object();
  Json measured = Json::object();
  std::string machine;
  std::string version;
};

[[nodiscard]] Json study_json(const StudyDescription& study);
[[nodiscard]] Json cell_json(const CellRecord& record);

inline constexpr const char* kPackedCells = "cells.jsonl";

struct StudyRecords {
  StudyDescription study;
  std::vector<CellRecord> records;   ///< in the order of the study's cells; those that cannot be used are left out
  std::vector<std::string> notes{};  ///< what was left out, and why
  std::size_t missing = 0;           ///< cells that were not measured yet
};

/// Whether the folder has a study.json.
[[nodiscard]] bool is_study_folder(const std::filesystem::path& folder);
/// Throws RecordError naming file and key.
[[nodiscard]] CellRecord read_cell_record(const std::filesystem::path& file);
/// Throws RecordError if there is no usable study.json. Records that cannot be used become notes.
[[nodiscard]] StudyRecords read_study(const std::filesystem::path& folder);

}  // namespace fedsinkhorn::report
