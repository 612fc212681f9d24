#include "report/sections.hpp"

namespace fedsinkhorn::report {

const std::vector<SectionEntry>& sections() {
  static const std::vector<SectionEntry> all = {
      {"overview", overview_section},     {"worst case", worst_case_section},   {"radius", radius_section},
      {"days moved", moved_days_section}, {"convergence", convergence_section}, {"plan", plan_section},
      {"targets", targets_section},       {"clients", clients_section},         {"delays", delays_section},
      {"privacy", privacy_section},       {"prediction", prediction_section},
  };
  return all;
}

}  // namespace fedsinkhorn::report
