#include "backend/cuda/anderson.hpp"
#include "core/half_step.hpp"

#include <algorithm>

#include "backend/cuda/anderson_decide.cuh"
#include "backend/cuda/anderson_state.cuh"

namespace fedsinkhorn::cuda {
namespace {

using namespace anderson_steps;

/// Reduces the numbers of all threads, in a fixed order, to `to` (kNumbers of them).
__device__ void reduce(const Numbers& own, double* to) {
  __shared__ double of_warps[kWarps][kNumbers];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int k = 0; k < kNumbers; ++k) {
    double value = k < kSums ? own.sums[k < kSums ? k : 0] : own.maxima[k < kSums ? 0 : k - kSums];
    for (int step = 16; step > 0; step /= 2) {
      const double other = __shfl_xor_sync(~0U, value, step);
      value = k < kSums ? value + other : worse(value, other);
    }
    if (lane == 0) of_warps[warp][k] = value;
  }
  __syncthreads();
  if (threadIdx.x >= kNumbers) return;
  const int k = static_cast<int>(threadIdx.x);
  double value = of_warps[0][k];
  for (int w = 1; w < kWarps; ++w) value = k < kSums ? value + of_warps[w][k] : worse(value, of_warps[w][k]);
  to[k] = value;
}

/// Stores the candidate's image and residual after the newest, its statistics in parts: targets x chunks x kNumbers.
__global__ void __launch_bounds__(kThreads)
    look_at_round(AndersonVectors vectors, Norm norm, std::size_t n, std::size_t m, const AndersonTarget* states,
                  int ring, double* images, double* residuals, double* parts) {
  const std::size_t target = blockIdx.y;
  const AndersonTarget& state = states[target];
  const int candidate = (state.newest + 1) % ring;
  double* image = images + (target * ring + candidate) * m;
  double* residual = residuals + (target * ring + candidate) * m;
  const double* latest_image = images + (target * ring + state.newest) * m;
  const double* latest_residual = residuals + (target * ring + state.newest) * m;
  Numbers own{};
  own.maxima[kLeastNegated] = -infinity();

  const std::size_t first = std::size_t{blockIdx.x} * kChunk;
  for (std::size_t i = first + threadIdx.x; i < min(n, first + kChunk); i += kThreads) {
    const double a = vectors.a[i];
    const double q = vectors.q[target * n + i];
    own.count_error(norm, kErrorA, kLargestA, vectors.u[target * n + i] * q - a);
    own.count_product(q);
    own.sums[kDual] += a * log(vectors.u_next[target * n + i] / a);  // <log(u / a), a>
  }
  own.sums[kDualAfter] = own.sums[kDual];
  for (std::size_t j = first + threadIdx.x; j < min(m, first + kChunk); j += kThreads) {
    const double b = vectors.b[target * m + j];
    if (!(b > 0)) {
      image[j] = residual[j] = 0;
      continue;
    }
    const double r = vectors.r[target * m + j];
    const double x = vectors.x[target * m + j];
    const double v = ScalingRule{}.scaling(b, r);
    const double log_image = log(v);
    const double step = log(v / x);
    const double log_x = log_image - step;
    const double log_b = log(b);
    const double weight = sqrt(b);
    image[j] = log_image;
    residual[j] = step;
    own.count_error(norm, kErrorB, kLargestB, x * r - b);
    own.count_product(r);
    own.sums[kDual] += b * (log_x - log_b);
    own.sums[kDualAfter] += b * (log_image - log_b);
    own.sums[kResidual2] += weight * step * step;
    own.sums[kWeights] += weight;
    own.sums[kResidual] += weight * step;
    own.maxima[kLargestResidual] = worse(own.maxima[kLargestResidual], fabs(step));
    if (!state.has_latest) continue;
    const double dx = weight * (log_x - (latest_image[j] - latest_residual[j]));
    own.sums[kDx] += dx;
    own.sums[kDxR] += dx * step;
    own.sums[kDxDr] += dx * (step - latest_residual[j]);
    own.maxima[kLargestStep] = worse(own.maxima[kLargestStep], fabs(log_image - latest_image[j]));
  }
  reduce(own, parts + (target * gridDim.x + blockIdx.x) * kNumbers);
}

/// <dx_i, dR> and <dx, dR_i> of the candidate's difference with the i-th kept one. parts: targets x chunks x kMost x 2.
__global__ void __launch_bounds__(kThreads)
    multiply_differences(const double* b, std::size_t m, const AndersonTarget* states, int ring, const double* images,
                         const double* residuals, double* parts) {
  const std::size_t target = blockIdx.z;
  const AndersonTarget& state = states[target];
  const int i = static_cast<int>(blockIdx.x);
  if (!state.has_latest || i >= state.known) return;
  const auto image = [&](int slot) { return images + (target * ring + slot) * m; };
  const auto residual = [&](int slot) { return residuals + (target * ring + slot) * m; };
  const int later = before(state.newest, state.known - 1 - i, ring);
  const int earlier = before(later, 1, ring);
  const int candidate = (state.newest + 1) % ring;
  const double* image_1 = image(later);
  const double* image_0 = image(earlier);
  const double* residual_1 = residual(later);
  const double* residual_0 = residual(earlier);
  const double* image_c = image(candidate);
  const double* image_l = image(state.newest);
  const double* residual_c = residual(candidate);
  const double* residual_l = residual(state.newest);
  double kept_dx_dr = 0;
  double dx_kept_dr = 0;
  const std::size_t first = std::size_t{blockIdx.y} * kPairChunk;
  for (std::size_t j = first + threadIdx.x; j < min(m, first + kPairChunk); j += kThreads) {
    const double weight = sqrt(b[target * m + j]);
    const double kept_dr = residual_1[j] - residual_0[j];
    const double kept_dx = weight * ((image_1[j] - residual_1[j]) - (image_0[j] - residual_0[j]));
    const double dr = residual_c[j] - residual_l[j];
    const double dx = weight * ((image_c[j] - residual_c[j]) - (image_l[j] - residual_l[j]));
    kept_dx_dr += kept_dx * dr;
    dx_kept_dr += dx * kept_dr;
  }
  __shared__ double of_warps[2][kWarps];
  for (int step = 16; step > 0; step /= 2) {
    kept_dx_dr += __shfl_xor_sync(~0U, kept_dx_dr, step);
    dx_kept_dr += __shfl_xor_sync(~0U, dx_kept_dr, step);
  }
  if (threadIdx.x % 32 == 0) {
    of_warps[0][threadIdx.x / 32] = kept_dx_dr;
    of_warps[1][threadIdx.x / 32] = dx_kept_dr;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += of_warps[threadIdx.x][w];
  parts[((target * gridDim.y + blockIdx.y) * kMost + i) * 2 + threadIdx.x] = sum;
}

// ---------------------------------------------------------------------------------------------------------------------

/// log x = L_k - sum_i gamma_i (L_{i+1} - L_i), where L are the images; u and v are updated if the round was accepted.
__global__ void __launch_bounds__(kThreads) move_on(AndersonVectors vectors, std::size_t n, std::size_t m,
                                                    const AndersonTarget* states, int ring, const double* images) {
  const std::size_t target = blockIdx.y;
  const AndersonTarget& state = states[target];
  const std::size_t k = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (k < n && state.accepted) vectors.u[target * n + k] = vectors.u_next[target * n + k];
  if (k >= m) return;
  const double b = vectors.b[target * m + k];
  double* v = vectors.v + target * m + k;
  double* x = vectors.x + target * m + k;
  if (state.accepted) *v = ScalingRule{}.scaling(b, vectors.r[target * m + k]);
  if (!(b > 0) || state.gammas == 0) {
    *x = *v;
    return;
  }
  const double* image = images + target * ring * m + k;
  // Differences first: near the solution they are small compared with the logarithms.
  double after = image[before(state.newest, state.gammas, ring) * m];
  double correction = 0;
  for (int i = 0; i < state.gammas; ++i) {
    const double earlier = after;
    after = image[before(state.newest, state.gammas - 1 - i, ring) * m];
    correction += state.gamma[i] * (after - earlier);
  }
  *x = exp(after - correction);
}

__global__ void begin(AndersonTarget* states, int targets, double reach, double mass) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= targets) return;
  AndersonTarget& state = states[k];
  state.known = state.newest = state.gammas = 0;
  state.has_latest = state.accepted = false;
  state.control = anderson::StepControl(reach, mass);
  state.sum_weights = state.sum_residual = 0;
}

