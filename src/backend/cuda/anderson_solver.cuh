// The small least-squares problem of Anderson acceleration, by one block.
#pragma once

#include <cfloat>

#include "core/anderson_rules.hpp"

namespace fedsinkhorn::cuda::anderson_steps {

inline constexpr int kDecideThreads = 128;

/// gamma that minimises |matrix gamma - y|^2 + a little |gamma|^2, like regularized_solution() in method/anderson.cpp.
/// Uses all threads of a block; overwrites matrix and y; result in x. False if the numbers do not allow it.
struct Solver {
  int k;
  double* matrix;  // k x k, row by row
  double* normal;  // k x k
  double* y;
  double* x;
  double* scale;

  __device__ bool solve() const {
    const int t = static_cast<int>(threadIdx.x);
    __shared__ double shared_least;
    __shared__ double shared_trace;
    __shared__ bool failed;
    for (int i = t; i < k; i += kDecideThreads) scale[i] = sqrt(fabs(matrix[i * k + i]));
    __syncthreads();
    if (t == 0) {
      double largest = 0;
      for (int i = 0; i < k; ++i) largest = fmax(largest, scale[i]);
      shared_least = largest * DBL_EPSILON;
      failed = false;
    }
    __syncthreads();
    for (int i = t; i < k; i += kDecideThreads) scale[i] = fmax(scale[i], shared_least);
    __syncthreads();
    for (int e = t; e < k * k; e += kDecideThreads) matrix[e] /= scale[e / k] * scale[e % k];
    for (int i = t; i < k; i += kDecideThreads) y[i] /= scale[i];
    __syncthreads();
    for (int e = t; e < k * k; e += kDecideThreads) {  // S' S, S = the scaled matrix
      const int i = e / k;
      const int j = e % k;
      double sum = 0;
      for (int row = 0; row < k; ++row) sum += matrix[row * k + i] * matrix[row * k + j];
      normal[e] = sum;
    }
    for (int i = t; i < k; i += kDecideThreads) {  // S' y
      double sum = 0;
      for (int row = 0; row < k; ++row) sum += matrix[row * k + i] * y[row];
      x[i] = sum;
    }
    __syncthreads();
    if (t == 0) {
      double trace = 0;
      for (int i = 0; i < k; ++i) trace += normal[i * k + i];
      shared_trace = trace;
    }
    __syncthreads();
    for (int i = t; i < k; i += kDecideThreads)
      normal[i * k + i] += fedsinkhorn::anderson::kRegularization * shared_trace / k;
    __syncthreads();
    // Cholesky factorisation in place (lower triangle), and both substitutions.
    for (int i = 0; i < k; ++i) {
      const double pivot = normal[i * k + i];
      if (!(pivot > 0)) return false;
      __syncthreads();
      const double root = sqrt(pivot);
      for (int l = i + t; l < k; l += kDecideThreads) normal[l * k + i] = l == i ? root : normal[l * k + i] / root;
      __syncthreads();
      const int left = k - i - 1;
      for (int e = t; e < left * left; e += kDecideThreads) {
        const int l = i + 1 + e / left;
        const int j = i + 1 + e % left;
        if (j <= l) normal[l * k + j] -= normal[l * k + i] * normal[j * k + i];
      }
      __syncthreads();
    }
    for (int i = 0; i < k; ++i) {
      const double value = x[i] / normal[i * k + i];
      __syncthreads();
      if (t == 0) x[i] = value;
      for (int l = i + 1 + t; l < k; l += kDecideThreads) x[l] -= normal[l * k + i] * value;
      __syncthreads();
    }
    for (int i = k - 1; i >= 0; --i) {
      const double value = x[i] / normal[i * k + i];
      __syncthreads();
      if (t == 0) x[i] = value;
      for (int l = t; l < i; l += kDecideThreads) x[l] -= normal[i * k + l] * value;
      __syncthreads();
    }
    for (int i = t; i < k; i += kDecideThreads) {
      x[i] /= scale[i];
      if (!isfinite(x[i])) failed = true;
    }
    __syncthreads();
    return !failed;
  }
};

}  // namespace fedsinkhorn::cuda::anderson_steps
