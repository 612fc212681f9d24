#include "method/newton_system.hpp"

#include <algorithm>

namespace fedsinkhorn {

std::unique_ptr<NewtonSystem> make_newton_system(KernelAccess& kernel, const ScaledPlan& plan, int threads) {
  std::size_t size = kernel.all_columns(plan.column_scale).size();
  const std::size_t rows = plan.row_scale.size();
  if (kernel.clients() == 1 && rows * size <= kMostCopied) size = std::min(size, rows);
  return size <= kLargestDense ? make_dense_system(threads) : make_cg_system(threads);
}

}  // namespace fedsinkhorn
