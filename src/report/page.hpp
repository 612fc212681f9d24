// A report as data: sections with facts, tables and charts. page_html() makes one self-contained page of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/web_assets.hpp"

namespace fedsinkhorn::report {

using Json = nlohmann::ordered_json;

/// Texts are plain: page_html() escapes them.
struct Cell {
  std::string text;
  bool is_number = false;
};

struct Table {
  std::string caption;
  std::vector<std::string> header;
  std::vector<std::vector<Cell>> rows;
  std::string id{};  ///< where live pages put a new one; may be empty
};

/// Names and values, such as "rows" and "2,000".
struct Facts {
  std::string caption;
  std::vector<std::pair<std::string, std::string>> values;
  std::string id{};
};

/// What the scripts in src/report/web draw: spec says what, in the form that README.md documents there. The table
/// behind it has the same numbers for those who cannot see it, or want them.
struct Chart {
  std::string id;
  std::string title;
  std::string description;  ///< what can be seen in it, in a sentence or two
  Json spec;
  Table data;
  std::string picture{};  ///< SVG of our own making, shown where there is no chart library; may be empty
};

enum class Verdict { good, fair, bad };

struct Outcome {
  Verdict verdict = Verdict::good;
  std::string text;
};

struct Section {
  std::string id;
  std::string title;
  std::vector<std::string> paragraphs{};
  std::vector<Outcome> outcomes{};
  std::vector<Facts> facts{};
  std::vector<Chart> charts{};
  std::vector<Table> tables{};
  std::vector<std::string> closing{};  ///< paragraphs after the tables
  bool has_pairs = false;              ///< two charts stand side by side where there is room
};

struct Page {
  std::string title;
  std::string lead;
  std::vector<std::string> notes{};  ///< what was skipped, and why
  std::vector<Section> sections{};
  std::string footer = "Written by fedsinkhorn report. All data is in this file; nothing is loaded from elsewhere.";
  std::string events{};  ///< of a live page: the address of its event stream, relative to it; else empty
};

/// Without a chart library the page has tables and pictures, and a note that says how to add charts.
[[nodiscard]] std::string page_html(const Page& page, std::string_view library = chart_library());

/// The part of a page that shows it, as page_html() writes it: what a live page is sent anew.
[[nodiscard]] std::string table_html(const Table& table);
[[nodiscard]] std::string facts_html(const Facts& facts);

}  // namespace fedsinkhorn::report
