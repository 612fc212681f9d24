#include "studies.hpp"

namespace fedsinkhorn::experiments {

std::span<const Study> studies() {
  static const std::vector<Study> all = {
      breakdown::study(),      step_size::study(), toy_portfolio::study(),
      epsilon_digits::study(), online::study(),    policies::study(),
  };
  return all;
}

}  // namespace fedsinkhorn::experiments
