// What to try after a solve that did not converge.
#pragma once

#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// One line that names options; empty if the solve converged, was interrupted or lost a client.
[[nodiscard]] std::string hint(const Result& result, const Options& options);

}  // namespace fedsinkhorn
