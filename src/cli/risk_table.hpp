// A worst case in readable form.
#pragma once

#include <cstdio>
#include <string>

#include "fedsinkhorn/risk.hpp"
#include "io/risk_summary.hpp"

namespace fedsinkhorn {

/// output: the folder of the results, empty if none. Labels may be any bytes.
[[nodiscard]] std::string risk_table(const RiskResult& result, const RiskSummaryData& data,
                                     const std::string& output = "");

void print_risk(std::FILE* file, const RiskResult& result, const RiskSummaryData& data, const std::string& output = "");

}  // namespace fedsinkhorn
