#include "matrix_problem.hpp"

#include <algorithm>
#include <array>

#include "core/parallel.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::bench {

MatrixProblem::MatrixProblem(std::size_t n, std::size_t m, int threads)
    : points_(rectangle_of_points(n, m)), cost_(cpu::padded<double>(n * m)) {
  parallel_chunks(threads, n, [&](std::size_t i, std::size_t) {
    for (std::size_t j = 0; j < m; ++j) {
      const double dx = points_.x[2 * i] - points_.y[2 * j];
      const double dy = points_.x[2 * i + 1] - points_.y[2 * j + 1];
      cost_[i * m + j] = dx * dx + dy * dy;
    }
  });
  std::ranges::fill(cost_.span().subspan(n * m), 0.0);
}

Problem MatrixProblem::problem(double epsilon) const {
  const std::size_t n = points_.a.size();
  const std::size_t m = points_.b.size();
  return {CostMatrix{MatrixView<double>{cost_.data(), n, m}}, epsilon, points_.a,
          MatrixView<double>{points_.b.data(), m, 1}};
}

void MatrixProblem::write_exchanged(const std::filesystem::path& folder) const {
  const std::array<std::size_t, 1> rows = {points_.a.size()};
  const std::array<std::size_t, 1> columns = {points_.b.size()};
  write_npy(folder / "X.npy", points_.y, std::array<std::size_t, 2>{columns[0], 2});
  write_npy(folder / "Y.npy", points_.x, std::array<std::size_t, 2>{rows[0], 2});
  write_npy(folder / "a.npy", points_.b, columns);
  write_npy(folder / "b.npy", points_.a, rows);
}

}  // namespace fedsinkhorn::bench
