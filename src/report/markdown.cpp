// Sections as Markdown.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "report/study_page.hpp"

namespace fedsinkhorn::report {
namespace {

/// Text that Markdown shows as it is, within a line of a table too.
std::string markdown_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\n') {
      safe += ' ';
      continue;
    }
    if (std::string_view("|<>*_`\\[]").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

/// Words in lines of at most 120 characters, as the rest of the documentation.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 120;
  std::string lines;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (column > 0 && column + 1 + word.size() > kWidth) {
      lines += '\n';
      column = 0;
    }
    if (column > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines + "\n";
}

std::string line_of(const std::vector<std::string>& fields) {
  std::string line = "|";
  for (const std::string& field : fields) line += " " + field + " |";
  return line + "\n";
}

std::string table_markdown(const Table& table) {
  std::string text = table.caption.empty() ? "" : wrapped("**" + markdown_text(table.caption) + "**") + "\n";
  std::vector<std::string> fields;
  std::vector<std::string> rules;
  for (std::size_t k = 0; k < table.header.size(); ++k) {
    fields.push_back(markdown_text(table.header[k]));
    rules.emplace_back(!table.rows.empty() && table.rows.front()[k].is_number ? "---:" : "---");
  }
  text += line_of(fields) + line_of(rules);
  for (const std::vector<Cell>& row : table.rows) {
    fields.clear();
    for (const Cell& cell : row) fields.push_back(markdown_text(cell.text));
    text += line_of(fields);
  }
  return text;
}

}  // namespace

std::string section_markdown(const Section& section) {
  std::string text = fmt::format("## {}\n", markdown_text(section.title));
  const auto add_paragraphs = [&](const std::vector<std::string>& paragraphs) {
    for (const std::string& paragraph : paragraphs) text += "\n" + wrapped(markdown_text(paragraph));
  };
  add_paragraphs(section.paragraphs);
  for (const Facts& facts : section.facts) {
    text += "\n";
    for (const auto& [name, value] : facts.values) {
      text += wrapped(fmt::format("- {}: {}", markdown_text(name), markdown_text(value)));
    }
  }
  for (const Table& table : section.tables) text += "\n" + table_markdown(table);
  add_paragraphs(section.closing);
  return text;
}

}  // namespace fedsinkhorn::report
