#include "simd/cholesky.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "core/parallel.hpp"
#include "core/range.hpp"
#include "simd/blas_turn.hpp"
#include "simd/gemm.hpp"

// LAPACK, as in the linked OpenBLAS. Matrices are column-major: its upper triangle is our lower one.
// NOLINTNEXTLINE(readability-identifier-naming): LAPACK's name
extern "C" void dpotrf_(const char* uplo, const blasint* n, double* a, const blasint* lda, blasint* info);

namespace fedsinkhorn::cpu {
namespace {

constexpr std::size_t kTile = 128;

std::size_t tiles_of(std::size_t size) { return (size + kTile - 1) / kTile; }

Range tile(std::size_t size, std::size_t k) { return {k * kTile, std::min(size, (k + 1) * kTile)}; }

/// Tile (i, j) of the lower triangle, i >= j, counted row by row.
struct Pair {
  std::size_t i, j;
};
std::vector<Pair> lower_tiles(std::size_t first, std::size_t tiles) {
  std::vector<Pair> pairs;
  for (std::size_t i = first; i < tiles; ++i) {
    for (std::size_t j = first; j <= i; ++j) pairs.push_back({i, j});
  }
  return pairs;
}

}  // namespace

// Matrix products do as much in the time of one scattered addition.
constexpr double kFasterIfDense = 16;

void SymmetricMatrix::add_gram(const double* rows, std::size_t count, int threads) {
  const auto m = static_cast<double>(size_);
  const double most = static_cast<double>(count) * m * m / kFasterIfDense;
  SparseRows sparse;
  double pairs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double* row = rows + i * size_;
    for (std::size_t j = 0; j < size_; ++j) {
      if (row[j] == 0) continue;
      sparse.columns.push_back(static_cast<std::uint32_t>(j));
      sparse.values.push_back(row[j]);
    }
    const auto entries = static_cast<double>(sparse.columns.size() - sparse.starts.back());
    pairs += entries * entries;
    if (pairs > most) return add_dense_gram(rows, count, threads);
    sparse.starts.push_back(sparse.columns.size());
  }
  add_sparse_gram(sparse, threads);
}

// Each task adds to some rows of the matrix, in the order of B's rows.
void SymmetricMatrix::add_sparse_gram(const SparseRows& rows, int threads) {
  constexpr std::size_t rows_each = 32;
  parallel_chunks(threads, (size_ + rows_each - 1) / rows_each, [&](std::size_t chunk, std::size_t) {
    const std::size_t last = (chunk + 1) * rows_each;
    for (std::size_t i = 0; i + 1 < rows.starts.size(); ++i) {
      const std::uint32_t* begin = rows.columns.data() + rows.starts[i];
      const std::uint32_t* end = rows.columns.data() + rows.starts[i + 1];
      const double* values = rows.values.data() + rows.starts[i];
      for (const auto* at = std::lower_bound(begin, end, chunk * rows_each); at != end && *at < last; ++at) {
        double* sums = row(*at);
        const double value = values[at - begin];
        for (const auto* to = begin; to <= at; ++to) sums[*to] += value * values[to - begin];
      }
    }
  });
}

void SymmetricMatrix::add_dense_gram(const double* rows, std::size_t count, int threads) {
  const std::vector<Pair> pairs = lower_tiles(0, tiles_of(size_));
  const auto stride = static_cast<blasint>(size_);
  parallel_chunks(threads, pairs.size(), [&](std::size_t chunk, std::size_t) {
    const Range i = tile(size_, pairs[chunk].i);
    const Range j = tile(size_, pairs[chunk].j);
    double* to = row(i.first) + j.first;
    if (pairs[chunk].i != pairs[chunk].j) {
      return multiply_from_left_add(i.size(), j.size(), count, rows + i.first, size_, rows + j.first, size_, to, size_);
    }
    const BlasTurn turn;
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, static_cast<blasint>(i.size()), static_cast<blasint>(count), 1,
                rows + i.first, stride, 1, to, stride);
  });
}

void SymmetricMatrix::set_products_of_rows(const double* rows, std::size_t length, int threads) {
  const std::vector<Pair> pairs = lower_tiles(0, tiles_of(size_));
  parallel_chunks(threads, pairs.size(), [&](std::size_t chunk, std::size_t) {
    const Range i = tile(size_, pairs[chunk].i);
    const Range j = tile(size_, pairs[chunk].j);
    multiply_transposed(i.size(), j.size(), length, rows + i.first * length, length, rows + j.first * length, length,
                        row(i.first) + j.first, size_);
  });
}

std::vector<double> SymmetricMatrix::triangle() const {
  std::vector<double> result;
  result.reserve(size_ * (size_ + 1) / 2);
  for (std::size_t i = 0; i < size_; ++i) result.insert(result.end(), row(i), row(i) + i + 1);
  return result;
}

void SymmetricMatrix::set_triangle(std::span<const double> triangle) {
  const double* from = triangle.data();
  for (std::size_t i = 0; i < size_; ++i, from += i) std::copy_n(from, i + 1, row(i));
}

// L_kk L_kk' = A_kk,  L_ik = A_ik L_kk^-T,  A_ij -= L_ik L_jk' for i >= j > k.
bool SymmetricMatrix::factorize(int threads) {
  const std::size_t tiles = tiles_of(size_);
  const auto stride = static_cast<blasint>(size_);
  for (std::size_t k = 0; k < tiles; ++k) {
    const Range at = tile(size_, k);
    const auto width = static_cast<blasint>(at.size());
    double* corner = row(at.first) + at.first;
    blasint info = 0;
    {
      const BlasTurn turn;
      dpotrf_("U", &width, corner, &stride, &info);
    }
    // OpenBLAS lets what is not a number pass.
    if (info != 0 || !std::isfinite(row(at.last - 1)[at.last - 1])) return false;
    parallel_chunks(threads, tiles - k - 1, [&](std::size_t chunk, std::size_t) {
      const Range i = tile(size_, k + 1 + chunk);
      const BlasTurn turn;
      cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, static_cast<blasint>(i.size()),
                  width, 1, corner, stride, row(i.first) + at.first, stride);
    });
    const std::vector<Pair> pairs = lower_tiles(k + 1, tiles);
    parallel_chunks(threads, pairs.size(), [&](std::size_t chunk, std::size_t) {
      const Range i = tile(size_, pairs[chunk].i);
      const Range j = tile(size_, pairs[chunk].j);
      const BlasTurn turn;
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(i.size()),
                  static_cast<blasint>(j.size()), width, -1, row(i.first) + at.first, stride, row(j.first) + at.first,
                  stride, 1, row(i.first) + j.first, stride);
    });
  }
  return true;
}

void SymmetricMatrix::solve(std::span<double> x) const {
  const BlasTurn turn;
  const auto n = static_cast<blasint>(size_);
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasNonUnit, n, entries_.data(), n, x.data(), 1);
  cblas_dtrsv(CblasRowMajor, CblasLower, CblasTrans, CblasNonUnit, n, entries_.data(), n, x.data(), 1);
}

}  // namespace fedsinkhorn::cpu
