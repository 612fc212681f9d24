// What to try after a solve that did not converge, and what to know about one that did.
#pragma once

#include <string>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// One line that names options; empty if the solve converged, was interrupted or lost a client.
[[nodiscard]] std::string hint(const Result& result, const Options& options);

/// What may be wrong with the problem itself, a line each: files of points that look transposed, an epsilon beside
/// which the costs hardly matter.
[[nodiscard]] std::vector<std::string> doubts_about_problem(const Result& result, double epsilon);

}  // namespace fedsinkhorn
