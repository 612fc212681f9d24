#include "simd/gemm.hpp"

#include <cblas.h>

#include <mutex>

#include "simd/blas_turn.hpp"

// The linked OpenBLAS has no threads: we divide the work among ours, so that all of them use a block of K while it is
// in cache. Debian's build also has no lock for the buffers of simultaneous products. These two functions add one; the
// linker inserts them (--wrap in cmake/Dependencies.cmake).
namespace {
std::mutex buffers;
}

// NOLINTBEGIN(readability-identifier-naming): the linker's names
extern "C" {
void* __real_blas_memory_alloc(int position);
void __real_blas_memory_free(void* buffer);
[[gnu::visibility("hidden")]] void* __wrap_blas_memory_alloc(int position);
[[gnu::visibility("hidden")]] void __wrap_blas_memory_free(void* buffer);

void* __wrap_blas_memory_alloc(int position) {
  const std::lock_guard lock(buffers);
  return __real_blas_memory_alloc(position);
}

void __wrap_blas_memory_free(void* buffer) {
  const std::lock_guard lock(buffers);
  __real_blas_memory_free(buffer);
}
}
// NOLINTEND(readability-identifier-naming)

namespace fedsinkhorn::cpu {
namespace {

blasint size(std::size_t value) { return static_cast<blasint>(value); }

}  // namespace

void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                         std::size_t ldb, double* c, std::size_t ldc) {
  const BlasTurn turn;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
                         std::size_t ldb, float* c, std::size_t ldc) {
  const BlasTurn turn;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

void multiply_add(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc) {
  const BlasTurn turn;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 1, c,
              size(ldc));
}

void multiply_from_left_add(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda,
                            const double* b, std::size_t ldb, double* c, std::size_t ldc) {
  const BlasTurn turn;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 1, c,
              size(ldc));
}

void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
              std::size_t ldb, float* c, std::size_t ldc) {
  const BlasTurn turn;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

}  // namespace fedsinkhorn::cpu
