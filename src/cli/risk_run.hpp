// A search for the worst case, from input files to output files.
#pragma once

#include "cli/risk_arguments.hpp"

namespace fedsinkhorn {

/// Returns the exit status. Throws like run_solve.
[[nodiscard]] int run_risk(const RiskArguments& arguments);

}  // namespace fedsinkhorn
