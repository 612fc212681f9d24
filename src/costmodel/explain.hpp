// What was predicted for a solve, beside what it took.
#pragma once

#include <cstddef>

#include "costmodel/calibrate.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Median over the steps from check to check, without the first ones, in which passes are tuned.
[[nodiscard]] double seconds_of_iteration(const Result& result);

/// A calibration of no more than a solve of that shape needs: a second or two.
[[nodiscard]] CalibrationPlan plan_for(const SolveShape& shape);

/// Fills result.explanation. is_of_this_process: it has just calibrated itself, so its peak memory tells nothing.
/// shape: dimension, clients and options of the solve; the rest is in the result.
void explain(const Profile& profile, bool is_of_this_process, const SolveShape& shape, Result& result);

}  // namespace fedsinkhorn
