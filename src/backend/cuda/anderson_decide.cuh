// Whether a round is accepted, and where the next one starts: one block per target.
#pragma once

#include "backend/cuda/anderson.hpp"
#include "backend/cuda/anderson_solver.cuh"
#include "backend/cuda/anderson_state.cuh"

namespace fedsinkhorn::cuda::anderson_steps {

/// Statistics of the round being judged.
struct Judged {
  double number[kNumbers];
  double kept_dx_dr[kMost];
  double dx_kept_dr[kMost];

  [[nodiscard]] __device__ double sum(Sum k) const { return number[k]; }
  [[nodiscard]] __device__ double maximum(Maximum k) const { return number[kSums + k]; }
  [[nodiscard]] __device__ double least() const { return -maximum(kLeastNegated); }
  [[nodiscard]] __device__ double greatest() const { return maximum(kGreatest); }
  [[nodiscard]] __device__ Seen seen() const {
    const bool usable = least() > 0 && greatest() < infinity() && isfinite(sum(kDual)) && isfinite(sum(kDualAfter));
    return {usable, sum(kDual), sum(kDualAfter), sum(kResidual2), maximum(kLargestResidual)};
  }
};

/// Moves back towards the image, or to the image itself.
__device__ inline void shorten(AndersonTarget& state) {
  if (state.control.reject()) {
    for (int i = 0; i < state.gammas; ++i) state.gamma[i] *= kShrink;
  } else {
    state.gammas = 0;
    state.has_latest = false;
    state.known = 0;
  }
}

__device__ inline void accept(AndersonTarget& state, const Judged& judged, int memory, int ring) {
  const int judged_with = state.known;
  if (state.control.accept(judged.seen(), state.gammas == 0)) state.known = min(state.known, kKeptAfterRejection);

  const double sum_residual = judged.sum(kResidual);
  const int candidate = (state.newest + 1) % ring;
  if (state.has_latest) {
    for (int i = 0; i < state.known; ++i) {
      const int slot = before(state.newest, state.known - 1 - i, ring);
      const int at = judged_with - state.known + i;
      state.products[slot][candidate] = judged.kept_dx_dr[at];
      state.products[candidate][slot] = judged.dx_kept_dr[at];
      state.dx_r[slot] += judged.kept_dx_dr[at];  // <dx_i, R> changes with R
    }
    state.products[candidate][candidate] = judged.sum(kDxDr);
    state.sum_dx[candidate] = judged.sum(kDx);
    state.sum_dr[candidate] = sum_residual - state.sum_residual;
    state.dx_r[candidate] = judged.sum(kDxR);
    state.longest[candidate] = judged.maximum(kLargestStep);
    state.known = min(state.known + 1, memory);
  }
  state.newest = candidate;
  state.has_latest = true;
  state.sum_residual = sum_residual;
  state.sum_weights = judged.sum(kWeights);
}

/// The next point, computed by all threads of the block.
__device__ inline void extrapolate(AndersonTarget& state, int ring, double* memory) {
  const int t = static_cast<int>(threadIdx.x);
  const int k = state.known;
  const bool is_all_noise = state.control.is_all_noise();
  __syncthreads();
  if (t == 0) {
    state.gammas = 0;
    state.control.step_plainly();
  }
  if (k == 0 || is_all_noise) return;
  Solver solver{k, memory, memory + k * k, memory + 2 * k * k, memory + 2 * k * k + k, memory + 2 * k * k + 2 * k};
  const auto slot = [&](int i) { return before(state.newest, k - 1 - i, ring); };
  for (int e = t; e < k * k; e += kDecideThreads) {
    const int i = slot(e / k);
    const double mean = state.sum_dx[i] / state.sum_weights;  // the constant to remove
    solver.matrix[e] = state.products[i][slot(e % k)] - mean * state.sum_dr[slot(e % k)];
  }
  for (int e = t; e < k; e += kDecideThreads) {
    const int i = slot(e);
    solver.y[e] = state.dx_r[i] - state.sum_dx[i] / state.sum_weights * state.sum_residual;
  }
  __syncthreads();
  const bool solved = solver.solve();
  __syncthreads();
  if (t != 0) return;
  if (!solved) {
    state.known = 0;
    return;
  }
  double length = 0;
  for (int i = 0; i < k; ++i) length += fabs(solver.x[i]) * state.longest[slot(i)];
  const double share = state.control.share_of_step(length);
  for (int i = 0; i < k; ++i) state.gamma[i] = share * solver.x[i];
  state.gammas = k;
}

static __global__ void __launch_bounds__(kDecideThreads)
    decide(Norm norm, int memory, int ring, int chunks, const double* parts, int pair_chunks, const double* pair_parts,
           AndersonTarget* states, AndersonRound* rounds) {
  extern __shared__ double scratch[];
  __shared__ Judged judged;
  const std::size_t target = blockIdx.x;
  AndersonTarget& state = states[target];
  const int t = static_cast<int>(threadIdx.x);
  if (t < kNumbers) {
    double value = parts[target * chunks * kNumbers + t];
    for (int c = 1; c < chunks; ++c) {
      const double next = parts[(target * chunks + c) * kNumbers + t];
      value = t < kSums ? value + next : worse(value, next);
    }
    judged.number[t] = value;
  }
  if (state.has_latest && t < state.known) {
    double first = 0;
    double second = 0;
    for (int c = 0; c < pair_chunks; ++c) {
      const double* pair = pair_parts + ((target * pair_chunks + c) * kMost + t) * 2;
      first += pair[0];
      second += pair[1];
    }
    judged.kept_dx_dr[t] = first;
    judged.dx_kept_dr[t] = second;
  }
  __syncthreads();

  const bool is_proposal = state.gammas > 0;
  const Seen seen = judged.seen();
  const bool accepted = is_proposal ? state.control.accepts(seen) : seen.usable;
  __syncthreads();
  if (t == 0) {
    if (accepted) {
      accept(state, judged, memory, ring);
    } else if (is_proposal) {
      shorten(state);
    }
    state.accepted = accepted;
  }
  __syncthreads();
  if (accepted) extrapolate(state, ring, scratch);
  __syncthreads();
  if (t != 0) return;
  const bool largest = norm == Norm::linf;
  rounds[target] = {{largest ? judged.maximum(kLargestA) : judged.sum(kErrorA),
                     largest ? judged.maximum(kLargestB) : judged.sum(kErrorB), judged.least(), judged.greatest()},
                    state.control.gain,
                    static_cast<int>(state.control.rejected),
                    state.gammas,
                    accepted,
                    !accepted && !is_proposal};
}

}  // namespace fedsinkhorn::cuda::anderson_steps
