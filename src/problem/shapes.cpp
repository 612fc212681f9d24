#include "problem/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "comm/agreement.hpp"
#include "cost/metric.hpp"
#include "cost/points_input.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// What a client was given, as numbers that can be sent.
struct Shape {
  double holds = 0;  // costs
  double is_points = 0;
  double metric = 0;
  double rows = 0;
  double columns = 0;
  double dimension = 0;
  double a = 0;  // masses; 0: none given
  double b_rows = 0;
  double targets = 0;
  double rows_in_parts = 0;
  double columns_in_parts = 0;
  double a_in_parts = 0;
  double b_in_parts = 0;
  double has_initial_g = 0;
  double initial_g_rows = 0;
  double initial_g_columns = 0;
  double initial_g_in_parts = 0;
};
constexpr std::size_t kShapeNumbers = sizeof(Shape) / sizeof(double);

Shape shape_of(const Problem& problem, const CostInput& costs) {
  Shape shape;
  if (const PointsInput* points = costs.points()) {
    shape.is_points = 1;
    shape.metric = static_cast<double>(points->clouds().metric);
  }
  const CostShape of_costs = costs.shape();
  shape.rows = static_cast<double>(of_costs.rows);
  shape.columns = static_cast<double>(of_costs.columns);
  shape.dimension = static_cast<double>(of_costs.dimension);
  shape.holds = shape.columns > 0 && (shape.rows > 0 || problem.parts.rows) ? 1 : 0;
  shape.a = static_cast<double>(problem.a.size());
  shape.b_rows = static_cast<double>(problem.b.rows);
  shape.targets = static_cast<double>(problem.b.columns);
  shape.rows_in_parts = problem.parts.rows ? 1 : 0;
  shape.columns_in_parts = problem.parts.columns ? 1 : 0;
  shape.a_in_parts = problem.parts.a ? 1 : 0;
  shape.b_in_parts = problem.parts.b ? 1 : 0;
  if (problem.parts.initial_g || !problem.initial_g.empty()) {
    shape.has_initial_g = 1;
    shape.initial_g_rows = static_cast<double>(problem.initial_g.rows);
    shape.initial_g_columns = static_cast<double>(problem.initial_g.columns);
    shape.initial_g_in_parts = problem.parts.initial_g ? 1 : 0;
  }
  return shape;
}

/// No client has more lines, targets or coordinates than this, so sums over clients do not overflow.
constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 48U;

/// A file without entries may claim any size in its other dimension.
void check_own_sizes(const Problem& problem, const Shape& shape) {
  const auto check = [](double size, const std::string& culprit) {
    if (size > static_cast<double>(kLargestSize)) {
      throw InputError(culprit, fmt::format("a size of {:g} is too large", size), "at most 2^48");
    }
  };
  check(shape.rows, shape.is_points != 0 ? problem.names.x : problem.names.cost);
  check(shape.columns, shape.is_points != 0 ? problem.names.y : problem.names.cost);
  check(shape.dimension, problem.names.x);
  check(shape.a, problem.names.a);
  check(std::max(shape.b_rows, shape.targets), problem.names.b);
  check(std::max(shape.initial_g_rows, shape.initial_g_columns), problem.names.initial_g);
}

/// A shape sent by another client. All its numbers are counts.
Shape read_shape(std::span<const double> numbers, const FromPeer& peer) {
  for (const double x : numbers) (void)peer.count(x, kLargestSize, "a size");
  Shape shape;
  std::ranges::copy(numbers, &shape.holds);
  for (const double flag : {shape.holds, shape.is_points, shape.rows_in_parts, shape.columns_in_parts, shape.a_in_parts,
                            shape.b_in_parts, shape.has_initial_g, shape.initial_g_in_parts}) {
    (void)peer.truth(flag, "a yes or no");
  }
  return shape;
}

std::size_t count(double number) { return static_cast<std::size_t>(number); }

