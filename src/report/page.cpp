#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/svg.hpp"

namespace fedsinkhorn::report {
namespace {

using svg::escaped;
using svg::Out;

const char* class_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::good: return "good";
    case Verdict::fair: return "fair";
    default: return "bad";
  }
}

std::string id_attribute(const std::string& id) { return id.empty() ? "" : fmt::format(" id=\"{}\"", escaped(id)); }

void write_chart(Out out, const Chart& chart, bool has_library) {
  fmt::format_to(out, "<figure class=\"chart\">\n<figcaption>{}</figcaption>\n", escaped(chart.title));
  if (has_library) {
    fmt::format_to(out, "<div class=\"plot\" role=\"img\" aria-label=\"{}\" data-chart=\"{}\"></div>\n",
                   escaped(chart.description), escaped(chart.id));
  } else {
    fmt::format_to(out, "<div class=\"picture\">{}</div>\n", chart.picture);
  }
  if (!chart.data.header.empty()) {
    fmt::format_to(out,
                   "<details><summary>Data</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                   "aria-label=\"Data: {}\"{}>{}</div></details>\n",
                   escaped(chart.title), id_attribute(chart.data.id), table_html(chart.data));
  }
  fmt::format_to(out, "</figure>\n");
}

void write_section(Out out, const Section& section, bool has_library) {
  fmt::format_to(out, "<section id=\"{}\">\n<h2>{}</h2>\n", escaped(section.id), escaped(section.title));
  for (const Outcome& outcome : section.outcomes) {
    fmt::format_to(out, "<p class=\"status {}\">{}</p>\n", class_of(outcome.verdict), escaped(outcome.text));
  }
  for (const std::string& text : section.paragraphs) fmt::format_to(out, "<p>{}</p>\n", escaped(text));
  for (const Facts& facts : section.facts) {
    fmt::format_to(out, "<div{}>{}</div>\n", id_attribute(facts.id), facts_html(facts));
  }
  if (section.has_pairs) fmt::format_to(out, "<div class=\"pairs\">\n");
  for (const Chart& chart : section.charts) {
    const bool has_something = has_library || !chart.picture.empty() || !chart.data.header.empty();
    if (has_something) write_chart(out, chart, has_library);
  }
  if (section.has_pairs) fmt::format_to(out, "</div>\n");
  for (const Table& table : section.tables) {
    fmt::format_to(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"{}>{}</div>\n",
                   escaped(table.caption), id_attribute(table.id), table_html(table));
  }
  for (const std::string& text : section.closing) fmt::format_to(out, "<p>{}</p>\n", escaped(text));
  fmt::format_to(out, "</section>\n");
}

/// Whether any cell of the column is a number: then its header stands on the right, too.
bool has_numbers(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [&](const std::vector<Cell>& row) { return row.at(column).is_number; });
}

/// JSON within a script element: nothing in it may look like the element's end.
std::string script_json(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string table_html(const Table& table) {
  std::string html = "<table>";
  const Out out = std::back_inserter(html);
  // The span stays in view where a wide table is scrolled.
  if (!table.caption.empty()) fmt::format_to(out, "<caption><span>{}</span></caption>", escaped(table.caption));
  html += "<thead><tr>";
  for (std::size_t k = 0; k < table.header.size(); ++k) {
    const char* alike = has_numbers(table, k) ? " class=\"number\"" : "";
    fmt::format_to(out, "<th scope=\"col\"{}>{}</th>", alike, escaped(table.header[k]));
  }
  html += "</tr></thead>\n<tbody>";
  for (const std::vector<Cell>& row : table.rows) {
    html += "<tr>";
    for (const Cell& cell : row) {
      fmt::format_to(out, "<td{}>{}</td>", cell.is_number ? " class=\"number\"" : "", escaped(cell.text));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>";
}

std::string facts_html(const Facts& facts) {
  std::string html = "<table class=\"facts\">";
  const Out out = std::back_inserter(html);
  if (!facts.caption.empty()) fmt::format_to(out, "<caption>{}</caption>", escaped(facts.caption));
  html += "<tbody>";
  for (const auto& [name, value] : facts.values) {
    fmt::format_to(out, "<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value));
  }
  return html + "</tbody></table>";
}

std::string page_html(const Page& page, std::string_view library) {
  std::string html;
  const Out out = std::back_inserter(html);
  fmt::format_to(
      out,
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      // Nothing is loaded from elsewhere, whatever slips into the page; live pages ask their own server.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; connect-src 'self'\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n",
      escaped(page.title));
  html += page_style();
  html += "</style>\n</head>\n";
  html += page.events.empty() ? "<body>\n" : fmt::format("<body data-live=\"{}\">\n", escaped(page.events));
  fmt::format_to(out, "<header>\n<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escaped(page.title), escaped(page.lead));
  if (!page.events.empty()) html += "<p id=\"live-status\" role=\"status\"></p>\n";
  html += "</header>\n<nav aria-label=\"Sections\"><ul>";
  for (const Section& section : page.sections) {
    fmt::format_to(out, "<li><a href=\"#{}\">{}</a></li>", escaped(section.id), escaped(section.title));
  }
  html += "</ul></nav>\n<main>\n";
  std::vector<std::string> notes = page.notes;
  if (library.empty()) {
    notes.emplace_back(
        "Charts are left out, as this program was built without npm, which brings their library. To add them, install "
        "npm, build again and run \"fedsinkhorn report\".");
  }
  if (!notes.empty()) {
    html += "<ul class=\"notes\">";
    for (const std::string& note : notes) fmt::format_to(out, "<li>{}</li>", escaped(note));
    html += "</ul>\n";
  }
  Json charts = Json::object();
  for (const Section& section : page.sections) {
    write_section(out, section, !library.empty());
    for (const Chart& chart : section.charts) charts[chart.id] = chart.spec;
  }
  fmt::format_to(out, "</main>\n<footer><p>{}</p></footer>\n", escaped(page.footer));
  html += "<script type=\"application/json\" id=\"charts\">" + script_json(charts) + "</script>\n<script>";
  html += library;
  html += "</script>\n<script>\n";
  html += page_script();
  return html + "</script>\n</body>\n</html>\n";
}

}  // namespace fedsinkhorn::report
