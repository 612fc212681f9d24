#include "core/checked_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "core/feasibility.hpp"
#include "core/parallel.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

void check_epsilon(const Problem& problem) {
  if (!(problem.epsilon > 0) || std::isinf(problem.epsilon)) {
    throw InputError(problem.names.epsilon, fmt::format("{} is not a usable regularisation", problem.epsilon),
                     "give a positive finite number in units of the cost");
  }
  if (std::isinf(1 / problem.epsilon)) {
    throw InputError(problem.names.epsilon, fmt::format("{} is too small for float64", problem.epsilon));
  }
}

// Masses must be finite and not negative. Returns their sum.
double checked_sum(const double* masses, std::size_t count, std::size_t stride, const std::string& name,
                   const std::string& column) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double mass = masses[i * stride];
    if (std::isnan(mass) || std::isinf(mass)) {
      throw InputError(name, fmt::format("entry {}{} is {}", i, column, mass), "masses must be finite");
    }
    if (mass < 0) {
      throw InputError(name, fmt::format("entry {}{} is negative ({})", i, column, mass), "masses must be 0 or more");
    }
    sum += mass;
  }
  if (!(sum > 0)) throw InputError(name, "has no mass" + column, "at least one entry must be positive");
  if (std::isinf(sum)) throw InputError(name, "total mass" + column + " overflows", "scale the masses down");
  return sum;
}

struct Masses {
  std::vector<double> a;
  std::vector<double> b;  // columns x targets, as given
  std::size_t targets = 1;
};

Masses given_or_uniform(const Problem& problem, std::size_t rows, std::size_t columns) {
  Masses masses;
  if (problem.a.empty()) {
    masses.a.assign(rows, 1.0 / static_cast<double>(rows));
  } else {
    if (problem.a.size() != rows) {
      throw InputError(problem.names.a, fmt::format("has {} masses", problem.a.size()),
                       fmt::format("the cost has {} rows", rows));
    }
    masses.a.assign(problem.a.begin(), problem.a.end());
  }
  if (problem.b.empty()) {
    masses.b.assign(columns, 1.0 / static_cast<double>(columns));
  } else {
    if (problem.b.rows != columns) {
      throw InputError(problem.names.b, fmt::format("has {} rows of masses", problem.b.rows),
                       fmt::format("the cost has {} columns", columns));
    }
    masses.targets = problem.b.columns;
    masses.b.assign(problem.b.data, problem.b.data + columns * masses.targets);
  }
  return masses;
}

