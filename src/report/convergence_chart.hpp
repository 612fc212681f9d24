#pragma once

#include <string>
#include <vector>

#include "report/page.hpp"
#include "report/run_record.hpp"

namespace fedsinkhorn::report {

/// norm: as the errors are measured, such as "l1". tolerance: in units of the errors; 0 for none. Live pages use it
/// too.
[[nodiscard]] Chart convergence_chart(const std::vector<TracePoint>& trace, const std::string& norm, double tolerance);

}  // namespace fedsinkhorn::report
