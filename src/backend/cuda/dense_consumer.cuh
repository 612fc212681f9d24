// The consumers of dense_rounds.cuh: K v and r += u K, from the ring.
#pragma once

#include "backend/cuda/dense_columns.cuh"
#include "backend/cuda/dense_task.cuh"

namespace fedsinkhorn::cuda::dense {

/// Sums over the warp of `count` numbers a lane, count a power of two: lane i * 32 / count has the sum of number i. The
/// bits do not depend on i.
template <class Compute, int count>
__device__ Compute sum_warp(Compute (&x)[count]) {
  const unsigned lane = threadIdx.x & 31;
  unsigned distance = 16;
#pragma unroll
  for (int width = count / 2; width > 0; width /= 2, distance /= 2) {
    const bool upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const Compute other = __shfl_xor_sync(~0U, upper ? x[i] : x[i + width], distance);
      x[i] = (upper ? x[i + width] : x[i]) + other;
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2) x[0] += __shfl_xor_sync(~0U, x[0], distance);
  return x[0];
}

/// A thread of the consumers: its columns of v and of the sum of r, in registers, and how far it has come.
template <Storage storage, int groups, int rows>
class Consumer {
  using Compute = typename Numbers<storage>::Compute;
  using SharedByAll = Shared<Compute, rows>;
  static constexpr int per_group = Numbers<storage>::per_group;
  // 16 bytes at a time: first and per_group are such that all of these are aligned
  static constexpr int per_store = 16 / sizeof(Compute), stores = per_group / per_store;

 public:
  __device__ __forceinline__ Consumer(const Task& task, const Place& place, SharedByAll& shared,
                                      const unsigned char* ring)
      : task_(task), place_(place), shared_(shared), ring_(ring), first_(place.rank * task.shape.part_columns) {}

  __device__ __forceinline__ void load_first_v() {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
#pragma unroll
      for (int e = 0; e < per_group; ++e) {
        const std::size_t column = first_ + number_of(g) * per_group + e;
        const bool inside = number_of(g) < place_.groups && column < task_.columns;
        v_[g][e] =
            inside ? static_cast<Compute>(__ldcg(task_.rounds.x + column) * Numbers<storage>::scale) : Compute{0};
      }
    }
  }

  /// One pass over the rows of the team.
  __device__ __forceinline__ void make_round() {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
#pragma unroll
      for (int e = 0; e < per_group; ++e) r_[g][e] = 0;
    }
    // The next step's dots come before this step's sums, so that the reducer's latency hides behind them, unless their
    // rows are still on their way: then this step's slot is free the sooner.
    for (int dots = 0, sums = 0; sums < place_.steps;) {
      const bool early = dots == sums + 1 && dots < place_.steps && rows_have_come();
      if (dots == sums || early) {
        make_dots();
        ++dots;
      } else {
        add_rows();
        ++sums;
      }
    }
  }

  __device__ __forceinline__ void store_r() const {
    Compute* parts_of_r = static_cast<Compute*>(task_.scratch.parts_of_r) + place_.team * task_.scratch.pitch + first_;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if (number_of(g) >= place_.groups) continue;
#pragma unroll
      for (int i = 0; i < stores; ++i) {
        __stcg(reinterpret_cast<float4*>(parts_of_r + number_of(g) * per_group + i * per_store),
               packed(&r_[g][i * per_store]));
      }
    }
  }

  __device__ __forceinline__ void load_v() {
    const Compute* new_v = static_cast<const Compute*>(task_.scratch.v) + first_;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if (number_of(g) >= place_.groups) continue;
#pragma unroll
      for (int i = 0; i < stores; ++i) {
        unpacked(__ldcg(reinterpret_cast<const float4*>(new_v + number_of(g) * per_group + i * per_store)),
                 &v_[g][i * per_store]);
      }
    }
  }

 private:
  __device__ __forceinline__ static std::uint32_t number_of(int g) {
    return static_cast<std::uint32_t>(g * kConsumerThreads) + threadIdx.x;
  }
  // groups after the end of the part: the last one again, with v = 0 there and r never looked at
  __device__ __forceinline__ uint4 group_at(const unsigned char* row, int g) const {
    return reinterpret_cast<const uint4*>(row)[min(number_of(g), place_.groups - 1)];
  }
  __device__ __forceinline__ std::uint32_t slots() const { return static_cast<std::uint32_t>(task_.shape.slots); }
  __device__ __forceinline__ bool rows_have_come() const {
    return __any_sync(~0U, has_ended(&shared_.full[dotted_.slot], dotted_.parity)) != 0;
  }

  __device__ __forceinline__ void make_dots() {
    wait(&shared_.full[dotted_.slot], dotted_.parity);
    const unsigned char* slot = ring_ + dotted_.slot * task_.shape.slot_bytes;
    Compute sums[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      Compute chains[2] = {};
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        Compute x[per_group];
        Numbers<storage>::unpack(group_at(slot + i * place_.bytes, g), x);
#pragma unroll
        for (int e = 0; e < per_group; ++e) chains[e & 1] += x[e] * v_[g][e];
      }
      sums[i] = chains[0] + chains[1];
    }
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const Compute sum = sum_warp<Compute, rows>(sums);
    const unsigned buffer = dots_made_ & 1U;
    if (lane % (32 / rows) == 0) shared_.dots[buffer][lane / (32 / rows)][warp] = sum;
    arrive_as_warp(&shared_.dots_ready[buffer]);
    dotted_.next(slots());
    ++dots_made_;
  }

  __device__ __forceinline__ void add_rows() {
    const unsigned buffer = rows_added_ & 1U;
    wait(&shared_.u_ready[buffer], (rows_added_ >> 1) & 1U);
    const unsigned char* slot = ring_ + added_.slot * task_.shape.slot_bytes;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const Compute u = shared_.u[buffer][i];
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        Compute x[per_group];
        Numbers<storage>::unpack(group_at(slot + i * place_.bytes, g), x);
#pragma unroll
        for (int e = 0; e < per_group; ++e) r_[g][e] += u * x[e];
      }
    }
    arrive_as_warp(&shared_.empty[added_.slot]);
    added_.next(slots());
    ++rows_added_;
  }

  const Task& task_;
  const Place& place_;
  SharedByAll& shared_;
  const unsigned char* ring_;
  std::size_t first_;
  Compute v_[groups][per_group], r_[groups][per_group];
  Cursor dotted_, added_;
  std::uint32_t dots_made_ = 0, rows_added_ = 0;
};

template <Storage storage, int groups, int rows>
__device__ void consume(const Task& task, const Place& place, Shared<typename Numbers<storage>::Compute, rows>& shared,
                        const unsigned char* ring) {
  Consumer<storage, groups, rows> consumer(task, place, shared, ring);
  consumer.load_first_v();
  for (int round = 0;; ++round) {
    consumer.make_round();
    consumer.store_r();
    if (!finish_columns<storage, rows>(task, round, shared)) return;
    consumer.load_v();
  }
}

}  // namespace fedsinkhorn::cuda::dense
