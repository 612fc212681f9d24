#include "problem/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

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

// ---------------------------------------------------------------------------------------------------------------------
// Symmetry without seeing anybody else's costs: every client adds up a fingerprint of C and one of C' over its entries.
// The totals are equal if C = C' and, with hardly any chance to the contrary, only then.

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32U;
  x *= 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29U);
}

std::uint64_t row_weight(std::size_t i) { return mixed(2 * i + 1) | 1U; }
std::uint64_t column_weight(std::size_t j) { return mixed(mixed(2 * j + 2)) | 1U; }

struct Fingerprint {
  std::uint64_t straight = 0;
  std::uint64_t transposed = 0;
};

template <class T>
Fingerprint fingerprint_of_row(const T* row, std::size_t i, std::size_t columns) {
  std::uint64_t straight = 0;
  std::uint64_t transposed = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const std::uint64_t bits = mixed(std::bit_cast<std::uint64_t>(static_cast<double>(row[j]) + 0.0));  // -0 is 0
    straight += bits * column_weight(j);
    transposed += bits * row_weight(j);
  }
  return {straight * row_weight(i), transposed * column_weight(i)};
}

// ---------------------------------------------------------------------------------------------------------------------

struct Scan {
  std::size_t first_bad = kNone;  // NaN or -inf, as row * columns + column
  bool has_forbidden = false;
  double largest = 0;
  Fingerprint fingerprint;
};

/// Which part of the matrix this client looks at: rows and columns as given, zero masses included.
struct Held {
  Range rows;
  Range columns;
};

Range given_range(const Side& side, const std::vector<std::size_t>& clients_in_order, Range slices) {
  if (slices.empty()) return {};
  return {side.given_slices[clients_in_order[slices.first]].first,
          side.given_slices[clients_in_order[slices.last - 1]].last};
}

Held held_by(const CheckedProblem& checked) {
  std::vector<std::size_t> row_order(checked.clients);
  for (std::size_t k = 0; k < row_order.size(); ++k) row_order[k] = k;
  return {given_range(checked.rows, row_order, checked.layout.row_slices),
          given_range(checked.columns, checked.layout.column_clients, checked.layout.column_slices)};
}

double largest_magnitude(const cpu::MagnitudeOps& ops, const double* values, std::size_t count) {
  return ops.largest64(values, count);
}
double largest_magnitude(const cpu::MagnitudeOps& ops, const float* values, std::size_t count) {
  return ops.largest32(values, count);
}

template <class T>
Scan scan_costs(const MatrixView<T>& cost, const CheckedProblem& checked, const Held& held, bool with_fingerprint,
                int threads, const cpu::MagnitudeOps& ops, const StopRequest& stop) {
  const auto& done = std::get<CostMatrix>(checked.input.cost).rows_done;
  std::atomic<std::size_t> first_bad = kNone;
  std::atomic<bool> forbidden = false;
  std::atomic<double> largest = 0;
  std::atomic<std::uint64_t> straight = 0;
  std::atomic<std::uint64_t> transposed = 0;
  const std::size_t width = std::max<std::size_t>(1, held.columns.size());
  const std::size_t rows_each = std::max<std::size_t>(1, (std::size_t{1} << 18) / width);
  const std::size_t chunks = (held.rows.size() + rows_each - 1) / rows_each;
  parallel_chunks(threads, chunks, [&](std::size_t chunk, std::size_t) {
    stop.throw_if_made();
    const std::size_t first = held.rows.first + chunk * rows_each;
    const std::size_t last = std::min(held.rows.last, first + rows_each);
    bool infinite = false;
    double high = 0;
    for (std::size_t i = first; i < last; ++i) {
      const T* values = cost.row(i - checked.first_held_row);
      const double of_row = largest_magnitude(ops, values + held.columns.first, held.columns.size());
      bool bad = false;
      if (std::isnan(of_row)) {  // not all of them are finite: a closer look
        for (std::size_t j = held.columns.first; j < held.columns.last; ++j) {
          const bool too_high = values[j] > std::numeric_limits<T>::max();
          bad |= !(values[j] >= std::numeric_limits<T>::lowest());
          infinite |= too_high;
          if (!too_high) high = std::max(high, static_cast<double>(std::abs(values[j])));
        }
      } else {
        high = std::max(high, of_row);
      }
      if (bad) {
        std::size_t j = held.columns.first;
        while (values[j] >= std::numeric_limits<T>::lowest()) ++j;
        keep_least(first_bad, i * cost.columns + j);
      }
      if (with_fingerprint) {
        const Fingerprint row = fingerprint_of_row(values, i, cost.columns);
        straight += row.straight;
        transposed += row.transposed;
      }
    }
    keep_greatest(largest, high);
    if (infinite) forbidden = true;
    if (done) done(first - checked.first_held_row, last - first);
  });
  return {first_bad, forbidden, largest, {straight, transposed}};
}