void take_masses(const Problem& problem, CheckedProblem& checked) {
  const Masses masses = given_or_uniform(problem, checked.rows, checked.columns);
  checked.targets = masses.targets;
  checked.mass = checked_sum(masses.a.data(), checked.rows, 1, problem.names.a, "");

  for (std::size_t i = 0; i < checked.rows; ++i) {
    if (masses.a[i] > 0) {
      checked.active_rows.push_back(i);
      checked.a.push_back(masses.a[i]);
    }
  }
  for (std::size_t j = 0; j < checked.columns; ++j) {
    const auto first = masses.b.begin() + static_cast<std::ptrdiff_t>(j * masses.targets);
    if (std::any_of(first, first + static_cast<std::ptrdiff_t>(masses.targets), [](double x) { return x > 0; })) {
      checked.active_columns.push_back(j);
    }
  }
  checked.b.resize(masses.targets * checked.m());
  for (std::size_t k = 0; k < masses.targets; ++k) {
    const std::string where = masses.targets > 1 ? fmt::format(" of target {}", k) : "";
    const double sum = checked_sum(masses.b.data() + k, checked.columns, masses.targets, problem.names.b, where);
    if (std::abs(sum - checked.mass) > problem.mass_tolerance * checked.mass) {
      const std::string remedy =
          problem.a.empty() || problem.b.empty() ? "the side left out is uniform with total 1" : "scale them alike";
      throw InputError(
          problem.names.b,
          fmt::format("total mass{} is {:.9g} but that of {} is {:.9g}", where, sum, problem.names.a, checked.mass),
          remedy);
    }
    // Totals that differ in the last digits would leave an error no iteration can remove.
    const double scale = checked.mass / sum;
    checked.mass_rescaled = std::max(checked.mass_rescaled, std::abs(scale - 1));
    for (std::size_t j = 0; j < checked.m(); ++j) {
      checked.b[k * checked.m() + j] = masses.b[checked.active_columns[j] * masses.targets + k] * scale;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Looking at every number once, in parallel; only the first bad position is kept.

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

void keep_least(std::atomic<std::size_t>& least, std::size_t candidate) {
  std::size_t current = least.load();
  while (candidate < current && !least.compare_exchange_weak(current, candidate)) {
  }
}

void keep_greatest(std::atomic<double>& greatest, double candidate) {
  double current = greatest.load();
  while (candidate > current && !greatest.compare_exchange_weak(current, candidate)) {
  }
}

struct CostScan {
  std::size_t first_bad = kNone;  // NaN or -inf
  bool has_forbidden = false;
  double largest = 0;
};

template <class T>
CostScan scan_costs(const MatrixView<T>& cost, int threads, const std::function<void(std::size_t, std::size_t)>& done) {
  std::atomic<std::size_t> first_bad = kNone;
  std::atomic<bool> forbidden = false;
  std::atomic<double> largest = 0;
  const std::size_t rows_each = std::max<std::size_t>(1, (std::size_t{1} << 18) / cost.columns);
  const std::size_t chunks = (cost.rows + rows_each - 1) / rows_each;
  parallel_chunks(threads, chunks, [&](std::size_t chunk, std::size_t) {
    const std::size_t first = chunk * rows_each;
    const std::size_t count = std::min(rows_each, cost.rows - first);
    const T* values = cost.row(first);
    const std::size_t size = count * cost.columns;
    bool bad = false;
    bool infinite = false;
    T low = 0;
    T high = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const bool too_high = values[k] > std::numeric_limits<T>::max();
      bad |= !(values[k] >= std::numeric_limits<T>::lowest());
      infinite |= too_high;
      low = std::min(low, values[k]);
      high = std::max(high, too_high ? T{0} : values[k]);
    }
    keep_greatest(largest, static_cast<double>(std::max(-low, high)));
    if (bad) {
      std::size_t k = 0;
      while (values[k] >= std::numeric_limits<T>::lowest()) ++k;
      keep_least(first_bad, first * cost.columns + k);
    }
    if (infinite) forbidden = true;
    if (done) done(first, count);
  });
  return {first_bad, forbidden, largest};
}

// Sums of potentials and costs, and their ratios to epsilon, must be finite.
void check_range(const Problem& problem, double largest_cost) {
  constexpr double limit = 1e300;
  if (largest_cost > limit) {
    throw InputError(problem.names.cost, fmt::format("costs up to {:g} overflow when they are added", largest_cost),
                     "scale the costs and epsilon down");
  }
  if (largest_cost / problem.epsilon > limit) {
    throw InputError(problem.names.epsilon,
                     fmt::format("{:g} is too small beside costs up to {:g}", problem.epsilon, largest_cost),
                     "their ratio overflows");
  }
}

template <class T>
void check_cost_values(const MatrixView<T>& cost, const Problem& problem, int threads, CheckedProblem& checked) {
  const CostScan scan = scan_costs(cost, threads, std::get<CostMatrix>(problem.cost).rows_done);
  if (scan.first_bad != kNone) {
    const std::size_t i = scan.first_bad / cost.columns;
    const std::size_t j = scan.first_bad % cost.columns;
    throw InputError(problem.names.cost, fmt::format("entry ({}, {}) is {}", i, j, cost(i, j)),
                     "costs must be numbers, or +inf for a forbidden pair");
  }
  checked.has_forbidden_pairs = scan.has_forbidden;
  checked.largest_cost = scan.largest;
  check_range(problem, scan.largest);
}

// Returns the largest squared length.
template <class T>
double check_coordinates(const MatrixView<T>& points, const std::string& name, Metric metric) {
  double longest = 0;
  for (std::size_t i = 0; i < points.rows; ++i) {
    double norm = 0;
    for (std::size_t k = 0; k < points.columns; ++k) {
      const auto x = static_cast<double>(points(i, k));
      if (!std::isfinite(x)) {
        throw InputError(name, fmt::format("coordinate {} of point {} is {}", k, i, x), "coordinates must be finite");
      }
      norm += x * x;
    }
    if (std::isinf(norm)) throw InputError(name, fmt::format("point {} is too far out for float64", i));
    if (metric == Metric::cosine && !(norm > 0)) {
      throw InputError(name, fmt::format("point {} has no length", i), "the cosine metric needs a direction");
    }
    longest = std::max(longest, norm);
  }
  return longest;
}

double largest_possible_cost(Metric metric, double longest_x, double longest_y) {
  const double distance = std::sqrt(longest_x) + std::sqrt(longest_y);
  switch (metric) {
    case Metric::sqeuclidean: return distance * distance;
    case Metric::euclidean: return distance;
    case Metric::cosine: break;
  }
  return 2;
}

// ---------------------------------------------------------------------------------------------------------------------

template <class T>
PairSet allowed_pairs(const MatrixView<T>& cost, const CheckedProblem& checked,
                      const std::function<void(std::size_t, std::size_t)>& done) {
  PairSet pairs(checked.n(), checked.m());
  for (std::size_t i = 0; i < checked.n(); ++i) {
    const T* row = cost.row(checked.active_rows[i]);
    for (std::size_t j = 0; j < checked.m(); ++j) {
      if (row[checked.active_columns[j]] <= std::numeric_limits<T>::max()) pairs.allow(i, j);
    }
    if (done) done(checked.active_rows[i], 1);
  }
  return pairs;
}

// Without an allowed pair that has mass a scaling does not exist: that is refused even if nothing else is looked at.
template <class T>
void check_no_line_is_forbidden(const MatrixView<T>& cost, const Problem& problem, const CheckedProblem& checked) {
  const auto refuse = [&](const char* line, std::size_t index) {
    throw InputError(problem.names.cost,
                     fmt::format("no plan exists: {} {} has mass but all its pairs are forbidden", line, index),
                     "allow more pairs or move mass");
  };
  for (std::size_t k = 0; k < checked.targets; ++k) {
    const double* b = checked.target(k);
    std::vector<bool> column_allowed(checked.m());
    for (const std::size_t i : checked.active_rows) {
      bool row_allowed = false;
      for (std::size_t j = 0; j < checked.m(); ++j) {
        if (b[j] > 0 && cost(i, checked.active_columns[j]) <= std::numeric_limits<T>::max()) {
          row_allowed = true;
          column_allowed[j] = true;
        }
      }
      if (!row_allowed) refuse("row", i);
    }
    for (std::size_t j = 0; j < checked.m(); ++j) {
      if (b[j] > 0 && !column_allowed[j]) refuse("column", checked.active_columns[j]);
    }
  }
}

// A target with zero masses uses fewer columns than are active: those are left out for it.
void check_feasible(const PairSet& pairs, const Problem& problem, const CheckedProblem& checked) {
  for (std::size_t k = 0; k < checked.targets; ++k) {
    const double* b = checked.target(k);
    std::vector<std::size_t> used;
    for (std::size_t j = 0; j < checked.m(); ++j) {
      if (b[j] > 0) used.push_back(j);
    }
    std::optional<Shortfall> shortfall;
    std::vector<std::size_t> column_names(used.size());
    for (std::size_t j = 0; j < used.size(); ++j) column_names[j] = checked.active_columns[used[j]];
    if (used.size() == checked.m()) {
      shortfall = find_shortfall(pairs, checked.a, {b, checked.m()});
    } else {
      PairSet fewer(checked.n(), used.size());
      std::vector<double> masses(used.size());
      for (std::size_t j = 0; j < used.size(); ++j) {
        masses[j] = b[used[j]];
        for (std::size_t i = 0; i < checked.n(); ++i) {
          if (pairs.allowed(i, used[j])) fewer.allow(i, j);
        }
      }
      shortfall = find_shortfall(fewer, checked.a, masses);
    }
    if (shortfall) {
      const std::string which = checked.targets > 1 ? fmt::format("target {}: ", k) : "";
      throw InputError(problem.names.cost,
                       "no plan exists: " + which + describe(*shortfall, checked.active_rows, column_names),
                       "allow more pairs or move mass");
    }
  }
}

}  // namespace

CheckedProblem check_problem(const Problem& problem, Feasibility feasibility, int threads) {
  CheckedProblem checked;
  checked.input = &problem;
  checked.epsilon = problem.epsilon;
  check_epsilon(problem);

  if (const auto* points = std::get_if<PointClouds>(&problem.cost)) {
    checked.rows = rows_of(points->x);
    checked.columns = rows_of(points->y);
    if (checked.rows == 0) throw InputError(problem.names.x, "has no points");
    if (checked.columns == 0) throw InputError(problem.names.y, "has no points");
    if (columns_of(points->x) == 0) throw InputError(problem.names.x, "has points without coordinates");
    if (columns_of(points->x) != columns_of(points->y)) {
      throw InputError(problem.names.y, fmt::format("points have {} coordinates", columns_of(points->y)),
                       fmt::format("those of {} have {}", problem.names.x, columns_of(points->x)));
    }
    const auto longest = [&](const AnyMatrix& cloud, const std::string& name) {
      return std::visit([&](const auto& view) { return check_coordinates(view, name, points->metric); }, cloud);
    };
    checked.largest_cost =
        largest_possible_cost(points->metric, longest(points->x, problem.names.x), longest(points->y, problem.names.y));
    check_range(problem, checked.largest_cost);
    take_masses(problem, checked);
    return checked;
  }

  const auto& matrix = std::get<CostMatrix>(problem.cost).matrix;
  checked.rows = rows_of(matrix);
  checked.columns = columns_of(matrix);
  if (checked.rows == 0 || checked.columns == 0) throw InputError(problem.names.cost, "has no entries");
  take_masses(problem, checked);
  std::visit([&](const auto& cost) { check_cost_values(cost, problem, threads, checked); }, matrix);
  if (checked.has_forbidden_pairs && feasibility == Feasibility::skip) {
    std::visit([&](const auto& cost) { check_no_line_is_forbidden(cost, problem, checked); }, matrix);
  }
  if (checked.has_forbidden_pairs && feasibility == Feasibility::check) {
    const auto& done = std::get<CostMatrix>(problem.cost).rows_done;
    check_feasible(std::visit([&](const auto& cost) { return allowed_pairs(cost, checked, done); }, matrix), problem,
                   checked);
  }
  return checked;
}

}  // namespace fedsinkhorn
