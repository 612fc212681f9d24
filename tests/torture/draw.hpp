// What random cases are drawn with.
#pragma once

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "torture/random_case.hpp"

namespace fedsinkhorn::torture {

class Draw : public Random {
 public:
  using Random::Random;
  bool chance(double share) { return uniform() < share; }
  /// 10^t, t uniform.
  double power(double low, double high) { return std::pow(10.0, uniform(low, high)); }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }
};

/// Forbids pairs and sets the masses to those of a plan that is positive on all others, so that they fit.
void forbid_pairs(Draw& draw, Case& it);

}  // namespace fedsinkhorn::torture
