// Barriers in shared memory, bulk copies that complete on them, and messages between blocks of a cluster.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace fedsinkhorn::cuda {

using Barrier = std::uint64_t;

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void init(Barrier* barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

/// Call after init, before another thread, block of the cluster or copy uses the barriers.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void arrive(Barrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/// Arrivals of a warp that arrives as one. compute-sanitizer's racecheck does not know that __syncwarp() orders memory,
/// so in a build for it every lane arrives by itself.
#ifdef FEDSINKHORN_RACECHECK
inline constexpr std::uint32_t kArrivalsOfWarp = 32;
#else
inline constexpr std::uint32_t kArrivalsOfWarp = 1;
#endif

/// All lanes have finished with what the barrier guards.
__device__ inline void arrive_as_warp(Barrier* barrier) {
  __syncwarp();
  if (kArrivalsOfWarp == 32 || (threadIdx.x & 31) == 0) arrive(barrier);
}

/// Arrives; the phase ends only after that many bytes have been copied.
__device__ inline void arrive_expecting(Barrier* barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

/// Waits until the phase of that parity has ended.
__device__ inline void wait(Barrier* barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

/// Whether the phase has ended.
__device__ inline bool has_ended(Barrier* barrier, std::uint32_t parity) {
  std::uint32_t ended = 0;
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 ended, [%1], %2;\n"
      "selp.u32 %0, 1, 0, ended;\n"
      "}"
      : "=r"(ended)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
}

/// Waits for what other blocks of the cluster have sent.
__device__ inline void wait_for_cluster(Barrier* barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

/// Addresses and sizes are multiples of 16 bytes.
__device__ inline void copy_to_shared(void* to, const void* from, std::uint32_t bytes, Barrier* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

__device__ inline std::uint32_t cluster_rank() {
  std::uint32_t rank = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// All threads of all blocks of the cluster.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Writes to the same address in another block of the cluster; 8 bytes complete on its barrier.
__device__ inline void send(double value, const double* place, const Barrier* barrier, std::uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 place, barrier;\n"
      "mapa.shared::cluster.u32 place, %0, %2;\n"
      "mapa.shared::cluster.u32 barrier, %1, %2;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [place], %3, [barrier];\n"
      "}" ::"r"(shared_address(place)),
      "r"(shared_address(barrier)), "r"(rank), "l"(__double_as_longlong(value))
      : "memory");
}

/// Synchronizes warps of a block from different places in the code; barrier 0 is __syncthreads().
template <int id, int threads>
__device__ inline void sync_some() {
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
}

/// Counters in global memory that only grow; blocks use them to wait for each other. Call from one thread. What the
/// thread's block wrote before a sync is visible to threads that waited.
__device__ inline void count_up(unsigned* counter) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

/// True in the last of `all` threads that call it. That thread sees what the others did before.
__device__ inline bool is_last(unsigned* counter, unsigned all) {
  unsigned before = 0;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before == all - 1;
}

/// Not ordered with other memory accesses.
__device__ inline void count_up_loosely(unsigned* counter) {
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}

__device__ inline unsigned count_of(const unsigned* counter) {
  unsigned seen = 0;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  return seen;
}

__device__ inline void wait_for_count(const unsigned* counter, unsigned count) {
  unsigned seen = 0;
  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
  } while (seen < count);
}

}  // namespace fedsinkhorn::cuda
