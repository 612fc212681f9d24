// Instructions of Hopper that have no name in C++: tensor cores, bulk copies and the barriers they complete on.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace fedsinkhorn::cuda::online {

/// D = A B + C for 16 x 8 results over 16 numbers; operands as fragments (see online_fragments.cuh).
__device__ inline void multiply_add(float (&d)[4], const uint4& a, std::uint32_t b0, std::uint32_t b1,
                                    const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a.x), "r"(a.z), "r"(a.y), "r"(a.w), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/// A barrier in shared memory that also counts bytes that bulk copies have brought.
class Barrier {
 public:
  __device__ void init(unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(arrivals));
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory"); }
  __device__ void arrive_expecting(unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()), "r"(bytes) : "memory");
  }
  /// Until the phase of that parity is complete.
  __device__ void wait(unsigned parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}\n" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  [[nodiscard]] __device__ unsigned address() const { return static_cast<unsigned>(__cvta_generic_to_shared(this)); }

 private:
  std::uint64_t state_;
};

/// Makes initialised barriers known to the copy engine.
__device__ inline void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Queues a copy from global to shared memory; both aligned to 16 bytes, and a multiple of 16 bytes long.
__device__ inline void bulk_copy(void* to, const void* from, unsigned bytes, Barrier& done) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(bytes), "r"(done.address())
               : "memory");
}

}  // namespace fedsinkhorn::cuda::online
