// Where the mass of a plan goes in the plane: of some points, or of blocks of pixels.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "fedsinkhorn/problem.hpp"
#include "report/plan_view.hpp"

namespace fedsinkhorn {

/// Pixels of two images, whose rows and columns are joined to those of the plan row by row.
struct ImageShapes {
  std::size_t a_height = 0;
  std::size_t a_width = 0;
  std::size_t b_height = 0;
  std::size_t b_width = 0;
};

/// Takes rows of the plan, in order, and keeps what is drawn of them.
class FlowCollector {
 public:
  virtual ~FlowCollector() = default;
  [[nodiscard]] virtual bool wants(std::size_t row) const = 0;
  virtual void add(std::size_t row, std::span<const double> plan) = 0;
  [[nodiscard]] virtual report::PlanFlow flow() = 0;
};

/// nullptr unless the costs are of points in the plane. images: whose pixels these points are, if they are.
[[nodiscard]] std::unique_ptr<FlowCollector> make_flow_collector(const Problem& problem,
                                                                 const std::optional<ImageShapes>& images);

}  // namespace fedsinkhorn
