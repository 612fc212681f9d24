#include "report/study.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <sstream>

#include "core/printable.hpp"
#include "report/record_json.hpp"

namespace fedsinkhorn::report {
namespace {

namespace fs = std::filesystem;

/// Calls visit(key, field) for every field of a part of a study: its form in JSON, written once for both directions.
template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, PaperFigure> {
  visit("at", part.at);
  visit("text", part.text);
}

template <class Visit>
void visit_fields(auto& part, const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, Figure> {
  visit("title", part.title);
  visit("key", part.key);
  visit("statistic", part.statistic);
  visit("format", part.format);
  visit("where", part.where);
  visit("paper", part.paper);
}

template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, Grouping> {
  visit("parameter", part.parameter);
  visit("title", part.title);
}

template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, TableView> {
  visit("caption", part.caption);
  visit("rows", part.rows);
  visit("figures", part.figures);
  visit("across", part.across);
  visit("where", part.where);
}

template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, ChartView> {
  visit("id", part.id);
  visit("title", part.title);
  visit("description", part.description);
  visit("kind", part.kind);
  visit("x", part.x);
  visit("groups", part.groups);
  visit("figures", part.figures);
  visit("x_axis", part.x_axis);
  visit("y_axis", part.y_axis);
  visit("stacked", part.stacked);
  visit("where", part.where);
}

template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, StudyDescription> {
  visit("name", part.name);
  visit("title", part.title);
  visit("question", part.question);
  visit("paper", part.paper);
  visit("scale", part.scale);
  visit("conditions", part.conditions);
  visit("differences", part.differences);
  visit("cells", part.cells);
  visit("tables", part.tables);
  visit("charts", part.charts);
}

template <class Visit>
void visit_fields(auto& part,
                  const Visit& visit) requires std::is_same_v<std::remove_cvref_t<decltype(part)>, CellRecord> {
  visit("study", part.study);
  visit("cell", part.cell);
  visit("parameters", part.parameters);
  visit("measured", part.measured);
  visit("machine", part.machine);
  visit("version", part.version);
}

/// What visit_fields knows.
template <class Part>
concept StudyPart = requires(Part& part) {
  visit_fields(part, [](const char*, const auto&) {});
};

template <class Value>
Json written(const Value& value) {
  if constexpr (StudyPart<const Value>) {
    Json json = Json::object();
    visit_fields(value, [&](const char* key, const auto& field) { json[key] = written(field); });
    return json;
  } else if constexpr (requires { value.front(); } && !std::is_same_v<Value, std::string> &&
                       !std::is_same_v<Value, Json>) {
    Json json = Json::array();
    for (const auto& element : value) json.push_back(written(element));
    return json;
  } else {
    return value;
  }
}

/// where: the name of the value in messages.
void read_into(std::string& value, const Json& json, const std::string& where) {
  if (!json.is_string()) throw RecordError(fmt::format("'{}' is not a text", where));
  value = json.get<std::string>();
}

void read_into(bool& value, const Json& json, const std::string& where) {
  if (!json.is_boolean()) throw RecordError(fmt::format("'{}' is neither true nor false", where));
  value = json.get<bool>();
}

/// Parameters, measured values, axes: objects all of them.
void read_into(Json& value, const Json& json, const std::string& where) {
  if (!json.is_object()) throw RecordError(fmt::format("'{}' is not an object", where));
  value = json;
}

template <StudyPart Part>
void read_into(Part& part, const Json& json, const std::string& where);

template <class Element>
void read_into(std::vector<Element>& values, const Json& json, const std::string& where) {
  if (!json.is_array()) throw RecordError(fmt::format("'{}' is not a list", where));
  values.resize(json.size());
  for (std::size_t k = 0; k < values.size(); ++k) read_into(values[k], json[k], fmt::format("{}[{}]", where, k));
}

template <StudyPart Part>
void read_into(Part& part, const Json& json, const std::string& where) {
  if (!json.is_object()) throw RecordError(fmt::format("'{}' is not an object", where));
  visit_fields(part, [&](const char* key, auto& field) {
    const std::string name = where.empty() ? key : fmt::format("{}.{}", where, key);
    if (!json.contains(key)) throw RecordError(fmt::format("'{}' is missing", name));
    read_into(field, json.at(key), name);
  });
}

template <StudyPart Part>
Json versioned(const char* kind, const Part& part) {
  Json json = {{"schema_version", kStudyVersion}, {"kind", kind}};
  json.update(written(part));
  return json;
}

/// file: its name in messages.
template <StudyPart Part>
Part checked_part(const Json& json, const char* kind, const std::string& file) {
  try {
    if (!json.is_object()) throw RecordError("not an object");
    if (!has(json, "kind") || member(json, "kind") != kind) {
      throw RecordError(fmt::format("not the record of a {}", kind));
    }
    if (const auto version = count(json, "schema_version"); version != kStudyVersion) {
      throw RecordError(fmt::format("version {}, but this program reads version {}", version, kStudyVersion));
    }
    Part part;
    read_into(part, json, "");
    return part;
  } catch (const RecordError& error) {
    throw RecordError(fmt::format("{}: {}", file, error.what()));
  }
}

template <StudyPart Part>
Part part_in_file(const fs::path& path, const char* kind) {
  return checked_part<Part>(parsed_file(path), kind, path.filename().string());
}

/// Names of files in the folder of cells.
std::set<std::string> names_in(const fs::path& cells) {
  std::set<std::string> names;
  if (!fs::is_directory(cells)) return names;
  for (const fs::directory_entry& entry : fs::directory_iterator(cells)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) names.insert(name);  // those are being written
  }
  return names;
}

/// The records of a packed file by their cells; lines that cannot be used become notes.
std::map<std::string, CellRecord> records_in_lines(const fs::path& file, std::vector<std::string>& notes) {
  std::map<std::string, CellRecord> records;
  if (!fs::exists(file)) return records;
  std::istringstream lines(file_content(file));
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::string name = fmt::format("{}, line {}", file.filename().string(), number);
    try {
      const Json json = Json::parse(line, nullptr, false);
      if (json.is_discarded()) throw RecordError(name + ": not JSON, or truncated");
      auto record = checked_part<CellRecord>(json, "cell", name);
      records.emplace(record.cell, std::move(record));
    } catch (const RecordError& error) {
      notes.emplace_back(error.what());
    }
  }
  return records;
}

}  // namespace

