#include "cli/solve_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "cli/choices.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kClient = "{client}";
constexpr std::array<std::string_view, 6> kInputs = {"C", "X", "Y", "a", "b", "initial_g"};

NumberTable open_table(const std::string& name, std::size_t client, bool is_own, TableUse use = {}) {
  use.takes_any_name = true;
  if (is_own) use.no_rows = NoRows::allowed;
  return NumberTable(of_client(name, client), use);
}

Metric metric_of(const InputFiles& files) {
  return files.metric.empty() ? PointClouds{}.metric : choice<Metric>("--metric", files.metric);
}

void take_cost(const InputFiles& arguments, std::size_t client, Inputs& inputs) {
  InputNames& names = inputs.problem.names;
  if (!arguments.cost.empty()) {
    const std::string path = of_client(arguments.cost, client);
    inputs.problem.parts.rows = arguments.is_own("C");
    inputs.tables.push_back(open_table(arguments.cost, client, inputs.problem.parts.rows,
                                       {.order = Order::as_stored, .infinity = Infinity::allowed}));
    const NumberTable& table = inputs.tables.back();
    if (table.is_vector()) {
      throw InputError(path, "is one-dimensional", "a cost has two dimensions, rows and columns");
    }
    const auto release = [&table](std::size_t first, std::size_t count) { table.release_rows(first, count); };
    inputs.problem.cost = CostMatrix{table.matrix(), release, table.is_by_columns()};
    names.cost = display_name(path);
    return;
  }
  Parts& parts = inputs.problem.parts;
  parts.rows = arguments.is_own("X");
  parts.columns = arguments.is_own("Y");
  for (const std::string& path : arguments.points) {
    inputs.tables.push_back(open_table(path, client, &path == &arguments.points.front() ? parts.rows : parts.columns));
  }
  const NumberTable& x = inputs.tables.front();
  const NumberTable& y = inputs.tables.back();
  check_same_coordinates(y, x);
  inputs.problem.cost = PointClouds{x.matrix(), y.matrix(), metric_of(arguments)};
  names.x = display_name(of_client(arguments.points.front(), client));
  names.y = display_name(of_client(arguments.points.back(), client));
  names.cost = names.x;
}

/// The centres of pixels, row by row from above; the longer side of the image has length 1, y points upwards.
std::vector<double> pixel_centres(std::size_t height, std::size_t width) {
  const auto side = static_cast<double>(std::max(height, width));
  std::vector<double> centres;
  centres.reserve(2 * height * width);
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      centres.push_back((static_cast<double>(j) + 0.5) / side);
      centres.push_back((static_cast<double>(height - i) - 0.5) / side);
    }
  }
  return centres;
}

NumberTable open_image(const std::string& name) {
  NumberTable table = open_table(name, 0, false);
  if (table.is_vector()) throw InputError(display_name(name), "is no image", "give a matrix of height x width");
  return table;
}

/// Pixels are points in the plane, and their values are masses.
void take_images(const InputFiles& files, Inputs& inputs) {
  const NumberTable from = open_image(files.images.front());
  const NumberTable to = open_image(files.images.back());
  const ImageShapes& shapes = inputs.images.emplace(
      ImageShapes{rows_of(from.matrix()), columns_of(from.matrix()), rows_of(to.matrix()), columns_of(to.matrix())});
  inputs.x = pixel_centres(shapes.a_height, shapes.a_width);
  inputs.y = pixel_centres(shapes.b_height, shapes.b_width);
  inputs.a = from.values();
  inputs.b = to.values();
  Problem& problem = inputs.problem;
  problem.cost = PointClouds{MatrixView<double>{inputs.x.data(), inputs.a.size(), 2},
                             MatrixView<double>{inputs.y.data(), inputs.b.size(), 2}, metric_of(files)};
  problem.a = inputs.a;
  problem.b = {inputs.b.data(), inputs.b.size(), 1};
  problem.names.a = problem.names.x = problem.names.cost = display_name(files.images.front());
  problem.names.b = problem.names.y = display_name(files.images.back());
  // Sums of float32 numbers agree to fewer digits.
  if (from.is_float32() || to.is_float32()) problem.mass_tolerance = 1e-5;
}

std::vector<double> read_masses(const std::string& name, std::size_t client, bool is_own, Problem& problem,
                                std::size_t& columns) {
  const NumberTable table = open_table(name, client, is_own);
  columns = columns_of(table.matrix());
  // Sums of float32 numbers agree to fewer digits.
  if (table.is_float32()) problem.mass_tolerance = 1e-5;
  return table.values();
}

void take_masses(const InputFiles& files, std::size_t client, Inputs& inputs) {
  Problem& problem = inputs.problem;
  problem.names.a = files.a.empty() ? "a (uniform)" : display_name(of_client(files.a, client));
  problem.names.b = files.b.empty() ? "b (uniform)" : display_name(of_client(files.b, client));
  problem.parts.a = files.is_own("a");
  problem.parts.b = files.is_own("b");
  std::size_t columns = 0;
  if (!files.a.empty()) {
    inputs.a = read_masses(files.a, client, problem.parts.a, problem, columns);
    if (columns != 1 && !inputs.a.empty()) {
      throw InputError(problem.names.a, fmt::format("has {} columns", columns), "the row masses are a single column");
    }
    problem.a = inputs.a;
  }
  if (!files.b.empty()) {
    inputs.b = read_masses(files.b, client, problem.parts.b, problem, columns);
    problem.b = {inputs.b.data(), inputs.b.size() / columns, columns};
  }
}

