#include "risk/given.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "comm/common_data.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

void check_finite(const AnyMatrix& matrix, const std::string& name) {
  std::visit(
      [&](const auto& view) {
        for (std::size_t i = 0; i < view.rows; ++i) {
          for (std::size_t k = 0; k < view.columns; ++k) {
            if (std::isfinite(view(i, k))) continue;
            throw InputError(name, fmt::format("row {}, column {} is {}", i + 1, k + 1, view(i, k)),
                             "give finite numbers");
          }
        }
      },
      matrix);
}

void check_finite(std::span<const double> values, const std::string& name) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (std::isfinite(values[k])) continue;
    throw InputError(name, fmt::format("number {} is {}", k + 1, values[k]), "give finite numbers");
  }
}

void check_size(std::size_t size, std::size_t wanted, const std::string& name, const std::string& of) {
  if (size == wanted) return;
  throw InputError(name, fmt::format("has {} numbers", size), fmt::format("give {}, one for each {}", wanted, of));
}

void check_points(const RiskProblem& problem) {
  const RiskNames& names = problem.names;
  const std::size_t d = columns_of(problem.scenarios);
  if (rows_of(problem.scenarios) == 0 || d == 0) {
    throw InputError(names.scenarios, "there are no scenarios", "give one row per scenario, or the costs themselves");
  }
  const bool is_empty_part = problem.is_part && rows_of(problem.returns) == 0;
  if (rows_of(problem.returns) == 0 && !is_empty_part) {
    throw InputError(names.returns, "there are no returns", "give one row per day");
  }
  if (!is_empty_part && columns_of(problem.returns) != d) {
    throw InputError(
        names.scenarios, fmt::format("has {} columns", d),
        fmt::format("{} has {}: both have one column for each asset", names.returns, columns_of(problem.returns)));
  }
  check_finite(problem.returns, names.returns);
  check_finite(problem.scenarios, names.scenarios);
  const MatrixView<double>& s = problem.covariance;
  if (s.empty()) return;
  if (problem.cost != RiskCost::mahalanobis) {
    throw InputError(names.covariance, "is for the cost mahalanobis", "leave it out, or use that cost");
  }
  if (s.rows != d || s.columns != d) {
    throw InputError(names.covariance, fmt::format("is {} x {}", s.rows, s.columns),
                     fmt::format("give {0} x {0}, one row and column for each asset", d));
  }
  check_finite(AnyMatrix(s), names.covariance);
}

void check_losses(const RiskProblem& problem) {
  const RiskNames& names = problem.names;
  if (problem.scenario_losses.empty()) {
    if (!has_points(problem)) {
      throw InputError(names.costs, "without returns there are no losses", "give the losses of the scenarios, too");
    }
    check_size(problem.weights.size(), columns_of(problem.scenarios), names.weights, "asset");
    check_finite(problem.weights, names.weights);
    if (!problem.return_losses.empty()) {
      throw InputError(names.return_losses, "the losses follow from the weights", "give those of scenarios, too");
    }
    return;
  }
  if (!problem.weights.empty()) {
    throw InputError(names.weights, "the losses are given themselves", "leave one of them out");
  }
  if (problem.are_gains) throw InputError("`are_gains`", "the losses are given themselves", "leave it out");
  check_size(problem.scenario_losses.size(), scenarios_given(problem), names.scenario_losses, "scenario");
  check_finite(problem.scenario_losses, names.scenario_losses);
  if (!problem.return_losses.empty()) {
    check_size(problem.return_losses.size(), rows_given(problem), names.return_losses, "day");
    check_finite(problem.return_losses, names.return_losses);
  } else if (problem.may_stay && rows_given(problem) > 0) {
    throw InputError("`may_stay`", "the loss of a day that stays is not known", "give the losses of the days, too");
  }
}

void check_numbers(const RiskProblem& problem) {
  check_radius(problem.radius);
  if (!(problem.epsilon > 0) || !std::isfinite(problem.epsilon)) {
    throw InputError("`epsilon`", fmt::format("{} cannot regularise", problem.epsilon), "give a number above 0");
  }
  if (!(problem.cvar_level >= 0 && problem.cvar_level < 1)) {
    throw InputError("`cvar_level`", fmt::format("a CVaR at level {}", problem.cvar_level),
                     "give a level from 0 to below 1");
  }
  for (std::size_t k = 0; k < problem.a.size(); ++k) {
    if (problem.a[k] >= 0 && std::isfinite(problem.a[k])) continue;
    throw InputError(problem.names.a, fmt::format("number {} is {}", k + 1, problem.a[k]), "give 0 or more");
  }
  if (!problem.a.empty()) check_size(problem.a.size(), rows_given(problem), problem.names.a, "day");
}

}  // namespace

Metric metric_of(RiskCost cost) {
  switch (cost) {
    case RiskCost::mahalanobis:
    case RiskCost::sqeuclidean: return Metric::sqeuclidean;
    case RiskCost::euclidean: return Metric::euclidean;
    case RiskCost::cosine: return Metric::cosine;
  }
  return Metric::sqeuclidean;
}

void check_radius(double radius) {
  if (radius >= 0 && std::isfinite(radius)) return;
  throw InputError("`radius`", fmt::format("{} is no radius", radius), "give 0 or more");
}

void check_given(const RiskProblem& problem) {
  if (has_points(problem)) {
    check_points(problem);
  } else if (rows_of(problem.returns) > 0 || rows_of(problem.scenarios) > 0) {
    throw InputError(problem.names.costs, "returns and scenarios have costs of their own", "leave one of them out");
  } else if (!problem.covariance.empty() || problem.cost == RiskCost::mahalanobis) {
    throw InputError(problem.names.costs, "mahalanobis is a cost between points", "leave one of them out");
  }
  check_numbers(problem);
  check_losses(problem);
}

void require_common(const RiskProblem& problem, std::span<const double> radii, const Collectives& clients) {
  if (clients.size() == 1) return;
  const RiskNames& names = problem.names;
  CommonData data(clients);
  data.item(names.scenarios).add(problem.scenarios);
  data.item(names.weights).add(problem.weights);
  data.item(names.covariance).add(AnyMatrix(problem.covariance));
  data.item(names.scenario_losses).add(problem.scenario_losses);
  data.item("radii").add(radii);
  const auto add = [&](const char* name, double value) { data.item(name).add(std::span<const double>(&value, 1)); };
  add("`radius`", problem.radius);
  add("`epsilon`", problem.epsilon);
  add("`cvar_level`", problem.cvar_level);
  add("`cost`", static_cast<double>(problem.cost));
  add("`may_stay`", problem.may_stay ? 1 : 0);
  add("`are_gains`", problem.are_gains ? 1 : 0);
  add("`is_part`", problem.is_part ? 1 : 0);
  add("number of scenarios", static_cast<double>(scenarios_given(problem)));
  NumbersDigest& returns = data.item(names.returns);
  NumbersDigest& costs = data.item(names.costs);
  NumbersDigest& masses = data.item(names.a);
  NumbersDigest& losses = data.item(names.return_losses);
  if (!problem.is_part) {
    returns.add(problem.returns);
    costs.add(problem.costs);
    masses.add(problem.a);
    losses.add(problem.return_losses);
  }
  data.require_same();
}

void require_common(const std::string& name, std::span<const double> values, const Collectives& clients) {
  if (clients.size() == 1) return;
  CommonData data(clients);
  data.item(name).add(values);
  data.require_same();
}

}  // namespace fedsinkhorn
