// Is a result what it says it is, and is it the answer?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fedsinkhorn/result.hpp"
#include "torture/random_case.hpp"

namespace fedsinkhorn::torture {

enum class Outcome {
  right,             ///< converged, and right
  refused,           ///< as it had to be
  not_converged,     ///< within the iterations allowed, and says so
  slower_than_plain  ///< the same, where plain Sinkhorn would have converged: an acceleration that stalls
};

/// Of a solve from a given g, beside one without it.
enum class Start { none, fine, slower };

struct Verdict {
  Outcome outcome = Outcome::right;
  std::vector<std::string> complaints;  ///< none: nothing is wrong
  std::int64_t iterations = 0;
  Start start = Start::none;
};

/// plan: what the program says the plan is, targets x n x m; empty: not looked at.
[[nodiscard]] Verdict judge(const Case& it, const Result& result, const std::vector<double>& plan);

/// Of a case solved in this process.
[[nodiscard]] Verdict solve_and_judge(const Case& it);

}  // namespace fedsinkhorn::torture
