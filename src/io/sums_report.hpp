// What a run has told other clients: in a sentence, and under policy sums in numbers (docs/privacy.md).
#pragma once

#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/result.hpp"
#include "io/result_json.hpp"

namespace fedsinkhorn {

/// What both kinds of runs, solves and worst cases, say of it.
struct SumsSeen {
  const SumsReport& sums;
  std::size_t client_count = 1;
};

/// As many numbers were seen as are unknown: the others' rows follow from them, in principle.
[[nodiscard]] bool are_rows_determined(const SumsSeen& seen);
inline constexpr const char* kRowsAreDetermined =
    "clients have seen as many sums as there are unknown numbers: with enough work any of them can compute the others' "
    "rows";
/// "14,300 numbers seen, 7,575 unknown: ...".
[[nodiscard]] std::string sums_sentence(const SumsSeen& seen);
[[nodiscard]] OrderedJson sums_json(const SumsSeen& seen, const std::string& sentence);

/// Empty for one client, and for policy private.
[[nodiscard]] std::string privacy_sentence(const SumsSeen& seen, const Options& options);

}  // namespace fedsinkhorn
