#include "studies.hpp"

namespace fedsinkhorn::experiments {

std::span<const Study> studies() {
  static const std::vector<Study> all = {
      breakdown::study(),     step_size::study(),       async_networks::study(),
      async_damping::study(), async_staleness::study(), async_straggler::study(),
  };
  return all;
}

}  // namespace fedsinkhorn::experiments
