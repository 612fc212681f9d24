#include "backend/cuda/anderson.hpp"

#include <cfloat>

#include "core/anderson_rules.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn::cuda {

namespace {
constexpr int kMost = static_cast<int>(kMostMemory);
constexpr int kMostImages = kMost + 2;  // of the differences kept, and the candidate's
}  // namespace

/// What is remembered of a target. Points lie in a ring: the newest accepted one in slot `newest`, earlier ones before
/// it. A difference has the slot of its later point.
struct AndersonTarget {
  int known;   // differences
  int newest;  // slot
  int gammas;  // of the point to be tried; 0: the plain image
  bool has_latest;
  bool is_cut;
  bool has_rejected;
  bool has_met_noise;
  bool accepted;  // the last round
  int accepted_rounds;
  int rejected_rounds;
  double reach, radius, length;
  double floor, slack, gain;
  double residual2, largest_residual, sum_weights, sum_residual;
  double gamma[kMost];  // oldest difference first
  double sum_dx[kMostImages], sum_dr[kMostImages], dx_r[kMostImages], longest[kMostImages];
  double products[kMostImages][kMostImages];  // <dx_i, dR_j>
};

namespace {

using namespace anderson;  // the rules

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kChunk = 1024;  // entries of a vector that one block looks at
constexpr int kPairChunk = 4096;
constexpr int kDecideThreads = 128;

enum Sum : int { kErrorA, kErrorB, kDual, kDualAfter, kResidual2, kWeights, kResidual, kDx, kDxR, kDxDr, kSums };
enum Maximum : int { kLargestA, kLargestB, kLargestResidual, kLargestStep, kGreatest, kLeastNegated, kMaxima };
constexpr int kNumbers = int{kSums} + int{kMaxima};

int chunks_of(std::size_t size, int chunk) { return static_cast<int>((size + chunk - 1) / chunk); }

__device__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
/// The larger one; NaN is larger than any number.
__device__ double worse(double x, double y) { return x >= y || isnan(x) ? x : y; }
__device__ int before(int slot, int steps, int ring) { return (slot - steps % ring + ring) % ring; }

struct Numbers {
  double sums[kSums];
  double maxima[kMaxima];

  __device__ void count_error(Norm norm, Sum sum, Maximum maximum, double error) {
    sums[sum] += norm == Norm::l2 ? error * error : fabs(error);
    maxima[maximum] = worse(maxima[maximum], fabs(error));
  }
  __device__ void count_product(double product) {
    maxima[kGreatest] = worse(maxima[kGreatest], product);
    maxima[kLeastNegated] = worse(maxima[kLeastNegated], -product);
  }
};

/// The numbers of all threads, in a fixed order, to `to` (kNumbers of them).
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

/// The candidate's image and residual go into the slot after the newest; what is to be known of it into parts:
/// targets x chunks x kNumbers.
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
    const double v = b / r;
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

/// gamma that makes |matrix gamma - y|^2 + a little |gamma|^2 least, as regularized_solution() in solve/anderson.cpp
/// does. By all threads of a block; matrix and y are overwritten, the result is in x. False if the numbers do not allow
/// it.
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
    for (int i = t; i < k; i += kDecideThreads) normal[i * k + i] += kRegularization * shared_trace / k;
    __syncthreads();
    // Cholesky's factorisation in place (lower triangle), and both substitutions.
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

/// What is known of the round being judged.
struct Judged {
  double number[kNumbers];
  double kept_dx_dr[kMost];
  double dx_kept_dr[kMost];