// Throws if this client's inputs do not fit those of another.
void compare(const Problem& problem, const Shape& mine, const Shape& other, std::size_t other_client) {
  const InputNames& names = problem.names;
  const auto same = [&](double x, double y, const std::string& culprit, const char* what) {
    if (x != y) {
      throw InputError(culprit, fmt::format("{} {}", count(x), what),
                       fmt::format("client {} has {}", other_client, count(y)));
    }
  };
  const auto alike = [&](double x, double y, const std::string& culprit) {
    if (x != y) {
      throw InputError(culprit, x != 0 ? "is only this client's part" : "is the whole",
                       fmt::format("with client {} it is otherwise", other_client));
    }
  };
  alike(mine.rows_in_parts, other.rows_in_parts, names.cost);
  alike(mine.columns_in_parts, other.columns_in_parts, names.y);
  alike(mine.a_in_parts, other.a_in_parts, names.a);
  alike(mine.b_in_parts, other.b_in_parts, names.b);
  if (mine.holds != 0 && other.holds != 0) {
    if (mine.is_points != other.is_points) {
      throw InputError(names.cost, mine.is_points != 0 ? "are points" : "is a matrix",
                       fmt::format("client {} has something else", other_client));
    }
    if (mine.rows_in_parts == 0) same(mine.rows, other.rows, names.cost, "rows");
    if (mine.columns_in_parts == 0) same(mine.columns, other.columns, names.cost, "columns");
  }
  if (mine.is_points != 0 && other.is_points != 0) {
    same(mine.dimension, other.dimension, names.x, "coordinates");
    if (mine.metric != other.metric) {
      throw InputError("`metric`", "is not the same on all clients",
                       fmt::format("client {} has another", other_client));
    }
  }
  if (mine.a_in_parts == 0) same(mine.a, other.a, names.a, "masses");
  if (mine.b_in_parts == 0) same(mine.b_rows, other.b_rows, names.b, "rows of masses");
  same(mine.targets, other.targets, names.b, "targets");
  if (mine.has_initial_g != other.has_initial_g) {
    throw InputError(names.initial_g, mine.has_initial_g != 0 ? "is given" : "is not given",
                     fmt::format("with client {} it is otherwise: give all clients one, or none", other_client));
  }
  alike(mine.initial_g_in_parts, other.initial_g_in_parts, names.initial_g);
  if (mine.initial_g_in_parts == 0) {
    same(mine.initial_g_rows, other.initial_g_rows, names.initial_g, "rows of potentials");
  }
  same(mine.initial_g_columns, other.initial_g_columns, names.initial_g, "columns");
}

std::vector<Range> slices_of(const std::vector<Shape>& shapes, double Shape::*size) {
  std::vector<Range> slices;
  std::size_t first = 0;
  for (const Shape& shape : shapes) {
    slices.push_back({first, first + count(shape.*size)});
    first = slices.back().last;
  }
  return slices;
}

std::size_t total(const std::vector<Shape>& shapes, double Shape::*size) {
  return std::accumulate(shapes.begin(), shapes.end(), std::size_t{0},
                         [&](std::size_t sum, const Shape& shape) { return sum + count(shape.*size); });
}

[[noreturn]] void refuse_rows_without_columns(const std::string& name) {
  throw InputError(name, "is given in parts, but all-to-all and async need all costs of a column",
                   "use `topology` row-reduce, which needs only rows, or one file of points that are rows and columns "
                   "at once");
}

void check_parts(const Options& options, const CheckedProblem& checked) {
  const Layout& layout = checked.layout;
  const Problem& problem = checked.input;
  const Parts& parts = problem.parts;
  const bool some = parts.rows || parts.columns || parts.a || parts.b || parts.initial_g;
  if (!some) return;
  if (!options.row_weights.empty()) {
    throw InputError("`row_weights`", "the parts of the inputs say already who owns which rows", "leave it out");
  }
  if (!layout.takes_parts && (parts.rows || parts.columns)) {
    throw InputError(parts.rows ? problem.names.cost : problem.names.y,
                     "is given in parts, but with this topology a client's block is not its own rows",
                     "give the whole, or use `topology` row-reduce");
  }
  const bool in_order = std::is_sorted(layout.column_clients.begin(), layout.column_clients.end());
  if (!in_order && (parts.b || parts.initial_g)) {
    throw InputError(parts.b ? problem.names.b : problem.names.initial_g,
                     "is given in parts, but a grid deals columns in another order", "give the whole");
  }
  if (layout.whole_columns && parts.rows && checked.costs->points() != nullptr && !parts.columns) {
    refuse_rows_without_columns(problem.names.x);
  }
}