std::size_t scratch_bytes(int memory) {
  return static_cast<std::size_t>(2 * memory * memory + 3 * memory) * sizeof(double);
}

}  // namespace

AndersonOnDevice::AndersonOnDevice(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory)
    : targets_(targets),
      rows_(rows),
      columns_(columns),
      memory_(static_cast<int>(memory)),
      states_(targets),
      images_(targets * (memory + 2) * columns),
      residuals_(targets * (memory + 2) * columns),
      parts_(targets * static_cast<std::size_t>(chunks_of(std::max(rows, columns), kChunk)) * kNumbers),
      pair_parts_(targets * static_cast<std::size_t>(chunks_of(columns, kPairChunk)) * kMost * 2),
      rounds_(targets) {
  check(
      cudaFuncSetAttribute(decide, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(scratch_bytes(kMost))),
      "asking for shared memory");
}

AndersonOnDevice::~AndersonOnDevice() = default;

double AndersonOnDevice::bytes(std::size_t targets, std::size_t rows, std::size_t columns, std::size_t memory) {
  const auto count = static_cast<double>(targets);
  const auto ring = static_cast<double>(memory + 2);
  const double parts = static_cast<double>(chunks_of(std::max(rows, columns), kChunk)) * kNumbers +
                       static_cast<double>(chunks_of(columns, kPairChunk)) * kMost * 2;
  return count * (sizeof(AndersonTarget) + sizeof(double) * (2 * ring * static_cast<double>(columns) + parts));
}

