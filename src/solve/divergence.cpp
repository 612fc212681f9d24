#include "fedsinkhorn/divergence.hpp"

#include <algorithm>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

const PointClouds& clouds_of(const Problem& problem) {
  const auto* clouds = std::get_if<PointClouds>(&problem.cost);
  if (clouds == nullptr) {
    throw InputError("divergence", "costs are not from points", "give the points: costs within each cloud are needed");
  }
  if (!problem.b.empty() && problem.b.columns != 1) {
    throw InputError(problem.names.b, "has several targets, but a divergence has one");
  }
  return *clouds;
}

/// From one cloud to itself.
Problem within(const Problem& problem, const AnyMatrix& points, std::span<const double> masses,
               const std::string& name_of_points, const std::string& name_of_masses) {
  Problem own = problem;
  own.cost = PointClouds{points, points, clouds_of(problem).metric};
  own.a = masses;
  own.b = {masses.data(), masses.size(), masses.empty() ? std::size_t{0} : 1};
  own.initial_g = {};
  own.names.x = own.names.y = name_of_points;
  own.names.a = own.names.b = name_of_masses;
  return own;
}

Problem within_x(const Problem& problem) {
  return within(problem, clouds_of(problem).x, problem.a, problem.names.x, problem.names.a);
}
Problem within_y(const Problem& problem) {
  return within(problem, clouds_of(problem).y, {problem.b.data, problem.b.rows}, problem.names.y, problem.names.b);
}

/// x of the cross term minus both halves of the cloud's own term.
void subtract_halves(std::vector<double>& cross, const std::vector<double>& one, const std::vector<double>& other) {
  for (std::size_t k = 0; k < cross.size(); ++k) cross[k] -= one[k] / 2 + other[k] / 2;
}

}  // namespace

Divergence divergence(const Problem& problem, const Options& options) {
  if (problem.parts.rows || problem.parts.columns || problem.parts.a || problem.parts.b) {
    throw InputError("divergence", "needs the whole of both clouds");
  }
  if (is_private(options)) {
    throw InputError("`policy`", "private runs release no costs, so there is no divergence", "choose another policy");
  }
  Divergence result;
  result.cross = solve(problem, options);
  result.own_x = solve(within_x(problem), options);
  result.own_y = solve(within_y(problem), options);
  // The dual values differ from V by terms of a and b alone, which cancel, and are off by the square of the marginal
  // errors only.
  result.value = result.cross.cost.dual - (result.own_x.cost.dual + result.own_y.cost.dual) / 2;
  result.linear = result.cross.cost.linear - (result.own_x.cost.linear + result.own_y.cost.linear) / 2;
  result.status = Status::converged;
  for (const Result* one : {&result.own_y, &result.own_x, &result.cross}) {
    if (one->status != Status::converged) result.status = one->status;
  }
  return result;
}

PointGradients point_gradients(const Problem& problem, const Divergence& divergence, int threads) {
  PointGradients gradients = point_gradients(problem, divergence.cross, 0, threads);
  const PointGradients own_x = point_gradients(within_x(problem), divergence.own_x, 0, threads);
  const PointGradients own_y = point_gradients(within_y(problem), divergence.own_y, 0, threads);
  subtract_halves(gradients.x, own_x.x, own_x.y);
  subtract_halves(gradients.y, own_y.x, own_y.y);
  return gradients;
}

MassGradients mass_gradients(const Problem& problem, const Divergence& divergence, int threads) {
  MassGradients gradients = mass_gradients(problem, divergence.cross, 0, threads);
  const MassGradients own_x = mass_gradients(within_x(problem), divergence.own_x, 0, threads);
  const MassGradients own_y = mass_gradients(within_y(problem), divergence.own_y, 0, threads);
  subtract_halves(gradients.a, own_x.a, own_x.b);
  subtract_halves(gradients.b, own_y.a, own_y.b);
  return gradients;
}

}  // namespace fedsinkhorn