// One row per column of the cost (in a part: per own column); one column, or one per target.
void check_shape_of_initial_g(const Collectives& clients, const std::vector<Shape>& shapes,
                              const CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const std::string& name = problem.names.initial_g;
  const Shape& mine = shapes[checked.client];
  const std::size_t own_columns = checked.columns.given_slices[checked.client].size();
  const std::size_t all_rows =
      problem.parts.initial_g ? total(shapes, &Shape::initial_g_rows) : count(mine.initial_g_rows);
  agree(clients, [&] {
    if (problem.parts.initial_g && count(mine.initial_g_rows) != own_columns) {
      throw InputError(name, fmt::format("has {} rows of potentials", count(mine.initial_g_rows)),
                       fmt::format("this client has {} columns", own_columns));
    }
  });
  // From here on the numbers are the same on all clients; the names are client 0's.
  agree(clients, [&] {
    if (all_rows != checked.columns.given) {
      throw InputError(name, fmt::format("has {} rows of potentials", all_rows),
                       fmt::format("the cost has {} columns", checked.columns.given));
    }
    if (count(mine.initial_g_columns) != 1 && count(mine.initial_g_columns) != checked.targets) {
      throw InputError(name, fmt::format("has {} columns", count(mine.initial_g_columns)),
                       checked.targets == 1 ? "for one target give one"
                                            : fmt::format("for {} targets give {}, or one that is to serve them all",
                                                          checked.targets, checked.targets));
    }
  });
}

// Their owner has checked them, so an unusable point means a bad message.
void require_points(const FromPeer& peer, Metric metric, std::size_t count, std::span<const double> coordinates) {
  for (std::size_t i = 0; i < count; ++i) {
    double norm = 0;
    for (const double x : coordinates.subspan(i * (coordinates.size() / count), coordinates.size() / count)) {
      norm += peer.finite(x, "a coordinate") * x;
    }
    if (std::isinf(norm) || (is_of_directions(metric) && !(norm > 0))) peer.refuse("a point without a usable length");
  }
}

// All clients know all points y: they are gathered if given in parts.
void gather_columns(const Collectives& clients, CheckedProblem& checked) {
  const PointsInput* points = checked.costs->points();
  if (points == nullptr || !checked.input.parts.columns) return;
  const std::size_t dimension = points->shape().dimension;
  std::vector<std::size_t> counts;
  for (const Range& slice : checked.columns.given_slices) counts.push_back(slice.size() * dimension);
  std::vector<double> gathered(checked.columns.given * dimension);
  const std::size_t first = checked.columns.given_slices[checked.client].first * dimension;
  std::visit(
      [&](const auto& view) {
        std::transform(view.data, view.data + view.rows * dimension,
                       gathered.begin() + static_cast<std::ptrdiff_t>(first),
                       [](auto x) { return static_cast<double>(x); });
      },
      points->clouds().y);
  const bool shared_support = checked.input.parts.rows && points->rows_are_columns();
  agree(clients, [&] {
    if (checked.layout.whole_columns && checked.clients > 1 && checked.input.parts.rows && !shared_support) {
      refuse_rows_without_columns(checked.input.names.x);
    }
    points->check_coordinates(checked.input.names);
  });
  gather_known(clients.of(Payload::slice), gathered, counts);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const Range slice = checked.columns.given_slices[k];
    require_points(from_peer(clients, k), points->clouds().metric, slice.size(),
                   std::span(gathered).subspan(slice.first * dimension, counts[k]));
  }
  checked.costs = points->with_columns(std::move(gathered), shared_support);
  if (shared_support) checked.first_held_row = 0;
}

std::vector<Shape> exchange(const Collectives& clients, const Shape& mine) {
  std::array<double, kShapeNumbers> numbers{};
  std::copy_n(&mine.holds, kShapeNumbers, numbers.begin());
  const std::vector<double> all = clients.of(Payload::shape).allgather_numbers(numbers);
  std::vector<Shape> shapes(clients.size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    shapes[k] = read_shape({all.data() + k * kShapeNumbers, kShapeNumbers}, from_peer(clients, k));
  }
  return shapes;
}

// Parts determine which client owns which lines; otherwise lines are dealt.
void slice_rows_and_columns(const Options& options, const std::vector<Shape>& shapes, CheckedProblem& checked) {
  const Parts& parts = checked.input.parts;
  std::vector<Range>& rows = checked.rows.given_slices;
  if (parts.rows) {
    rows = slices_of(shapes, &Shape::rows);
  } else if (parts.a) {
    rows = slices_of(shapes, &Shape::a);
  } else {
    rows = deal(checked.rows.given, shapes.size(), options.row_weights);
  }
  std::vector<Range>& columns = checked.columns.given_slices;
  if (parts.b) {
    columns = slices_of(shapes, &Shape::b_rows);
  } else if (parts.columns) {
    columns = slices_of(shapes, &Shape::columns);
  } else if (parts.initial_g) {
    columns = slices_of(shapes, &Shape::initial_g_rows);
  } else if (checked.rows.given == checked.columns.given) {
    columns = rows;  // as in the paper, a client owns the columns numbered like its rows
  } else {
    columns = deal(checked.columns.given, shapes.size(), options.row_weights);
  }
  // Column slices go to the clients in the topology's order.
  const std::vector<Range> in_order = columns;
  for (std::size_t k = 0; k < columns.size(); ++k) columns[checked.layout.column_clients[k]] = in_order[k];
}

