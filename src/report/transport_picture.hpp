// One picture of a solved problem in the plane: the source moving to the target, and the error by iteration.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Views only: the data must stay alive during the call.
struct TransportPictureData {
  std::string title = "Entropic optimal transport";
  std::string subtitle{};             ///< a second, smaller line; may be empty
  std::span<const double> source{};   ///< n x 2, y upwards
  std::span<const double> moved{};    ///< n x 2: destination of each source point, see barycentric_projection
  std::span<const double> target{};   ///< m x 2, in grey behind the last frame
  std::span<const TraceRow> trace{};  ///< L1 errors; that of the columns is drawn
  double tolerance = 0;               ///< a dashed line; 0 for none
  double epsilon = 0;
  std::int64_t iterations = 0;
  double error = 0;        ///< of the plan, L1
  double linear_cost = 0;  ///< <P, C>
};

/// A complete SVG document: frames t = 0, 1/4, 1/2, 3/4, 1 of (1 - t) x_i + t T(x_i), where every point keeps the
/// colour of its starting place; below them the errors by iteration and the key figures. Points that are not finite are
/// left out. About 230 KB for 1,500 points. Throws std::invalid_argument if the sizes contradict each other.
[[nodiscard]] std::string transport_picture(const TransportPictureData& data);

/// The frames alone, as a complete SVG document: of data, the points and the title count.
[[nodiscard]] std::string transport_frames(const TransportPictureData& data);

/// T(x_i) = sum_j P_ij y_j / sum_j P_ij for some rows of the plan. The row sums are a_i once the solver has converged.
/// plan_rows: k x m; target: m x 2; moved: k x 2, NaN if a row is empty.
void barycentric_projection(std::span<const double> plan_rows, std::span<const double> target, std::span<double> moved);

}  // namespace fedsinkhorn
