// The result of a solve in readable form.
#pragma once

#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// output: the folder of the results, empty if none.
[[nodiscard]] std::string summary_table(const Result& result, const Options& options, double epsilon,
                                        const std::string& output);

/// Prints the table. quiet: prints only one line on standard error if the solve did not converge.
void print_outcome(const Result& result, const Options& options, double epsilon, const std::string& output, bool quiet);

}  // namespace fedsinkhorn