void AndersonOnDevice::restart(const AccelerationRule& rule, cudaStream_t stream) {
  begin<<<static_cast<unsigned>((targets_ + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      states_.data(), static_cast<int>(targets_), rule.reach, rule.mass);
  check(cudaGetLastError(), "restarting Anderson");
}

void AndersonOnDevice::step(const AndersonVectors& vectors, Norm norm, cudaStream_t stream) {
  const int ring = memory_ + 2;
  const auto targets = static_cast<unsigned>(targets_);
  const std::size_t longest = std::max(rows_, columns_);
  const int chunks = chunks_of(longest, kChunk);
  const int pair_chunks = chunks_of(columns_, kPairChunk);
  look_at_round<<<dim3(static_cast<unsigned>(chunks), targets), kThreads, 0, stream>>>(
      vectors, norm, rows_, columns_, states_.data(), ring, images_.data(), residuals_.data(), parts_.data());
  multiply_differences<<<dim3(static_cast<unsigned>(memory_), static_cast<unsigned>(pair_chunks), targets), kThreads, 0,
                         stream>>>(vectors.b, columns_, states_.data(), ring, images_.data(), residuals_.data(),
                                   pair_parts_.data());
  decide<<<targets, kDecideThreads, scratch_bytes(memory_), stream>>>(
      norm, memory_, ring, chunks, parts_.data(), pair_chunks, pair_parts_.data(), states_.data(), rounds_.data());
  const auto blocks = static_cast<unsigned>((longest + kThreads - 1) / kThreads);
  move_on<<<dim3(blocks, targets), kThreads, 0, stream>>>(vectors, rows_, columns_, states_.data(), ring,
                                                          images_.data());
  check(cudaGetLastError(), "an Anderson step");
}

}  // namespace fedsinkhorn::cuda
