// The end of a round in dense_rounds.cuh: from the parts of r to the new v.
#pragma once

#include "backend/cuda/dense_task.cuh"
#include "core/half_step.hpp"

namespace fedsinkhorn::cuda::dense {

/// Threads that share the sum of one pair of columns.
constexpr int kMostSlices = 16;

__device__ inline float4 packed(const double* x) {
  const int2 a = make_int2(__double2loint(x[0]), __double2hiint(x[0]));
  const int2 b = make_int2(__double2loint(x[1]), __double2hiint(x[1]));
  return make_float4(__int_as_float(a.x), __int_as_float(a.y), __int_as_float(b.x), __int_as_float(b.y));
}
__device__ inline float4 packed(const float* x) { return make_float4(x[0], x[1], x[2], x[3]); }
__device__ inline void unpacked(const float4& from, double* x) {
  x[0] = __hiloint2double(__float_as_int(from.y), __float_as_int(from.x));
  x[1] = __hiloint2double(__float_as_int(from.w), __float_as_int(from.z));
}
__device__ inline void unpacked(const float4& from, float* x) {
  x[0] = from.x;
  x[1] = from.y;
  x[2] = from.z;
  x[3] = from.w;
}

__device__ inline double2 load_pair(const double* from) { return __ldcg(reinterpret_cast<const double2*>(from)); }
__device__ inline double2 load_pair(const float* from) {
  const float2 pair = __ldcg(reinterpret_cast<const float2*>(from));
  return make_double2(static_cast<double>(pair.x), static_cast<double>(pair.y));
}

/// r of the block's share of the columns, summed over the teams in slice order; v = b / r.
template <Storage storage, int rows>
__device__ RoundPart new_columns(const Task& task, int round,
                                 Shared<typename Numbers<storage>::Compute, rows>& shared) {
  using Compute = typename Numbers<storage>::Compute;
  constexpr double scale = Numbers<storage>::scale;
  constexpr int batch = 8;  // loads in flight
  const PlainRounds& rounds = task.rounds;
  const int thread = static_cast<int>(threadIdx.x), teams = task.shape.teams;
  const int begin = static_cast<int>(blockIdx.x) * task.share, end = min(begin + task.share, task.columns);
  const int pairs = min(task.share / 2, kConsumerThreads);
  const int slices = min(kConsumerThreads / pairs, kMostSlices);
  const int slice = thread / pairs;
  const double* old_v = round == 0 ? rounds.x : rounds.v;
  RoundPart part;
  for (int tile = begin; tile < end; tile += 2 * pairs) {
    const int tile_end = min(tile + 2 * pairs, end);
    const int column = tile + thread;
    const bool mine = column < tile_end;
    const double b = mine && rounds.b != nullptr ? rounds.b[column] : 0;
    const double x = b > 0 ? __ldcg(old_v + column) : 0;

    const int left = tile + 2 * (thread % pairs);
    if (slice < slices && left < end) {
      const Compute* from = static_cast<const Compute*>(task.scratch.parts_of_r) + left;
      double2 sum = make_double2(0, 0);
      for (int team = slice; team < teams; team += batch * slices) {
        double2 parts[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          const int other = team + i * slices;
          parts[i] = other < teams ? load_pair(from + other * task.scratch.pitch) : make_double2(0, 0);
        }
#pragma unroll
        for (int i = 0; i < batch; ++i) {
          sum.x += parts[i].x;
          sum.y += parts[i].y;
        }
      }
      shared.slices[thread] = sum;
    }
    sync_consumers();
    const auto finish = [&](int column_in_tile, double b_here, double x_here) {
      const double* sums = reinterpret_cast<const double*>(shared.slices) + column_in_tile;
      double r = 0;
      for (int i = 0; i < slices; ++i) r += sums[i * 2 * pairs];
      r *= scale;
      const int here = tile + column_in_tile;
      rounds.r[here] = r;
      if (rounds.b == nullptr) return;
      const double v = ScalingRule{}.scaling(b_here, r);
      rounds.v[here] = v;
      __stcg(static_cast<Compute*>(task.scratch.v) + here, static_cast<Compute>(v * scale));
      if (b_here > 0) part.meet(rounds.norm, x_here * r - b_here, r);
    };
    if (mine) finish(thread, b, x);
    if (column + kConsumerThreads < tile_end) {
      const int second = column + kConsumerThreads;
      const double second_b = rounds.b != nullptr ? rounds.b[second] : 0;
      finish(thread + kConsumerThreads, second_b, second_b > 0 ? __ldcg(old_v + second) : 0);
    }
    sync_consumers();
  }
  return part;
}

/// Call after the block's part of r is written: forms the new v of all blocks. Returns whether another round follows.
template <Storage storage, int rows>
__device__ bool finish_columns(const Task& task, int round, Shared<typename Numbers<storage>::Compute, rows>& shared) {
  const bool leader = threadIdx.x == 0;
  const unsigned blocks = gridDim.x;
  const unsigned times = static_cast<unsigned>(round) + 1;
  Meeting* meeting = task.scratch.meeting;
  sync_consumers();
  if (leader) {
    count_up(&meeting->parts_of_r);
    wait_for_count(&meeting->parts_of_r, times * (blocks + 1));
  }
  sync_consumers();
  RoundPart part = new_columns<storage, rows>(task, round, shared);
  bool go_on = false;
  if (task.rounds.b != nullptr) {
    sync_consumers();
    if (leader) count_up(&meeting->new_v);
    // combine the status while the others' v arrives
    part.join_warp(task.rounds.norm);
    if (threadIdx.x % 32 == 0) shared.of_warps[threadIdx.x / 32] = part;
    sync_consumers();
    if (threadIdx.x == 32) {
      RoundPart all;
      for (const RoundPart& of_warp : shared.of_warps) all.join(task.rounds.norm, of_warp);
      task.scratch.of_columns[(round & 1) * static_cast<int>(blocks) + static_cast<int>(blockIdx.x)] = all;
      count_up(&meeting->status[round & 1]);
    }
    if (leader) {
      wait_for_count(&meeting->new_v, times * blocks);
      // the decision of round - 1 was written before this round's parts of r were complete
      go_on = round + 1 < task.rounds.count && (round == 0 || __ldcg(&meeting->stop[round - 1]) == 0);
    }
  }
  if (leader) {
    shared.go_on[round & 1] = go_on ? 1 : 0;
    arrive(&shared.round_ended[round & 1]);
  }
  sync_consumers();
  return shared.go_on[round & 1] != 0;
}

}  // namespace fedsinkhorn::cuda::dense
