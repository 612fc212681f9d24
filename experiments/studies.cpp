#include "studies.hpp"

namespace fedsinkhorn::experiments {

std::span<const Study> studies() {
  static const std::vector<Study> all = {
      breakdown::study(),       multitarget::study(),
      target_sweep::study(),    variability::study(),
      step_size::study(),       delays::study(),
      robustness::study(),      local_steps::study(),
      sensitivity::study(),     cpu_nodes::study(),
      embedding::study(),       calibration::study(),
      privacy_sweep::study(),   privacy_mechanisms::study(),
      toy_portfolio::study(),   epsilon_digits::study(),
      rounds::study(),          async_networks::study(),
      async_damping::study(),   async_staleness::study(),
      async_straggler::study(), online::study(),
      policies::study(),
  };
  return all;
}

}  // namespace fedsinkhorn::experiments