/// What --parts names must have been given.
void check_parts(const InputFiles& files) {
  const std::map<std::string_view, bool> given = {
      {"C", !files.cost.empty()}, {"X", !files.points.empty()}, {"Y", files.points.size() > 1},
      {"a", !files.a.empty()},    {"b", !files.b.empty()},      {"initial_g", !files.initial_g.empty()}};
  for (const std::string& part : files.parts) {
    const auto found = given.find(part);
    if (found == given.end()) {
      throw InputError("--parts", fmt::format("'{}' is no input", part),
                       fmt::format("give some of {}", fmt::join(kInputs, ", ")));
    }
    if (!found->second) {
      throw InputError("--parts", fmt::format("there is no file of {}", part), "name what is given");
    }
  }
}

void require_one_kind_of_costs(const InputFiles& files) {
  const int kinds = (files.cost.empty() ? 0 : 1) + (files.points.empty() ? 0 : 1) + (files.images.empty() ? 0 : 1);
  const char* const right = "give one of --cost C.npy, --points X.npy [Y.npy] and --images A.npy B.npy";
  if (kinds == 0) throw InputError("solve", "no costs were given", right);
  if (kinds > 1) {
    throw InputError("solve",
                     fmt::format("both {} and {} were given", files.cost.empty() ? "--points" : "--cost",
                                 files.images.empty() ? "--points" : "--images"),
                     right);
  }
  if (files.images.empty()) return;
  if (files.images.size() != 2) throw InputError("--images", "one image was given", "give two: A.npy B.npy");
  if (!files.a.empty() || !files.b.empty()) {
    throw InputError(files.a.empty() ? "--b" : "--a", "the masses are those of the images", "leave it out");
  }
  if (std::ranges::any_of(files.images, is_part)) {
    throw InputError("--images", "'{client}' stands for a part, and images are whole",
                     "give all clients the same images");
  }
}

}  // namespace

bool is_part(const std::string& path) { return path.find(kClient) != std::string::npos; }

std::string of_client(std::string path, std::size_t client) {
  for (std::size_t at = path.find(kClient); at != std::string::npos; at = path.find(kClient, at)) {
    path.replace(at, kClient.size(), std::to_string(client));
  }
  return path;
}

bool InputFiles::is_own(std::string_view input) const {
  if (input == "Y" && points.size() == 1) input = "X";
  const auto is = [&](std::string_view name, const std::string& path) { return input == name && is_part(path); };
  return std::ranges::find(parts, input) != parts.end() || is("C", cost) || is("a", a) || is("b", b) ||
         is("initial_g", initial_g) || (!points.empty() && (is("X", points.front()) || is("Y", points.back())));
}

bool InputFiles::in_parts() const {
  return std::ranges::any_of(kInputs, [&](std::string_view input) { return is_own(input); });
}

std::vector<std::string> InputFiles::paths(std::size_t client) const {
  std::vector<std::string> result = points;
  result.insert(result.end(), images.begin(), images.end());
  for (const std::string* input : {&cost, &a, &b, &initial_g}) {
    if (!input->empty()) result.push_back(*input);
  }
  for (std::string& path : result) path = of_client(path, client);
  return result;
}

std::unique_ptr<Inputs> open_inputs(const InputFiles& files, std::size_t client, bool with_cost) {
  require_one_kind_of_costs(files);
  if (!files.cost.empty() && !files.metric.empty()) {
    throw InputError("--metric", "is for points, and --cost gives the costs themselves", "leave one of them out");
  }
  (void)metric_of(files);
  check_parts(files);
  auto inputs = std::make_unique<Inputs>();
  inputs->tables.reserve(2);  // no reallocation: views and callbacks refer to the elements
  Problem& problem = inputs->problem;
  problem.epsilon = files.epsilon;
  problem.names.epsilon = "--epsilon";
  problem.names.initial_g = files.initial_g.empty() ? "--initial-g" : display_name(of_client(files.initial_g, client));
  problem.parts.initial_g = files.is_own("initial_g");
  if (!files.images.empty()) {
    take_images(files, *inputs);
  } else {
    if (with_cost) take_cost(files, client, *inputs);
    take_masses(files, client, *inputs);
  }
  if (!files.initial_g.empty()) {
    const NumberTable table =
        open_table(files.initial_g, client, problem.parts.initial_g, {.infinity = Infinity::allowed});
    inputs->initial_g = table.values();
    const std::size_t columns = columns_of(table.matrix());
    problem.initial_g = {inputs->initial_g.data(), inputs->initial_g.size() / columns, columns};
  }
  return inputs;
}

}  // namespace fedsinkhorn
