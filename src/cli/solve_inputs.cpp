#include "cli/solve_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/choices.hpp"
#include "io/atomic_file.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kClient = "{client}";

NpyFile open_file(const std::string& name, std::size_t client) {
  return NpyFile::open(of_client(name, client), is_part(name) ? NoRows::allowed : NoRows::refused);
}

Metric metric_of(const InputFiles& files) {
  return files.metric.empty() ? PointClouds{}.metric : choice<Metric>("--metric", files.metric);
}

void take_cost(const InputFiles& arguments, std::size_t client, Inputs& inputs) {
  InputNames& names = inputs.problem.names;
  if (!arguments.cost.empty()) {
    const std::string path = of_client(arguments.cost, client);
    inputs.files.push_back(open_file(arguments.cost, client));
    const NpyFile& file = inputs.files.back();
    if (file.shape().size() != 2) {
      throw InputError(path, "is one-dimensional", "a cost has two dimensions, rows and columns");
    }
    inputs.problem.cost =
        CostMatrix{file.matrix(), [&file](std::size_t first, std::size_t count) { file.release_rows(first, count); }};
    inputs.problem.parts.rows = is_part(arguments.cost);
    names.cost = display_name(path);
    return;
  }
  for (const std::string& path : arguments.points) inputs.files.push_back(open_file(path, client));
  const AnyMatrix x = inputs.files.front().matrix();
  const AnyMatrix y = inputs.files.back().matrix();
  inputs.problem.cost = PointClouds{x, y, metric_of(arguments)};
  inputs.problem.parts.rows = is_part(arguments.points.front());
  inputs.problem.parts.columns = is_part(arguments.points.back());
  names.x = display_name(of_client(arguments.points.front(), client));
  names.y = display_name(of_client(arguments.points.back(), client));
  names.cost = names.x;
}

std::size_t columns_of_file(const NpyFile& file) { return file.shape().size() == 2 ? file.shape()[1] : 1; }

std::vector<double> read_masses(const std::string& name, std::size_t client, Problem& problem, std::size_t& columns) {
  const NpyFile file = open_file(name, client);
  columns = columns_of_file(file);
  // Sums of float32 numbers agree to fewer digits.
  if (file.is_float32()) problem.mass_tolerance = 1e-5;
  return file.to_vector();
}

}  // namespace

bool is_part(const std::string& path) { return path.find(kClient) != std::string::npos; }

std::string of_client(std::string path, std::size_t client) {
  for (std::size_t at = path.find(kClient); at != std::string::npos; at = path.find(kClient, at)) {
    path.replace(at, kClient.size(), std::to_string(client));
  }
  return path;
}

bool InputFiles::in_parts() const {
  return is_part(cost) || is_part(a) || is_part(b) || is_part(initial_g) ||
         std::any_of(points.begin(), points.end(), is_part);
}

std::vector<std::string> InputFiles::paths(std::size_t client) const {
  std::vector<std::string> result = points;
  for (const std::string* input : {&cost, &a, &b, &initial_g}) {
    if (!input->empty()) result.push_back(*input);
  }
  for (std::string& path : result) path = of_client(path, client);
  return result;
}

std::unique_ptr<Inputs> open_inputs(const InputFiles& files, std::size_t client, bool with_cost) {
  if (files.cost.empty() == files.points.empty()) {
    throw InputError("solve", files.cost.empty() ? "no costs were given" : "both --cost and --points were given",
                     "give either --cost C.npy or --points X.npy [Y.npy]");
  }
  if (!files.cost.empty() && !files.metric.empty()) {
    throw InputError("--metric", "is for points, and --cost gives the costs themselves", "leave one of them out");
  }
  (void)metric_of(files);
  auto inputs = std::make_unique<Inputs>();
  inputs->files.reserve(2);  // no reallocation: views and callbacks refer to the elements
  if (with_cost) take_cost(files, client, *inputs);
  Problem& problem = inputs->problem;
  problem.epsilon = files.epsilon;
  problem.names.epsilon = "--epsilon";
  problem.names.a = files.a.empty() ? "a (uniform)" : display_name(of_client(files.a, client));
  problem.names.b = files.b.empty() ? "b (uniform)" : display_name(of_client(files.b, client));
  problem.parts.a = is_part(files.a);
  problem.names.initial_g = files.initial_g.empty() ? "--initial-g" : display_name(of_client(files.initial_g, client));
  problem.parts.b = is_part(files.b);
  problem.parts.initial_g = is_part(files.initial_g);
  std::size_t columns = 0;
  if (!files.a.empty()) {
    inputs->a = read_masses(files.a, client, problem, columns);
    if (columns != 1) {
      throw InputError(problem.names.a, fmt::format("has {} columns", columns), "the row masses are a single column");
    }
    problem.a = inputs->a;
  }
  if (!files.b.empty()) {
    inputs->b = read_masses(files.b, client, problem, columns);
    problem.b = {inputs->b.data(), inputs->b.size() / columns, columns};
  }
  if (!files.initial_g.empty()) {
    const NpyFile file = open_file(files.initial_g, client);
    inputs->initial_g = file.to_vector();
    columns = columns_of_file(file);
    problem.initial_g = {inputs->initial_g.data(), inputs->initial_g.size() / columns, columns};
  }
  return inputs;
}

}  // namespace fedsinkhorn
