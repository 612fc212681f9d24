// What was predicted for a solve, beside what it took.
#pragma once

#include <cstddef>

#include "costmodel/calibrate.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// The name of a profile that the process of the solve has just made.
inline constexpr const char* kJustCalibrated = "calibrated before the solve";

/// A calibration of no more than a solve of that shape needs: a second or two.
[[nodiscard]] CalibrationPlan plan_for(const SolveShape& shape);

/// Fills result.explanation. shape: dimension, clients and options of the solve; the rest is in the result.
void explain(const Profile& profile, const SolveShape& shape, Result& result);

}  // namespace fedsinkhorn