// Sums of potentials and costs must be finite.
void check_range(const Problem& problem, double largest_cost) {
  constexpr double limit = 1e300;
  if (largest_cost > limit) {
    throw InputError(problem.names.cost, fmt::format("costs up to {:g} overflow when they are added", largest_cost),
                     "scale the costs and epsilon down");
  }
}

void check_ratio(const Problem& problem, double largest_cost) {
  if (largest_cost / problem.epsilon > kMostCostsPerEpsilon) {
    throw InputError(problem.names.epsilon,
                     fmt::format("{:g} is too small beside costs up to {:g}", problem.epsilon, largest_cost),
                     fmt::format("give at least {:g}", largest_cost / kMostCostsPerEpsilon));
  }
}

template <class T>
Scan checked_scan(const MatrixView<T>& cost, const CheckedProblem& checked, bool with_fingerprint, int threads,
                  const cpu::MagnitudeOps& ops, const StopRequest& stop) {
  const Scan scan = scan_costs(cost, checked, held_by(checked), with_fingerprint, threads, ops, stop);
  if (scan.first_bad != kNone) {
    const std::size_t i = scan.first_bad / cost.columns;
    const std::size_t j = scan.first_bad % cost.columns;
    const std::size_t row_of_file = i - checked.first_held_row;
    throw InputError(checked.input.names.cost,
                     fmt::format("entry ({}, {}) is {}", row_of_file, j, cost(row_of_file, j)),
                     "costs must be numbers, or +inf for a forbidden pair");
  }
  return scan;
}

// ---------------------------------------------------------------------------------------------------------------------

/// sqrt(sum of squares) of coordinates of any size: no square overflows, and none that counts vanishes.
double length_of(std::span<const double> coordinates) {
  double largest = 0;
  for (const double x : coordinates) largest = std::max(largest, std::abs(x));
  if (largest == 0 || std::isinf(largest)) return largest;
  double squares = 0;
  for (const double x : coordinates) squares += (x / largest) * (x / largest);
  return largest * std::sqrt(squares);
}

/// Cosines look at directions: there a point is scaled to unit length.
template <class T>
std::vector<double> place_of(const MatrixView<T>& points, std::size_t i, Metric metric) {
  std::vector<double> place(points.row(i), points.row(i) + points.columns);
  if (metric != Metric::cosine) return place;
  const double length = length_of(place);
  for (double& x : place) x /= length;
  return place;
}

/// The largest distances of some points: from the origin, and from a place that everybody knows.
struct Reach {
  double from_origin = 0;
  double from_place = 0;
};

template <class T>
Reach check_coordinates(const MatrixView<T>& points, Range rows, const std::string& name, Metric metric,
                        std::span<const double> place) {
  Reach reach;
  for (std::size_t i = rows.first; i < rows.last; ++i) {
    std::vector<double> point(points.row(i), points.row(i) + points.columns);
    for (std::size_t k = 0; k < point.size(); ++k) {
      if (!std::isfinite(point[k])) {
        throw InputError(name, fmt::format("coordinate {} of point {} is {}", k, i, point[k]),
                         "coordinates must be finite");
      }
    }
    const double length = length_of(point);
    if (metric == Metric::cosine && !(length > 0)) {
      throw InputError(name, fmt::format("point {} has no length", i), "the cosine metric needs a direction");
    }
    if ((metric == Metric::euclidean && std::isinf(length)) ||
        (metric == Metric::sqeuclidean && std::isinf(length * length))) {
      throw InputError(name, fmt::format("point {} is too far out for float64", i));
    }
    reach.from_origin = std::max(reach.from_origin, metric == Metric::cosine ? 1 : length);
    point = place_of(points, i, metric);
    for (std::size_t k = 0; k < place.size(); ++k) point[k] -= place[k];
    reach.from_place = std::max(reach.from_place, length_of(point));
  }
  return reach;
}

double cost_at(Metric metric, double distance) {
  switch (metric) {
    case Metric::sqeuclidean: return distance * distance;
    case Metric::euclidean: return distance;
    case Metric::cosine: break;
  }
  return distance * distance / 2;  // of points of unit length
}

/// Distances from any one place bound those between x and y. From the origin they do it well, unless it is far from all
/// points (or the points nearly parallel): then the bound would refuse an epsilon that is not small beside any cost.
double largest_possible_cost(Metric metric, const Reach& x, const Reach& y) {
  constexpr double far = 8;
  const double by_origin = x.from_origin + y.from_origin;
  const double by_place = x.from_place + y.from_place;
  return cost_at(metric, far * by_place < by_origin ? by_place : by_origin);
}

