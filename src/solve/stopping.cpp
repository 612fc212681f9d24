#include "solve/stopping.hpp"

namespace fedsinkhorn {
namespace {

template <class Difference>
double norm_of(Norm norm, std::size_t count, const Difference& difference) {
  double total = 0;
  switch (norm) {
    case Norm::l1:
      for (std::size_t i = 0; i < count; ++i) total += std::abs(difference(i));
      return total;
    case Norm::l2:
      for (std::size_t i = 0; i < count; ++i) total += difference(i) * difference(i);
      return std::sqrt(total);
    case Norm::linf: break;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::abs(difference(i));
    if (!(x <= total)) total = x;  // written so that a NaN gets through
    if (std::isnan(total)) return total;
  }
  return total;
}

}  // namespace

double marginal_error(Norm norm, const double* scaling, const double* product, const double* mass, std::size_t count) {
  return norm_of(norm, count, [=](std::size_t i) { return scaling[i] * product[i] - mass[i]; });
}

double marginal_error(Norm norm, const double* sums, const double* mass, std::size_t count) {
  return norm_of(norm, count, [=](std::size_t i) { return sums[i] - mass[i]; });
}

void Monitor::record(std::int64_t iteration, double error_a, double error_b, std::size_t targets_left) {
  const double seconds = since_start_.seconds();
  if (trace_.empty() || iteration > trace_.back().iteration) trace_.push_back({iteration, seconds, error_a, error_b});
  if (options_.on_check) {
    options_.on_check(
        {iteration, options_.max_iterations, seconds, error_a, error_b, options_.tolerance, targets_left});
  }
}

}  // namespace fedsinkhorn
