#include "studies.hpp"

namespace fedsinkhorn::experiments {

std::span<const Study> studies() {
  static const std::vector<Study> all = {
      breakdown::study(), step_size::study(), multitarget::study(), target_sweep::study(),  sensitivity::study(),
      cpu_nodes::study(), embedding::study(), calibration::study(), privacy_sweep::study(), privacy_mechanisms::study(),
  };
  return all;
}

}  // namespace fedsinkhorn::experiments