/// How far the points x and y that this client holds reach. The place everybody knows is the first point y.
std::array<Reach, 2> check_points(const CheckedProblem& checked) {
  const Held held = held_by(checked);
  if (held.rows.empty()) return {};
  const auto& points = std::get<PointClouds>(checked.input.cost);
  const std::vector<double> place =
      std::visit([&](const auto& view) { return place_of(view, 0, points.metric); }, points.y);
  const auto reach = [&](const AnyMatrix& cloud, Range rows, const std::string& name) {
    return std::visit([&](const auto& view) { return check_coordinates(view, rows, name, points.metric, place); },
                      cloud);
  };
  const Range rows = {held.rows.first - checked.first_held_row, held.rows.last - checked.first_held_row};
  return {reach(points.x, rows, checked.input.names.x), reach(points.y, held.columns, checked.input.names.y)};
}

/// Of the clients' numbers, `stride` from each. None of them is negative.
double greatest(const Collectives& clients, const std::vector<double>& all, std::size_t stride, std::size_t at,
                const char* what) {
  double result = 0;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const double said =
        from_peer(clients, k).number(all[k * stride + at], 0, std::numeric_limits<double>::infinity(), what);
    result = std::max(result, said);
  }
  return result;
}

}  // namespace

void check_own_points(const Problem& problem) {
  const auto& points = std::get<PointClouds>(problem.cost);
  const auto check = [&](const AnyMatrix& cloud, const std::string& name) {
    std::visit(
        [&](const auto& view) {
          (void)check_coordinates(view, {0, view.rows}, name, points.metric, {});
        },
        cloud);
  };
  check(points.x, problem.names.x);
  check(points.y, problem.names.y);
}

void agree_on_costs(const Collectives& clients, int threads, const cpu::MagnitudeOps& ops, const StopRequest& stop,
                    CheckedProblem& checked) {
  const Problem& problem = checked.input;
  if (checked.costs_from_points) {
    std::array<Reach, 2> reach;
    agree(clients, [&] { reach = check_points(checked); });
    const auto* points = std::get_if<PointClouds>(&problem.cost);
    const std::array<double, 4> mine = {reach[0].from_origin, reach[0].from_place, reach[1].from_origin,
                                        reach[1].from_place};
    const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
    const Reach x = {greatest(clients, all, 4, 0, "a length of points"),
                     greatest(clients, all, 4, 1, "a length of points")};
    const Reach y = {greatest(clients, all, 4, 2, "a length of points"),
                     greatest(clients, all, 4, 3, "a length of points")};
    // The metric is known to whoever holds points.
    const double own = points == nullptr ? 0 : largest_possible_cost(points->metric, x, y);
    checked.largest_cost =
        greatest(clients, clients.of(Payload::note).allgather_numbers({&own, 1}), 1, 0, "a largest cost");
    agree(clients, [&] {
      check_range(problem, checked.largest_cost);
      check_ratio(problem, checked.largest_cost);
    });
    return;
  }

  const bool may_be_symmetric =
      checked.layout.whole_columns && checked.clients > 1 && checked.rows.given_slices == checked.columns.given_slices;
  Scan scan;
  agree(clients, [&] {
    scan =
        std::visit([&](const auto& cost) { return checked_scan(cost, checked, may_be_symmetric, threads, ops, stop); },
                   std::get<CostMatrix>(problem.cost).matrix);
  });
  const std::array<double, 2> mine = {scan.largest, scan.has_forbidden ? 1.0 : 0.0};
  const std::vector<double> all = clients.of(Payload::note).allgather_numbers(mine);
  checked.largest_cost = greatest(clients, all, 2, 0, "a largest cost");
  checked.has_forbidden_pairs = greatest(clients, all, 2, 1, "a yes or no") > 0;
  agree(clients, [&] {
    check_range(problem, checked.largest_cost);
    check_ratio(problem, checked.largest_cost);
  });

  if (may_be_symmetric) {
    const std::array<double, 2> prints = {std::bit_cast<double>(scan.fingerprint.straight),
                                          std::bit_cast<double>(scan.fingerprint.transposed)};
    const std::vector<double> everyone = clients.of(Payload::note).allgather_numbers(prints);
    std::uint64_t difference = 0;
    for (std::size_t k = 0; k < everyone.size(); k += 2) {
      difference += std::bit_cast<std::uint64_t>(everyone[k]) - std::bit_cast<std::uint64_t>(everyone[k + 1]);
    }
    checked.symmetric_cost = difference == 0;
  }
  if (checked.layout.whole_columns && problem.parts.rows && checked.clients > 1) {
    agree(clients, [&] {
      if (checked.symmetric_cost) return;
      if (!may_be_symmetric) {
        throw InputError(
            problem.parts.b           ? problem.names.b
            : problem.parts.initial_g ? problem.names.initial_g
                                      : problem.names.cost,
            "gives clients other columns than rows, but all-to-all and async with costs in parts need the same",
            "use `topology` row-reduce, which needs rows alone");
      }
      throw InputError(problem.names.cost,
                       "is given in parts and is not symmetric, but all-to-all and async need its columns",
                       "use `topology` row-reduce, which needs rows alone");
    });
  }
}

}  // namespace fedsinkhorn
