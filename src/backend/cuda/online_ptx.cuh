// Tensor core instructions without a C++ intrinsic.
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

/// Start of a warpgroup's products: they see what was written to registers before.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// End of a batch of products.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until all but the newest Pending batches are complete.
template <int Pending>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

/// Results of complete products: keeps the compiler from reading them earlier.
template <int Count>
__device__ void settle(float (&d)[Count]) {
#pragma unroll
  for (float& x : d) asm volatile("" : "+f"(x)::"memory");
}

/// Descriptor of B for the tensor cores: blocks of 8 columns by 8 numbers, 128 bytes each. Along the 16 numbers the
/// next block follows at once; along the columns, after `stride` bytes.
__device__ inline std::uint64_t describe_columns(const void* first, unsigned stride) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(first));
  return (address & 0x3FFFF) >> 4 | std::uint64_t{128 >> 4} << 16 | static_cast<std::uint64_t>(stride >> 4) << 32;
}

/// D = A B + (Add ? D : 0) for the 64 x 32 results of a warpgroup over 16 numbers: A in registers, B in shared memory.
template <bool Add>
__device__ void multiply_add(float (&d)[16], const uint4& a, std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %21, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
      "{%16,%17,%18,%19}, %20, add, 1, 1, 0;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "r"(a.x), "r"(a.z), "r"(a.y), "r"(a.w), "l"(b), "n"(Add ? 1 : 0));
}

/// D = A B + (Add ? D : 0) for the 64 x 64 results of a warpgroup over 16 numbers: A in registers, B in shared memory.
template <bool Add>
__device__ void multiply_add(float (&d)[32], const uint4& a, std::uint64_t b) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
      "{%32,%33,%34,%35}, %36, add, 1, 1, 0;\n}\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a.x), "r"(a.z), "r"(a.y), "r"(a.w), "l"(b), "n"(Add ? 1 : 0));
}

}  // namespace fedsinkhorn::cuda::online
