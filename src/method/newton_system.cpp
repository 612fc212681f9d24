#include "method/newton_system.hpp"

#include <algorithm>

namespace fedsinkhorn {

std::unique_ptr<NewtonSystem> make_newton_system(KernelAccess& kernel, const ScaledPlan& plan, int threads) {
  std::size_t size = kernel.all_columns(plan.column_scale).size();
  // Few entries of a large matrix would show where they are.
  const bool may_be_dense = kernel.may_add_up_matrices() && size <= kLargestDense;
  if (kernel.sums_are_secure() && !may_be_dense) return make_vector_system(threads);
  const std::size_t rows = plan.row_scale.size();
  if (kernel.clients() == 1 && rows * size <= kMostCopied) size = std::min(size, rows);
  return size <= kLargestDense ? make_dense_system(threads) : make_cg_system(threads);
}

}  // namespace fedsinkhorn
