// The result of a solve as a person reads it.
#pragma once

#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// output: the folder results were written to, empty if none.
[[nodiscard]] std::string summary_table(const Result& result, const Options& options, double epsilon,
                                        const std::string& output);

/// Prints the table. quiet: nothing, but for a solve that did not converge one line on standard error.
void print_outcome(const Result& result, const Options& options, double epsilon, const std::string& output, bool quiet);

}  // namespace fedsinkhorn
