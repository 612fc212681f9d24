#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn::bench {

std::string Table::text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line = "  ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c == 0 ? fmt::format("{:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string duration_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string ratio_text(const std::vector<double>& ratios) {
  return fmt::format("{:.3f} ({:.2f}-{:.2f})", median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9));
}

void Report::begin_section(const std::string& name, const std::string& description) {
  section_ = name;
  sections_[name] = {{"timings", nlohmann::ordered_json::object()},
                     {"values", nlohmann::ordered_json::object()},
                     {"goals", nlohmann::ordered_json::array()}};
  fmt::print("\n== {}: {}\n", name, description);
}

void Report::print(const Table& table) {
  fmt::print("{}", table.text());
  std::fflush(stdout);
}

void Report::note(const std::string& text) {
  fmt::print("  {}\n", text);
  std::fflush(stdout);
}

void Report::timings(const std::vector<Timing>& timings) {
  for (const Timing& timing : timings) {
    sections_[section_]["timings"][timing.name] = {
        {"median", median(timing.seconds)},
        {"least", quantile(timing.seconds, 0)},
        {"p10", quantile(timing.seconds, 0.1)},
        {"p90", quantile(timing.seconds, 0.9)},
        {"seconds", timing.seconds},
    };
  }
}

void Report::value(const std::string& name, double value) { sections_[section_]["values"][name] = value; }

void Report::at_most(const std::string& what, double measured, double wanted) {
  goal(what, measured, "<=", wanted, measured <= wanted);
}

void Report::at_least(const std::string& what, double measured, double wanted) {
  goal(what, measured, ">=", wanted, measured >= wanted);
}

void Report::goal(const std::string& what, double measured, const char* relation, double wanted, bool met) {
  sections_[section_]["goals"].push_back(
      {{"what", what}, {"measured", measured}, {"relation", relation}, {"wanted", wanted}, {"met", met}});
}

void Report::print_goals() const {
  Table table({"goal", "wanted", "measured", ""});
  int all = 0;
  int met = 0;
  for (const auto& [name, section] : sections_.items()) {
    for (const auto& goal : section["goals"]) {
      ++all;
      met += goal["met"].get<bool>() ? 1 : 0;
      table.add({fmt::format("{}: {}", name, goal["what"].get<std::string>()),
                 fmt::format("{} {:g}", goal["relation"].get<std::string>(), goal["wanted"].get<double>()),
                 fmt::format("{:.3g}", goal["measured"].get<double>()), goal["met"].get<bool>() ? "PASS" : "MISSED"});
    }
  }
  if (all > 0) fmt::print("\n{}{} of {} goals PASS\n", table.text(), met, all);
}

void Report::write_json(const std::filesystem::path& path, const nlohmann::ordered_json& machine) const {
  const nlohmann::ordered_json document = {{"machine", machine}, {"sections", sections_}};
  write_file_atomically(path, document.dump(2) + "\n");
}

}  // namespace fedsinkhorn::bench