Json study_json(const StudyDescription& study) { return versioned("study", study); }
Json cell_json(const CellRecord& record) { return versioned("cell", record); }

bool is_study_folder(const fs::path& folder) {
  std::error_code failure;
  return fs::is_regular_file(folder / "study.json", failure);
}

CellRecord read_cell_record(const fs::path& file) { return part_in_file<CellRecord>(file, "cell"); }

StudyRecords read_study(const fs::path& folder) {
  StudyRecords all;
  all.study = part_in_file<StudyDescription>(folder / "study.json", "study");
  const auto skip = [&](const std::string& why) {
    all.notes.push_back(fmt::format("{}: {} (skipped)", all.study.name, why));
  };
  std::vector<std::string> bad_lines;
  std::map<std::string, CellRecord> packed = records_in_lines(folder / kPackedCells, bad_lines);
  for (const std::string& why : bad_lines) skip(why);
  std::set<std::string> names = names_in(folder / "cells");
  for (const std::string& cell : all.study.cells) {
    const std::string name = cell + ".json";
    const auto line = packed.find(cell);
    if (names.erase(name) == 0 && line == packed.end()) {
      ++all.missing;
      continue;
    }
    try {
      CellRecord record =
          line == packed.end() ? read_cell_record(folder / "cells" / name) : std::move(packed.extract(line).mapped());
      if (record.study != all.study.name || record.cell != cell) {
        throw RecordError(fmt::format("{}: the record of another cell", name));
      }
      all.records.push_back(std::move(record));
    } catch (const RecordError& error) {
      skip(fmt::format("cells/{}", error.what()));
    }
  }
  for (const std::string& name : names) skip(fmt::format("cells/{}: not of this study", printable_word(name)));
  for (const auto& [cell, record] : packed) {
    skip(fmt::format("{}: {}: not of this study", kPackedCells, printable_word(cell)));
  }
  return all;
}

}  // namespace fedsinkhorn::report
