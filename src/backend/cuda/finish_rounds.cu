#include "backend/cuda/finish_rounds.hpp"
#include "core/half_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fedsinkhorn::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;
/// Blocks that share the entries of one target.
constexpr unsigned kMostBlocks = 64;
constexpr std::size_t kEntriesPerBlock = 1024;

unsigned blocks_for(std::size_t entries) {
  const std::size_t wanted = (entries + kEntriesPerBlock - 1) / kEntriesPerBlock;
  return static_cast<unsigned>(std::clamp<std::size_t>(wanted, 1, kMostBlocks));
}

/// The contribution of some entries of one side to RoundStatus.
struct Part {
  double error;
  double least;
  double greatest;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

__device__ Part empty_part() { return {0, kInfinity, -kInfinity}; }

/// Unlike fmin and fmax, these keep a NaN.
__device__ double least_of(double x, double y) { return x < y || isnan(x) ? x : y; }
__device__ double greatest_of(double x, double y) { return x > y || isnan(x) ? x : y; }

__device__ double join_errors(double x, double y, Norm norm) { return norm == Norm::linf ? greatest_of(x, y) : x + y; }

__device__ Part join(const Part& x, const Part& y, Norm norm) {
  return {join_errors(x.error, y.error, norm), least_of(x.least, y.least), greatest_of(x.greatest, y.greatest)};
}

/// Adds one entry: the deviation of its marginal, and the sum (q or r) it came from.
__device__ void add(Part& part, double deviation, double sum, Norm norm) {
  const double size = norm == Norm::l2 ? deviation * deviation : fabs(deviation);
  part.error = join_errors(part.error, size, norm);
  part.least = least_of(part.least, sum);
  part.greatest = greatest_of(part.greatest, sum);
}

/// Joins all threads' parts, in a fixed order; valid in thread 0.
__device__ Part join_block(Part part, Norm norm) {
  __shared__ Part of_warp[kWarps];
  for (unsigned step = 16; step > 0; step /= 2) {
    const Part other = {__shfl_down_sync(~0u, part.error, step), __shfl_down_sync(~0u, part.least, step),
                        __shfl_down_sync(~0u, part.greatest, step)};
    part = join(part, other, norm);
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = part;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned warp = 1; warp < kWarps; ++warp) part = join(part, of_warp[warp], norm);
  }
  __syncthreads();
  return part;
}

/// scaling * sum; a zero scaling means no mass, whatever the sum.
__device__ double mass(double scaling, double sum) { return scaling == 0 ? 0 : scaling * sum; }

/// error of (old u) q - a, then u = a / q. Block (x, k): a share of the rows of target k.
__global__ void finish_rows(std::size_t n, const double* a, const double* q, double* u, Norm norm, Part* parts) {
  const std::size_t target = blockIdx.y;
  q += target * n;
  u += target * n;
  Part part = empty_part();
  for (std::size_t i = blockIdx.x * kThreads + threadIdx.x; i < n; i += std::size_t{gridDim.x} * kThreads) {
    add(part, mass(u[i], q[i]) - a[i], q[i], norm);
    u[i] = ScalingRule{}.scaling(a[i], q[i]);
  }
  part = join_block(part, norm);
  if (threadIdx.x == 0) parts[target * kMostBlocks + blockIdx.x] = part;
}

/// Joins `count` parts with the threads of a block, in a fixed order; valid in thread 0.
__device__ Part join_parts(const Part* parts, unsigned count, Norm norm) {
  Part part = empty_part();
  for (unsigned k = threadIdx.x; k < count; k += kThreads) part = join(part, parts[k], norm);
  return join_block(part, norm);
}

struct FinishColumns {
  std::size_t m;
  const double* b;
  const double* x;
  const double* r;
  double* v;
  Norm norm;
  const Part* row_parts;
  unsigned row_blocks;
  Part* parts;
  unsigned* arrived;
  RoundStatus* status;  ///< of this round
};

