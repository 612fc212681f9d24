#include "backend/cpu/gemm.hpp"

#include <cblas.h>

namespace fedsinkhorn::cpu {
namespace {

// We divide the work among threads ourselves, so that a block of K is used by all of them while it is in cache; the
// library must not start threads of its own inside ours.
void run_on_the_calling_thread() {
  static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
  (void)once;
}

blasint size(std::size_t value) { return static_cast<blasint>(value); }

}  // namespace

void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                         std::size_t ldb, double* c, std::size_t ldc) {
  run_on_the_calling_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
                         std::size_t ldb, float* c, std::size_t ldc) {
  run_on_the_calling_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

void multiply_add(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc) {
  run_on_the_calling_thread();
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 1, c,
              size(ldc));
}

void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
              std::size_t ldb, float* c, std::size_t ldc) {
  run_on_the_calling_thread();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(lda), b, size(ldb), 0, c,
              size(ldc));
}

}  // namespace fedsinkhorn::cpu
