#include "method/newton_system.hpp"

namespace fedsinkhorn {

bool is_over_rows(const KernelAccess& kernel, std::size_t columns) {
  const std::size_t rows = kernel.all_rows();
  if (kernel.clients() == 1) return rows < columns && rows * columns <= kMostCopied;
  return columns > kLargestDense && rows <= kLargestDense && rows * columns <= kMostSent && !kernel.sums_are_secure();
}

std::unique_ptr<NewtonSystem> make_newton_system(KernelAccess& kernel, const ScaledPlan& plan, int threads) {
  const std::size_t columns = kernel.all_columns(plan.column_scale).size();
  // Few entries of a large matrix would show where they are.
  const bool may_be_dense = kernel.may_add_up_matrices() && columns <= kLargestDense;
  if (kernel.sums_are_secure() && !may_be_dense) return make_vector_system(threads);
  const std::size_t size = is_over_rows(kernel, columns) ? kernel.all_rows() : columns;
  return size <= kLargestDense ? make_dense_system(threads) : make_cg_system(threads);
}

}  // namespace fedsinkhorn