/// error of x r - b, then v = b / r. The last block of a target to arrive joins all parts into the status.
__global__ void finish_columns(FinishColumns job) {
  const std::size_t target = blockIdx.y;
  const double* b = job.b + target * job.m;
  const double* x = job.x + target * job.m;
  const double* r = job.r + target * job.m;
  double* v = job.v + target * job.m;
  Part part = empty_part();
  for (std::size_t j = blockIdx.x * kThreads + threadIdx.x; j < job.m; j += std::size_t{gridDim.x} * kThreads) {
    const double deviation = mass(x[j], r[j]) - b[j];
    if (b[j] > 0) {
      add(part, deviation, r[j], job.norm);
      v[j] = ScalingRule{}.scaling(b[j], r[j]);
    } else {
      part.error = join_errors(part.error, job.norm == Norm::l2 ? deviation * deviation : fabs(deviation), job.norm);
      v[j] = 0;
    }
  }
  part = join_block(part, job.norm);

  __shared__ bool last;
  if (threadIdx.x == 0) {
    job.parts[target * kMostBlocks + blockIdx.x] = part;
    __threadfence();
    last = atomicAdd(&job.arrived[target], 1u) == gridDim.x - 1;
    if (last) {
      job.arrived[target] = 0;
      __threadfence();
    }
  }
  __syncthreads();
  if (!last) return;
  const Part rows = join_parts(job.row_parts + target * kMostBlocks, job.row_blocks, job.norm);
  const Part columns = join_parts(job.parts + target * kMostBlocks, gridDim.x, job.norm);
  if (threadIdx.x == 0) {
    job.status[target] = {rows.error, columns.error, least_of(rows.least, columns.least),
                          greatest_of(rows.greatest, columns.greatest)};
  }
}

constexpr std::size_t kPartDoubles = sizeof(Part) / sizeof(double);

/// Parts of the rows, then of the columns.
Part* row_parts(const DeviceBuffer<double>& parts) { return reinterpret_cast<Part*>(parts.data()); }
Part* column_parts(const DeviceBuffer<double>& parts, std::size_t targets) {
  return row_parts(parts) + targets * kMostBlocks;
}

__global__ void quotients(std::size_t rows, const double* a, const double* q, double* u) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) u[blockIdx.y * rows + i] = ScalingRule{}.scaling(a[i], q[blockIdx.y * rows + i]);
}

__global__ void write_number(int number, int* to) { *to = number; }

}  // namespace

void divide(std::size_t rows, std::size_t targets, const double* a, const double* q, double* u, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((rows + kThreads - 1) / kThreads), static_cast<unsigned>(targets));
  quotients<<<grid, kThreads, 0, stream>>>(rows, a, q, u);
  check(cudaGetLastError(), "u = a / q");
}

void report_rounds(int count, int* made, cudaStream_t stream) {
  write_number<<<1, 1, 0, stream>>>(count, made);
  check(cudaGetLastError(), "counting rounds");
}

void RoundFinisher::reserve(std::size_t targets, cudaStream_t stream) {
  parts_.reserve(2 * targets * kMostBlocks * kPartDoubles);
  if (arrived_.size() >= targets) return;
  arrived_.reserve(targets);
  check(cudaMemsetAsync(arrived_.data(), 0, targets * sizeof(unsigned), stream), "clearing counters");
}

void RoundFinisher::rows(const PlainRounds& rounds, int, std::size_t n, cudaStream_t stream) {
  reserve(rounds.targets, stream);
  const dim3 grid(blocks_for(n), static_cast<unsigned>(rounds.targets));
  finish_rows<<<grid, kThreads, 0, stream>>>(n, rounds.a, rounds.q, rounds.u, rounds.norm, row_parts(parts_));
  check(cudaGetLastError(), "finishing the rows of a round");
  row_blocks_ = grid.x;
}

void RoundFinisher::columns(const PlainRounds& rounds, int index, const double* x, std::size_t m, cudaStream_t stream) {
  const dim3 grid(blocks_for(m), static_cast<unsigned>(rounds.targets));
  FinishColumns job{};
  job.m = m;
  job.b = rounds.b;
  job.x = x;
  job.r = rounds.r;
  job.v = rounds.v;
  job.norm = rounds.norm;
  job.row_parts = row_parts(parts_);
  job.row_blocks = row_blocks_;
  job.parts = column_parts(parts_, rounds.targets);
  job.arrived = arrived_.data();
  job.status = rounds.status + static_cast<std::size_t>(index) * rounds.targets;
  finish_columns<<<grid, kThreads, 0, stream>>>(job);
  check(cudaGetLastError(), "finishing the columns of a round");
}

}  // namespace fedsinkhorn::cuda
