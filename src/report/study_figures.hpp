// Records in groups, and figures of groups.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/study.hpp"

namespace fedsinkhorn::report {

/// Records that agree in some parameters.
struct RecordGroup {
  std::vector<Json> values;  ///< of these parameters
  std::vector<const CellRecord*> records;
};

/// Whether the parameters have all members of `wanted`, with the same values. Numbers are compared as numbers.
[[nodiscard]] bool has_parameters(const Json& parameters, const Json& wanted);
[[nodiscard]] std::vector<const CellRecord*> records_where(std::span<const CellRecord* const> records,
                                                           const Json& wanted);
/// In the order in which the groups first appear. Throws RecordError if a record lacks a parameter.
[[nodiscard]] std::vector<RecordGroup> groups_of(std::span<const CellRecord* const> records,
                                                 const std::vector<Grouping>& by);

/// The value of a parameter as people read it.
[[nodiscard]] std::string parameter_text(const Json& value);

/// NaN if no record of the group has it. Throws RecordError if it is no number, or for an unknown statistic.
[[nodiscard]] double value_of(const Figure& figure, const RecordGroup& group);
/// As it stands in a table; "not measured" if no record of the group has it.
[[nodiscard]] Cell cell_of(const Figure& figure, const RecordGroup& group);
/// A number in the format of a figure.
[[nodiscard]] std::string formatted(double value, const std::string& format);

}  // namespace fedsinkhorn::report
