// Tables and charts of the records of a study.
#pragma once

#include <string>
#include <vector>

#include "report/study.hpp"

namespace fedsinkhorn::report {

/// Throws RecordError naming what the view asks for and the records do not have.
[[nodiscard]] Table table_of(const TableView& view, const std::vector<CellRecord>& records);
/// prefix: of the chart's id.
[[nodiscard]] Chart chart_of(const ChartView& view, const std::vector<CellRecord>& records, const std::string& prefix);

}  // namespace fedsinkhorn::report