  [[nodiscard]] __device__ double sum(Sum k) const { return number[k]; }
  [[nodiscard]] __device__ double maximum(Maximum k) const { return number[kSums + k]; }
  [[nodiscard]] __device__ double least() const { return -maximum(kLeastNegated); }
  [[nodiscard]] __device__ double greatest() const { return maximum(kGreatest); }
  [[nodiscard]] __device__ bool is_usable() const {
    return least() > 0 && greatest() < infinity() && isfinite(sum(kDual)) && isfinite(sum(kDualAfter));
  }
};

__device__ bool acceptable(const AndersonTarget& state, const Judged& judged) {
  const double dual = judged.sum(kDual);
  if (!judged.is_usable() || dual < state.floor - state.slack) return false;
  return dual > state.floor + state.slack || judged.sum(kResidual2) <= kResidualGrowth * state.residual2;
}

/// Back towards the image, and to the image itself when that is about as near as a plain step would go.
__device__ void shorten(AndersonTarget& state) {
  ++state.rejected_rounds;
  state.has_rejected = true;
  state.is_cut = true;
  state.length *= kShrink;
  state.radius = state.length;
  if (state.length >= state.largest_residual && state.rejected_rounds <= kRejectionsForFree + state.accepted_rounds) {
    for (int i = 0; i < state.gammas; ++i) state.gamma[i] *= kShrink;
  } else {
    state.gammas = 0;
    state.has_latest = false;
    state.known = 0;
  }
}

__device__ void accept(AndersonTarget& state, const Judged& judged, int memory, int ring) {
  const double dual = judged.sum(kDual);
  // The plain image cannot fall short but for noise.
  if (state.gammas == 0 && dual < state.floor - state.slack) {
    state.slack = 2 * (state.floor - dual);
    state.has_met_noise = true;
  }
  ++state.accepted_rounds;
  state.floor = judged.sum(kDualAfter);
  state.gain = state.floor - dual;
  if (state.is_cut) state.radius = fmin(fmax(state.radius, kGrow * state.length), state.reach);
  const int judged_with = state.known;
  if (state.has_rejected) state.known = min(state.known, kKeptAfterRejection);
  state.has_rejected = false;

  state.residual2 = judged.sum(kResidual2);
  state.largest_residual = judged.maximum(kLargestResidual);
  const double sum_residual = judged.sum(kResidual);
  const int candidate = (state.newest + 1) % ring;
  if (state.has_latest) {
    for (int i = 0; i < state.known; ++i) {
      const int slot = before(state.newest, state.known - 1 - i, ring);
      const int at = judged_with - state.known + i;
      state.products[slot][candidate] = judged.kept_dx_dr[at];
      state.products[candidate][slot] = judged.dx_kept_dr[at];
      state.dx_r[slot] += judged.kept_dx_dr[at];  // <dx_i, R> moves on with R
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

/// The next point, by all threads of the block.
__device__ void extrapolate(AndersonTarget& state, int ring, double* memory) {
  const int t = static_cast<int>(threadIdx.x);
  const int k = state.known;
  const bool is_all_noise = state.has_met_noise && state.gain <= kNoiseAlone * state.slack;
  __syncthreads();
  if (t == 0) {
    state.gammas = 0;
    state.length = 0;
    state.is_cut = false;
  }
  if (k == 0 || is_all_noise) return;
  Solver solver{k, memory, memory + k * k, memory + 2 * k * k, memory + 2 * k * k + k, memory + 2 * k * k + 2 * k};
  const auto slot = [&](int i) { return before(state.newest, k - 1 - i, ring); };
  for (int e = t; e < k * k; e += kDecideThreads) {
    const int i = slot(e / k);
    const double mean = state.sum_dx[i] / state.sum_weights;  // the constant that is taken out
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
  for (int i = 0; i < k; ++i) state.length += fabs(solver.x[i]) * state.longest[slot(i)];
  state.radius = fmin(fmax(state.radius, state.largest_residual), state.reach);
  state.is_cut = state.length > state.radius;
  const double factor = state.is_cut ? state.radius / state.length : 1;
  if (state.is_cut) state.length = state.radius;
  for (int i = 0; i < k; ++i) state.gamma[i] = factor * solver.x[i];
  state.gammas = k;
}

__global__ void __launch_bounds__(kDecideThreads)
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
  const bool accepted = is_proposal ? acceptable(state, judged) : judged.is_usable();
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
                    state.gain,
                    state.rejected_rounds,
                    state.gammas,
                    accepted,
                    !accepted && !is_proposal};
}

// ---------------------------------------------------------------------------------------------------------------------

/// log x = L_k - sum_i gamma_i (L_{i+1} - L_i), L being the images; u and v move on if the round was accepted.
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
  if (state.accepted) *v = b > 0 ? b / vectors.r[target * m + k] : 0.0;
  if (!(b > 0) || state.gammas == 0) {
    *x = *v;
    return;
  }
  const double* image = images + target * ring * m + k;
  // The differences come first: near the solution they are small beside the logarithms.
  double after = image[before(state.newest, state.gammas, ring) * m];
  double correction = 0;
  for (int i = 0; i < state.gammas; ++i) {
    const double earlier = after;
    after = image[before(state.newest, state.gammas - 1 - i, ring) * m];
    correction += state.gamma[i] * (after - earlier);
  }
  *x = exp(after - correction);
}

__global__ void begin(AndersonTarget* states, int targets, double reach, double slack) {
  const int k = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= targets) return;
  AndersonTarget& state = states[k];
  state.known = state.newest = state.gammas = 0;
  state.has_latest = state.is_cut = state.has_rejected = state.has_met_noise = state.accepted = false;
  state.accepted_rounds = state.rejected_rounds = 0;
  state.reach = state.radius = reach;
  state.length = 0;
  state.floor = -infinity();
  state.slack = slack;
  state.gain = infinity();
  state.residual2 = state.largest_residual = state.sum_weights = state.sum_residual = 0;
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
  check(cudaFuncSetAttribute(decide, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(scratch_bytes(memory_))),
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
      states_.data(), static_cast<int>(targets_), rule.reach, kRounding * rule.mass);
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
