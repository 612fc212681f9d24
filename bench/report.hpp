// What a run found out: tables for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "round_robin.hpp"

namespace fedsinkhorn::bench {

/// Cells are text already; the first column is aligned left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "12.34 ms": three to four digits.
[[nodiscard]] std::string duration_text(double seconds);
/// "1.05 (1.03-1.09)": the median and where the middle 80 % of the rounds lie.
[[nodiscard]] std::string ratio_text(const std::vector<double>& ratios);

/// Prints as it goes; keeps everything for the JSON file and the list of goals at the end.
class Report {
 public:
  void begin_section(const std::string& name, const std::string& description);
  void print(const Table& table);
  void note(const std::string& text);

  void timings(const std::vector<Timing>& timings);
  void value(const std::string& name, double value);
  void at_most(const std::string& what, double measured, double wanted);
  void at_least(const std::string& what, double measured, double wanted);

  /// All goals in one table. A missed goal is news, not an error: the machine may have been busy.
  void print_goals() const;
  void write_json(const std::filesystem::path& path, const nlohmann::ordered_json& machine) const;

 private:
  void goal(const std::string& what, double measured, const char* relation, double wanted, bool met);

  std::string section_;
  nlohmann::ordered_json sections_ = nlohmann::ordered_json::object();  // in the order they ran
};

}  // namespace fedsinkhorn::bench
