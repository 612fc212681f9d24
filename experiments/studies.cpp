#include "studies.hpp"

namespace fedsinkhorn::experiments {

std::span<const Study> studies() {
  static const std::vector<Study> all = {
      breakdown::study(),       variability::study(),     step_size::study(),      delays::study(),
      local_steps::study(),     robustness::study(),      async_networks::study(), async_damping::study(),
      async_staleness::study(), async_straggler::study(), rounds::study(),
  };
  return all;
}

}  // namespace fedsinkhorn::experiments
