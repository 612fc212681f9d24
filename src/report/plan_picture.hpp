// Seconds of an iteration against the number of clients, topology by topology.
#pragma once

#include <string>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

/// An SVG of plan.curves, both axes logarithmic; where a curve turns from computing to communicating is marked.
[[nodiscard]] std::string plan_picture(const TopologyPlan& plan, const std::string& title);

}  // namespace fedsinkhorn
