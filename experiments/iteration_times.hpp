// What an iteration takes every client, without what is done once: building kernels, evaluating the result.
#pragma once

#include <string>

#include "solves.hpp"

namespace fedsinkhorn::experiments {

struct TimedRun {
  report::RunRecord run;
  Json compute;        ///< seconds per iteration, one number per client that made an iteration which builds no kernel
  Json communication;  ///< the same; waiting for others included
};

/// As record_of_solve(), with at least three iterations.
[[nodiscard]] TimedRun timed_run(const PointsProblem& problem, Options options, const std::string& transport);

/// How timed_run() counts, as a sentence.
[[nodiscard]] std::string how_clients_are_timed(const std::string& transport);

}  // namespace fedsinkhorn::experiments
