#include "solving.hpp"

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/divergence.hpp"
#include "fedsinkhorn/error.hpp"
#include "given_problem.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "solved.hpp"
#include "stopping.hpp"

namespace fedsinkhorn::python {
namespace {

/// Runs work(), which may be interrupted before there is a result.
void run_interruptible(Follower& follower, bool is_interruptible, const std::function<void()>& work) {
  try {
    run_without_gil(follower, is_interruptible, work);
  } catch (const Interrupted&) {
    raise_interrupt(py::none());
    throw;
  }
}

/// with_mpi: this process is one client, and all others call this, too.
py::object solve_given(const py::dict& inputs, const py::dict& given_options, const py::object& callback,
                       bool is_interruptible, bool with_mpi) {
  GivenProblem given(inputs);
  Options options = options_from(given_options);
  Follower follower(callback);
  follower.follow(options);
  std::optional<Result> result;
  run_interruptible(follower, is_interruptible, [&] {
    if (with_mpi) {
      MpiSession session(options.timeout);
      result = solve(given.problem, options, session);
    } else {
      result = solve(given.problem, options);
    }
  });
  py::object solved = py::cast(std::make_unique<Solved>(std::move(given), options, std::move(*result)));
  raise_interrupt(solved);
  return solved;
}

/// This process adds up the masked sums of the others; see Options::server.
void serve_others(double timeout) {
  const py::gil_scoped_release no_gil;
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
      const py::gil_scoped_release no_gil;
      gradients = fedsinkhorn::point_gradients(given_.problem, divergence_, threads_);
    }
    const auto& clouds = std::get<PointClouds>(given_.problem.cost);
    return py::make_tuple(points_like(clouds.x, gradients.x), points_like(clouds.y, gradients.y));
  }
  [[nodiscard]] py::tuple mass_gradients() const {
    MassGradients gradients;
    {
      const py::gil_scoped_release no_gil;
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

py::object divergence_of(const py::dict& inputs, const py::dict& given_options, const py::object& callback,
                         bool is_interruptible) {
  GivenProblem given(inputs);
  Options options = options_from(given_options);
  Follower follower(callback);
  follower.follow(options);
  std::optional<Divergence> result;
  run_interruptible(follower, is_interruptible, [&] { result = divergence(given.problem, options); });
  py::object solved = py::cast(std::make_unique<SolvedDivergence>(std::move(given), options, std::move(*result)));
  raise_interrupt(py::none());
  return solved;
}

std::uint64_t predicted_memory(const py::dict& inputs, const py::dict& options) {
  const GivenProblem given(inputs);
  return predicted_bytes(given.problem, options_from(options));
}

}  // namespace

void bind_solving(py::module_& module) {
  module.def("solve", &solve_given);
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
