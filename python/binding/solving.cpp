#include "solving.hpp"

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/divergence.hpp"
#include "fedsinkhorn/error.hpp"
#include "gil.hpp"
#include "given_problem.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "registry/registry.hpp"
#include "solve/in_process.hpp"
#include "solved.hpp"
#include "stopping.hpp"

namespace fedsinkhorn::python {
namespace {

/// Arguments, checked as far as one client can by itself.
struct Prepared {
  GivenProblem given;
  Options options;
};
Prepared prepared_problem(const py::dict& inputs, const py::dict& options) {
  Prepared prepared{GivenProblem(inputs), options_from(options)};
  (void)policy_of(prepared.options);  // by which clients may speak of anything else
  return prepared;
}

/// with_mpi: this process is one client, and all others call this, too.
py::object solve_given(const Prepared& prepared, const py::object& callback, bool is_interruptible, bool with_mpi) {
  Options options = prepared.options;
  const Problem& problem = prepared.given.problem;
  Follower follower(callback);
  follower.follow(options);
  std::optional<Result> result;
  follower.run(is_interruptible, [&] {
    if (with_mpi) {
      MpiSession session(options.timeout, options.interrupt);
      result = solve(problem, options, session);
    } else {
      result = solve(problem, options);
    }
  });
  py::object solved = py::cast(std::make_unique<Solved>(prepared.given, options, std::move(*result)));
  follower.finish(solved);
  return solved;
}

/// The others wait for a client whose arguments were refused. options: policy, server and timeout, as they were given.
void decline_others(const std::string& line, const py::dict& given_options) {
  Options options;
  for (const auto& [name, value] : given_options) {
    py::dict one;
    one[name] = value;
    try {
      const Options read = options_from(one);
      if (read.policy != Options{}.policy) options.policy = read.policy;
      if (read.server != Options{}.server) options.server = read.server;
      if (read.timeout != Options{}.timeout) options.timeout = checked_timeout(read.timeout);
    } catch (const InputError&) {  // what they may have wanted
      options.policy = "sums";
      if (name.cast<std::string>() == "server") options.server = Server::sums;
    }
  }
  const WithoutGil no_gil;
  try {
    MpiSession session(options.timeout);
    decline(line, options, session);
  } catch (const std::exception&) {  // the caller has a reason of its own to throw
  }
}

/// This process adds up the masked sums of the others; see Options::server.
void serve_others(double timeout) {
  const WithoutGil no_gil;
  MpiSession session(timeout);
  serve(session);
}

/// A divergence, and its gradients on demand.
class SolvedDivergence {
 public:
  SolvedDivergence(GivenProblem given, const Options& options, Divergence divergence)
      : given_(std::move(given)), threads_(options.threads), divergence_(std::move(divergence)) {}

  [[nodiscard]] const Divergence& divergence() const { return divergence_; }

  [[nodiscard]] py::tuple point_gradients() const {
    PointGradients gradients;
    {
      const WithoutGil no_gil;
      gradients = fedsinkhorn::point_gradients(given_.problem, divergence_, threads_);
    }
    const auto& clouds = std::get<PointClouds>(given_.problem.cost);
    return py::make_tuple(points_like(clouds.x, gradients.x), points_like(clouds.y, gradients.y));
  }
  [[nodiscard]] py::tuple mass_gradients() const {
    MassGradients gradients;
    {
      const WithoutGil no_gil;
      gradients = fedsinkhorn::mass_gradients(given_.problem, divergence_, threads_);
    }
    return py::make_tuple(array_of(gradients.a, {gradients.a.size()}), array_of(gradients.b, {gradients.b.size()}));
  }

 private:
  static py::object points_like(const AnyMatrix& points, std::span<const double> numbers) {
    return array_of(numbers, {rows_of(points), columns_of(points)});
  }

  GivenProblem given_;
  int threads_;
  Divergence divergence_;
};

py::object divergence_of(const Prepared& prepared, const py::object& callback, bool is_interruptible) {
  Options options = prepared.options;
  Follower follower(callback);
  follower.follow(options);
  std::optional<Divergence> result;
  follower.run(is_interruptible, [&] { result = divergence(prepared.given.problem, options); });
  follower.finish(py::none());
  return py::cast(std::make_unique<SolvedDivergence>(prepared.given, options, std::move(*result)));
}

std::uint64_t predicted_memory(const Prepared& prepared) {
  return predicted_bytes(prepared.given.problem, prepared.options);
}

}  // namespace

void bind_solving(py::module_& module) {
  py::class_<Prepared>(module, "Prepared").def(py::init(&prepared_problem));
  module.def("solve", &solve_given);
  module.def("decline", &decline_others);
  module.def("serve", [](const py::object& timeout) { serve_others(real_number(timeout, "timeout")); });
  module.def("divergence", &divergence_of);
  module.def("predicted_bytes", &predicted_memory);
  py::class_<SolvedDivergence>(module, "SolvedDivergence")
      .def_property_readonly("value", [](const SolvedDivergence& self) { return self.divergence().value; })
      .def_property_readonly("linear", [](const SolvedDivergence& self) { return self.divergence().linear; })
      .def_property_readonly(
          "status", [](const SolvedDivergence& self) { return std::string(name_of(self.divergence().status)); })
      .def_property_readonly("iterations",
                             [](const SolvedDivergence& self) {
                               const Divergence& all = self.divergence();
                               return py::make_tuple(all.cross.iterations, all.own_x.iterations, all.own_y.iterations);
                             })
      .def("point_gradients", &SolvedDivergence::point_gradients)
      .def("mass_gradients", &SolvedDivergence::mass_gradients);
}

}  // namespace fedsinkhorn::python
