#include "report/plan_picture.hpp"

namespace fedsinkhorn {

std::string plan_picture(const TopologyPlan& /*plan*/, const std::string& title) {
  return "<svg>" + title + "</svg>\n";
}

}  // namespace fedsinkhorn
