// 2^t and roots on the device.
#pragma once

#include <cuda_runtime.h>

namespace fedsinkhorn::cuda::online {

__device__ inline double power_of_two(double t) { return exp2(t); }

/// By the special function units; relative error about 2^-22, zero below 2^-126.
__device__ inline float power_of_two(float t) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(t));
  return result;
}

/// Relative error about 2^-23.
__device__ inline float square_root(float x) {
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
__device__ inline double square_root(double x) { return sqrt(x); }

/// 2^t on the multiply-add units, which are less busy than the special function units: 2^t = 2^n 2^f with n the integer
/// nearest to t, 2^f by a polynomial of degree 5 (relative error 1e-7), and 2^n added to the exponent bits. Exactly
/// zero for t <= -127; just above, something below 2^-126.
__device__ inline float power_of_two_by_polynomial(float t) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  t = fmaxf(t, -127.0f);
  const float shifted = t + kRound;
  const float f = t - (shifted - kRound);
  float p = 1.3276472e-3f;
  p = fmaf(p, f, 9.6755413e-3f);
  p = fmaf(p, f, 5.5507133e-2f);
  p = fmaf(p, f, 2.4022120e-1f);
  p = fmaf(p, f, 6.9314697e-1f);
  p = fmaf(p, f, 1.0f);
  return __int_as_float(__float_as_int(p) + (__float_as_int(shifted) << 23));
}

}  // namespace fedsinkhorn::cuda::online