// held: the shape of a client that holds costs.
void check_numbers_of_masses(const Collectives& clients, const std::vector<Shape>& shapes, const Shape& held,
                             const CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const Shape& mine = shapes[checked.client];
  const std::size_t own_rows = checked.rows.given_slices[checked.client].size();
  const std::size_t masses_a = problem.parts.a ? total(shapes, &Shape::a) : count(held.a);
  const std::size_t masses_b = problem.parts.b ? total(shapes, &Shape::b_rows) : count(held.b_rows);
  // Parts are checked first: one of the wrong length would make the common total wrong, too.
  agree(clients, [&] {
    if (problem.parts.a && count(mine.a) != own_rows) {
      throw InputError(problem.names.a, fmt::format("has {} masses", count(mine.a)),
                       fmt::format("this client has {} rows", own_rows));
    }
    if (problem.parts.columns && problem.parts.b && mine.columns != mine.b_rows) {
      throw InputError(problem.names.b, fmt::format("has {} rows of masses", count(mine.b_rows)),
                       fmt::format("this client has {} columns", count(mine.columns)));
    }
  });
  agree(clients, [&] {
    if (checked.rows.given == 0 || checked.columns.given == 0) throw InputError(problem.names.cost, "has no entries");
    if ((problem.parts.a || masses_a > 0) && masses_a != checked.rows.given) {
      throw InputError(problem.names.a, fmt::format("has {} masses", masses_a),
                       fmt::format("the cost has {} rows", checked.rows.given));
    }
    if ((problem.parts.b || masses_b > 0) && masses_b != checked.columns.given) {
      throw InputError(problem.names.b, fmt::format("has {} rows of masses", masses_b),
                       fmt::format("the cost has {} columns", checked.columns.given));
    }
  });
}

}  // namespace

std::vector<Range> deal(std::size_t count, std::size_t clients, std::span<const double> weights) {
  std::vector<Range> slices;
  if (weights.empty()) {
    for (std::size_t k = 0; k < clients; ++k) slices.push_back(chunk_range(count, clients, k));
    return slices;
  }
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    sum += weights[k];
    const auto bound = static_cast<std::size_t>(std::llround(static_cast<double>(count) * (sum / total)));
    const std::size_t last = k + 1 == clients ? count : std::clamp(bound, first, count);
    slices.push_back({first, last});
    first = last;
  }
  return slices;
}

void agree_on_shapes(const Options& options, const Collectives& clients, CheckedProblem& checked) {
  const Problem& problem = checked.input;
  const Shape mine = shape_of(problem, *checked.costs);
  agree(clients, [&] {
    checked.costs->check_shape(problem.names, problem.parts, !checked.layout.row_slices.empty());
    check_own_sizes(problem, mine);
  });
  const std::vector<Shape> shapes = exchange(clients, mine);
  const auto held = std::ranges::find_if(shapes, [](const Shape& shape) { return shape.holds != 0; });
  agree(clients, [&] {
    for (std::size_t k = 0; k < checked.client; ++k) compare(problem, mine, shapes[k], k);
    if (held == shapes.end()) throw InputError(problem.names.cost, "has no entries");
    check_parts(options, checked);
  });

  checked.costs_from_points = held->is_points != 0;
  checked.targets = held->targets > 0 ? count(held->targets) : 1;
  checked.rows.given = problem.parts.rows ? total(shapes, &Shape::rows) : count(held->rows);
  checked.columns.given = problem.parts.columns ? total(shapes, &Shape::columns) : count(held->columns);
  slice_rows_and_columns(options, shapes, checked);
  check_numbers_of_masses(clients, shapes, *held, checked);
  checked.has_initial_g = mine.has_initial_g != 0;
  if (checked.has_initial_g) check_shape_of_initial_g(clients, shapes, checked);
  checked.first_held_row = problem.parts.rows ? checked.rows.given_slices[checked.client].first : 0;
  gather_columns(clients, checked);
}

}  // namespace fedsinkhorn
