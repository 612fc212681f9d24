#pragma once

#include <vector>

namespace fedsinkhorn {

/// The losses that are averaged. For CVaR they depend on a threshold, see tail_search.hpp.
struct Losses {
  std::vector<double> of_scenarios;
  std::vector<double> of_days;  ///< own; empty if they are not known
  double stretch = 1;           ///< how much further apart two of them can be than those given

  [[nodiscard]] bool operator==(const Losses&) const = default;
};

}  // namespace fedsinkhorn
