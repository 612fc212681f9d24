// Matrix products, row-major, on the calling thread.
#pragma once

#include <cstddef>

namespace fedsinkhorn::cpu {

/// C (m x n) = A (m x k) B' where B is n x k.
void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                         std::size_t ldb, double* c, std::size_t ldc);
void multiply_transposed(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
                         std::size_t ldb, float* c, std::size_t ldc);

/// C (m x n) += A (m x k) B where B is k x n.
void multiply_add(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda, const double* b,
                  std::size_t ldb, double* c, std::size_t ldc);

/// C (m x n) = A (m x k) B where B is k x n.
void multiply(std::size_t m, std::size_t n, std::size_t k, const float* a, std::size_t lda, const float* b,
              std::size_t ldb, float* c, std::size_t ldc);

/// C (m x n) += A' B where A is k x m and B is k x n.
void multiply_from_left_add(std::size_t m, std::size_t n, std::size_t k, const double* a, std::size_t lda,
                            const double* b, std::size_t ldb, double* c, std::size_t ldc);

}  // namespace fedsinkhorn::cpu
