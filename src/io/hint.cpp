#include "io/hint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/marginal_error.hpp"
#include "core/names.hpp"
#include "io/error_trend.hpp"

namespace fedsinkhorn {
namespace {

std::string one_of(const std::vector<std::string>& remedies) {
  std::string text = "try ";
  for (std::size_t k = 0; k < remedies.size(); ++k) {
    if (k > 0) text += k + 1 == remedies.size() ? " or " : ", ";
    text += remedies[k];
  }
  return text;
}

/// Iterations until the tolerance is reached, if the errors at the last epsilon have a trend.
std::optional<double> iterations_left(const Result& result, double tolerance) {
  if (result.trace.empty()) return std::nullopt;
  ErrorHistory errors;
  for (const TraceRow& row : result.trace) {
    if (row.epsilon == result.trace.back().epsilon) errors.add(static_cast<double>(row.iteration), row.error_b);
  }
  const std::optional<ErrorTrend> trend = error_trend(errors.samples());
  if (!trend) return std::nullopt;
  const double since = static_cast<double>(result.iterations) - errors.samples().back().at;
  return std::max(0.0, trend->until(std::log(tolerance)) - since);
}

/// Rounds up to two digits.
std::int64_t round_up(double count) {
  const double unit = std::pow(10.0, std::floor(std::log10(count)) - 1);
  return static_cast<std::int64_t>(std::ceil(count / unit) * unit);
}

std::string below_rounding(const Result& result, const Options& options) {
  std::vector<std::string> remedies = {fmt::format("--tolerance {:.0e}", 2 * result.error_floor / result.mass)};
  if (is_reduced(options.precision)) remedies.emplace_back("--precision float64");
  return fmt::format("rounding in {} leaves errors of about {:.0e}, the tolerance is {:g}: {}",
                     name_of(options.precision), result.error_floor, options.tolerance * result.mass, one_of(remedies));
}

std::string after_divergence(const Result& result, const Options& options) {
  std::vector<std::string> remedies;
  if (is_reduced(options.precision)) remedies.emplace_back("--precision float64");
  if (result.topology == "async") remedies.emplace_back("a smaller --damping");
  if (options.local_steps > 1) remedies.emplace_back("--local-steps 1");
  if (result.method != "sinkhorn") remedies.emplace_back("--method sinkhorn");
  if (options.stabilization == Stabilization::absorption && remedies.empty()) {
    remedies.emplace_back("--stabilization log");
  }
  remedies.emplace_back("a larger --epsilon");
  const bool is_unchecked = options.policy == "sums" && result.client_count > 1;
  const double exact = std::max(result.exact_error.a, result.exact_error.b);
  return (is_reduced(options.precision) ? fmt::format("on the exact costs the error is {:.1e}: ", exact) : "") +
         one_of(remedies) +
         (is_unchecked ? "; with forbidden pairs there may be no plan, which --policy sums does not check" : "");
}

std::string after_the_limit(const Result& result, const Options& options) {
  std::vector<std::string> remedies;
  // More iterations first if they are known to suffice.
  constexpr double far = 100;
  const std::optional<double> left = iterations_left(result, options.tolerance * result.mass);
  const auto made = static_cast<double>(std::max<std::int64_t>(1, result.iterations));
  const bool is_known = left && *left < far * made;
  const std::int64_t more = is_known ? round_up(1.2 * *left + made) : 10 * options.max_iterations;
  const bool has_more = is_known || options.max_iterations < std::int64_t{1000000};
  if (has_more) remedies.push_back(fmt::format("--max-iterations {}", more));
  if (result.topology == "async") {
    remedies.emplace_back("--topology all-to-all");
  } else if (options.local_steps > 1) {
    remedies.emplace_back("--local-steps 1");
  } else if (options.stabilization == Stabilization::log) {
    remedies.emplace_back("--stabilization absorption");
  } else if (result.method != "auto" && options.precision != Precision::digits50) {
    remedies.emplace_back("--method auto");
  } else if (result.method == "auto" && options.history < kMostHistory) {
    remedies.push_back(fmt::format("--history {}", kMostHistory));
  }
  remedies.emplace_back("a larger --epsilon");
  remedies.emplace_back("a larger --tolerance");
  return one_of(remedies);
}

bool look_transposed(const Result& result) {
  constexpr std::size_t by_far = 10;
  return result.dimension > 0 && result.dimension >= by_far * std::max(result.rows, result.columns);
}

/// Whether P is nearly a b' / mass, the only plan of a problem with one row or column and the limit for large epsilon:
/// KL(P | a b' / mass), relative to the mass, is less than 2 d^2 for d = 5 % of the mass (Pinsker's inequality).
bool is_nearly_the_product(const Result& result, double epsilon) {
  if (result.status != Status::converged || result.rows < 2 || result.columns < 2) return false;
  // At a small epsilon it is the masses that leave no choice: nearly all of them on one line.
  if (epsilon < 0.01 * result.largest_cost) return false;
  constexpr double near = 2 * 0.05 * 0.05;
  const double mass = result.mass * static_cast<double>(result.targets);
  const double price = (result.cost.kl_objective - result.cost.linear) / (epsilon * mass);
  const double divergence = price + 1 - result.mass + std::log(result.mass);
  // What rounding leaves of the differences above.
  const double rounding = 1e-14 * (std::abs(result.cost.linear) / (epsilon * mass) + result.mass);
  return divergence < near && rounding < near;
}

}  // namespace

std::vector<std::string> doubts_about_problem(const Result& result, double epsilon) {
  std::vector<std::string> doubts;
  if (look_transposed(result)) {
    doubts.push_back(
        fmt::format("{} and {} points with {} coordinates each: a row is a point; are the files transposed?",
                    result.rows, result.columns, result.dimension));
  }
  if (result.privacy.mechanism.empty() && is_nearly_the_product(result, epsilon)) {
    doubts.emplace_back(
        "the plan is within 5 % of the product a b', which ignores the costs: epsilon is large beside their "
        "differences");
  }
  return doubts;
}

std::string hint(const Result& result, const Options& options) {
  if (result.status == Status::diverged) return after_divergence(result, options);
  if (result.status == Status::sums_limit) {
    return one_of({"a larger --most-sums", "a larger --epsilon", "a larger --tolerance"});
  }
  if (result.status != Status::iteration_limit) return "";
  if (!(options.tolerance > 0)) return "--tolerance 0 runs all iterations: give a tolerance to stop at";
  const double error = worse(result.error.a, result.error.b);
  constexpr double near = 100;  // only the order of magnitude of the floor is known
  const bool is_at_floor = options.tolerance * result.mass < result.error_floor && error < near * result.error_floor;
  return is_at_floor ? below_rounding(result, options) : after_the_limit(result, options);
}

}  // namespace fedsinkhorn
