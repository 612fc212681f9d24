#include "core/marginal_error.hpp"

namespace fedsinkhorn {
namespace {

template <class Difference>
ErrorPart part_of(Norm norm, std::size_t count, const Difference& difference) {
  ErrorPart part;
  switch (norm) {
    case Norm::l1:
      for (std::size_t i = 0; i < count; ++i) part.add(std::abs(difference(i)));
      return part;
    case Norm::l2:
      for (std::size_t i = 0; i < count; ++i) part.add(difference(i) * difference(i));
      return part;
    case Norm::linf:
      for (std::size_t i = 0; i < count; ++i) part.value = worse(part.value, std::abs(difference(i)));
      return part;
  }
  return part;
}

}  // namespace

ErrorPart error_part(Norm norm, const double* scaling, const double* product, const double* mass, std::size_t count) {
  // Without mass the scaling is 0 and the product may be anything, even infinite.
  return part_of(norm, count,
                 [=](std::size_t i) { return (scaling[i] == 0 ? 0.0 : scaling[i] * product[i]) - mass[i]; });
}

ErrorPart error_part(Norm norm, const double* sums, const double* mass, std::size_t count) {
  return part_of(norm, count, [=](std::size_t i) { return sums[i] - mass[i]; });
}

ErrorPart combined(Norm norm, const ErrorPart& x, const ErrorPart& y) {
  ErrorPart both = x;
  switch (norm) {
    case Norm::l1:
    case Norm::l2: both.add(y); break;
    case Norm::linf: both = {worse(x.value, y.value), 0}; break;
  }
  return both;
}

double error_of(Norm norm, const ErrorPart& all) {
  switch (norm) {
    case Norm::l2: return std::sqrt(all.total());
    case Norm::l1:
    case Norm::linf: break;
  }
  return all.total();
}

}  // namespace fedsinkhorn
