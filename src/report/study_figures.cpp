#include "report/study_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include "core/memory.hpp"
#include "report/number_text.hpp"
#include "report/record_json.hpp"

namespace fedsinkhorn::report {
namespace {

using Numbers = std::vector<double>;

/// Linear interpolation between the sorted values; share in [0, 1].
double quantile(const Numbers& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  // Runs that did not end are infinite: 0 times that, and the difference of two, would be NaN.
  if (part == 0 || sorted[below] == sorted[above]) return sorted[below];
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double mean_of(const Numbers& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const Numbers& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

struct Statistic {
  std::string_view name;
  double (*of)(const Numbers& sorted);
};
constexpr std::array kStatistics = {
    Statistic{"median", [](const Numbers& sorted) { return quantile(sorted, 0.5); }},
    Statistic{"quartiles", [](const Numbers& sorted) { return quantile(sorted, 0.5); }},
    Statistic{"mean", mean_of},
    Statistic{"deviation", deviation_of},
    Statistic{"least", [](const Numbers& sorted) { return sorted.front(); }},
    Statistic{"most", [](const Numbers& sorted) { return sorted.back(); }},
    Statistic{"sum", [](const Numbers& sorted) { return std::accumulate(sorted.begin(), sorted.end(), 0.0); }},
    Statistic{"first", [](const Numbers& sorted) { return sorted.front(); }},
};

const Statistic& statistic_named(const std::string& name) {
  const auto* const found = std::ranges::find(kStatistics, std::string_view(name), &Statistic::name);
  if (found == kStatistics.end()) throw RecordError(fmt::format("no statistic '{}'", name));
  return *found;
}

/// Those that the records have, sorted. A list counts as its numbers.
Numbers numbers_of(const Figure& figure, const RecordGroup& group) {
  Numbers values;
  const auto add = [&](const Json& value) {
    if (value.is_number()) {
      values.push_back(value.get<double>());
    } else if (value == kInfinite) {
      values.push_back(std::numeric_limits<double>::infinity());
    } else if (!value.is_null()) {
      throw RecordError(fmt::format("'{}' is not a number", figure.key));
    }
  };
  for (const CellRecord* record : records_where(group.records, figure.where)) {
    if (!has(record->measured, figure.key)) continue;
    const Json& value = member(record->measured, figure.key);
    if (value.is_array()) {
      for (const Json& element : value) add(element);
    } else {
      add(value);
    }
  }
  std::ranges::sort(values);
  return values;
}

Cell text_cell(const Figure& figure, const RecordGroup& group) {
  for (const CellRecord* record : records_where(group.records, figure.where)) {
    if (has(record->measured, figure.key)) return {text(record->measured, figure.key)};
  }
  return {"not measured"};
}

/// Three digits: 0.0123, 4.5, 12,300, 1.23 × 10⁷.
std::string short_number(double value) {
  const double rounded = std::stod(fmt::format("{:.2e}", value));
  if (rounded >= 1000 && rounded < 1e6) return count_text(static_cast<std::uint64_t>(rounded));
  return number_text(rounded);
}

}  // namespace

bool has_parameters(const Json& parameters, const Json& wanted) {
  return std::ranges::all_of(wanted.items(), [&](const auto& item) {
    return parameters.contains(item.key()) && parameters.at(item.key()) == item.value();
  });
}

std::vector<const CellRecord*> records_where(std::span<const CellRecord* const> records, const Json& wanted) {
  std::vector<const CellRecord*> some;
  for (const CellRecord* record : records) {
    if (has_parameters(record->parameters, wanted)) some.push_back(record);
  }
  return some;
}

std::vector<RecordGroup> groups_of(std::span<const CellRecord* const> records, const std::vector<Grouping>& by) {
  std::vector<RecordGroup> groups;
  for (const CellRecord* record : records) {
    std::vector<Json> values;
    values.reserve(by.size());
    for (const Grouping& grouping : by) {
      if (!has(record->parameters, grouping.parameter)) {
        throw RecordError(fmt::format("cells/{}.json: '{}' is missing", record->cell, grouping.parameter));
      }
      values.push_back(member(record->parameters, grouping.parameter));
    }
    auto group = std::ranges::find(groups, values, &RecordGroup::values);
    if (group == groups.end()) group = groups.insert(groups.end(), {values, {}});
    group->records.push_back(record);
  }
  return groups;
}

std::string parameter_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return count_text(value.get<std::uint64_t>());
  if (value.is_number()) return number_text(value.get<double>());
  return value.dump();
}

double value_of(const Figure& figure, const RecordGroup& group) {
  const Statistic& statistic = statistic_named(figure.statistic);
  const Numbers values = numbers_of(figure, group);
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : statistic.of(values);
}

std::string formatted(double value, const std::string& format) {
  if (std::isnan(value)) return "not measured";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  if (format == "seconds") return seconds_text(value);
  if (format == "percent") return short_number(100 * value) + " %";
  if (format == "bytes") return human_bytes(static_cast<std::uint64_t>(std::max(0.0, value)));
  if (format == "count" && value >= 0 && value < 1e15) {
    return count_text(static_cast<std::uint64_t>(std::llround(value)));
  }
  if (format == "precise") return number_text(value);
  if (format == "number" || format == "count") return short_number(value);
  throw RecordError(fmt::format("no format '{}'", format));
}

Cell cell_of(const Figure& figure, const RecordGroup& group) {
  if (figure.format == "text") return text_cell(figure, group);
  const double value = value_of(figure, group);
  if (figure.statistic != "quartiles" || std::isnan(value)) return {formatted(value, figure.format), true};
  const Numbers values = numbers_of(figure, group);
  return {fmt::format("{} [{}, {}]", formatted(value, figure.format), formatted(quantile(values, 0.25), figure.format),
                      formatted(quantile(values, 0.75), figure.format)),
          true};
}

}  // namespace fedsinkhorn::report
