#include "cost_models.hpp"

#include <pybind11/stl.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/prediction_json.hpp"
#include "numbers.hpp"
#include "options.hpp"

namespace fedsinkhorn::python {
namespace {

constexpr std::int64_t kMostLines = 1'000'000'000;

std::size_t size_named(const py::dict& shape, const char* name, std::int64_t least) {
  const std::int64_t count = whole_number(shape[name], name, kMostLines);
  if (count < least) {
    throw InputError(name, std::to_string(count) + " is too small", "give " + std::to_string(least) + " or more");
  }
  return static_cast<std::size_t>(count);
}

double positive_named(const py::dict& question, const char* name) {
  const double number = real_number(question[name], name);
  if (!(number > 0)) throw InputError(name, "is not above 0", "give a positive number");
  return number;
}

double memory_named(const py::dict& question, const char* name) {
  const double bytes = real_number(question[name], name);
  if (!(bytes >= 0)) throw InputError(name, "is no number of bytes", "give one, or 0 for no limit");
  return bytes;
}

SolveShape shape_from(const py::dict& given, const py::dict& options) {
  SolveShape shape;
  shape.rows = size_named(given, "rows", 1);
  shape.columns = given["columns"].is_none() ? shape.rows : size_named(given, "columns", 1);
  shape.targets = size_named(given, "targets", 1);
  shape.clients = size_named(given, "clients", 1);
  shape.dimension = size_named(given, "dimension", 0);
  shape.clients_per_machine = size_named(given, "clients_per_machine", 0);
  shape.iterations = static_cast<std::int64_t>(size_named(given, "iterations", 0));
  shape.options = options_from(options);
  return shape;
}

/// The text of a JSON object; the package reads it.
std::string predict_json(const py::object& profile, const py::dict& given, const py::dict& options) {
  SolveShape shape = shape_from(given, options);
  if (shape.iterations == 0) {
    shape.iterations = expected_iterations(shape.options.method, positive_named(given, "relative_epsilon"),
                                           positive_named(given, "tolerance"));
  }
  return prediction_json(predict(from_file(profile, "profile", read_profile), shape)).dump();
}

std::string plan_json(const py::object& profile, const py::dict& given, const py::dict& options) {
  using Json = nlohmann::ordered_json;
  TopologyQuestion question;
  question.shape = shape_from(given, options);
  question.memory_per_client = memory_named(given, "memory_per_client");
  question.memory_of_server = memory_named(given, "memory_of_server");
  question.peers_may_talk = truth(given["peers_may_talk"], "peers_may_talk");
  question.server_may_hold_kernel = truth(given["server_may_hold_kernel"], "server_may_hold_kernel");
  question.any_block_layout = truth(given["any_block_layout"], "any_block_layout");
  question.tolerance = positive_named(given, "tolerance");
  question.relative_epsilon = positive_named(given, "relative_epsilon");
  const TopologyPlan plan = plan_topology(from_file(profile, "profile", read_profile), question);
  Json json = {{"iterations", plan.iterations}, {"options", Json::array()}, {"notes", plan.notes}};
  for (const TopologyOption& option : plan.options) {
    Json one = prediction_json(option.prediction);
    one["feasible"] = option.out_because.empty();
    one["iterations"] = option.iterations;
    one["seconds"] = option.seconds;
    one["reason"] = option.out_because;
    json["options"].push_back(one);
  }
  return json.dump();
}

}  // namespace

void bind_cost_models(py::module_& module) {
  module.def("predict", &predict_json);
  module.def("plan_topology", &plan_json);
  module.def("shipped_profiles", &shipped_profiles);
}

}  // namespace fedsinkhorn::python
