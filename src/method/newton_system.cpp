#include "method/newton_system.hpp"

#include <algorithm>

namespace fedsinkhorn {
namespace {

/// Up to here a factor of the whole matrix takes less time than the products that it saves.
constexpr std::size_t kLargestDense = 1024;

}  // namespace

std::unique_ptr<NewtonSystem> make_newton_system(KernelAccess& kernel, const ScaledPlan& plan, int threads) {
  std::size_t size = kernel.all_columns(plan.column_scale).size();
  if (kernel.clients() == 1) size = std::min(size, plan.row_scale.size());
  return size <= kLargestDense ? make_dense_system(threads) : make_cg_system(threads);
}

}  // namespace fedsinkhorn
