// Time to a small error by the step size of asynchronous clients.
#include "solves.hpp"
#include "studies.hpp"

namespace fedsinkhorn::experiments::step_size {
namespace {

Design design(const Setting& setting) {
  Design design;
  design.conditions = {
      "Asynchronous clients, arithmetic damping by eta (1: none), until the L2 error of the marginals is 1e-10 or "
      "8,000 iterations are made. The problem and the start are the same in all runs. Mean over the runs; infinite if "
      "one did not get there."};
  design.differences = {
      "The paper's clients compute with whatever has arrived; ours wait when nothing new has, so that the time follows "
      "the number of iterations, and damping only adds to these. The paper does not run eta = 1."};
  const int runs = setting.by_scale(1, 3, 15);
  for (int run = 0; run < runs; ++run) {
    for (const std::size_t clients : {2, 4, 8}) {
      for (const double eta : {0.1, 0.25, 0.5, 1.0}) {
        if (setting.scale == Scale::smoke && eta < 0.5) continue;
        design.cells.push_back({{"clients", clients},
                                {"eta", eta},
                                {"run", run},
                                {"n", setting.by_scale<std::size_t>(64, 1000, 10'000)},
                                {"transport", setting.transport}});
      }
    }
  }
  const auto paper = [](std::size_t clients, double eta, const char* seconds) {
    return PaperFigure{{{"clients", clients}, {"eta", eta}}, seconds};
  };
  const std::vector<PaperFigure> printed = {
      paper(2, 0.1, "105.02 s"), paper(2, 0.25, "20.41 s"), paper(2, 0.5, "13.19 s"),
      paper(4, 0.1, "24.11 s"),  paper(4, 0.25, "10.04 s"), paper(4, 0.5, "6.62 s"),
      paper(8, 0.1, "33.45 s"),  paper(8, 0.25, "40.84 s"), paper(8, 0.5, "15.12 s")};
  design.tables = {
      {.caption = "Time to an error of 1e-10, mean of the runs",
       .rows = {{"clients", "clients"}},
       .figures = {{.title = "time", .key = "seconds", .statistic = "mean", .format = "seconds", .paper = printed}},
       .across = "eta"},
      {.caption = "Iterations to an error of 1e-10, mean of the runs",
       .rows = {{"clients", "clients"}},
       .figures = {{.title = "iterations", .key = "iterations", .statistic = "mean", .format = "count"}},
       .across = "eta"}};
  design.charts = {{.id = "time",
                    .title = "Time to an error of 1e-10 by step size",
                    .description = "A line per number of clients: mean of the runs.",
                    .kind = "lines",
                    .x = "eta",
                    .groups = {{"clients", "{} clients"}},
                    .figures = {{.title = "time", .key = "seconds", .statistic = "mean", .format = "seconds"}},
                    .x_axis = {{"title", "eta"}},
                    .y_axis = {{"title", "time"}, {"unit", "s"}, {"log", true}}}};
  return design;
}

Json measure(const Json& parameters) {
  Options options = paper_options("async", parameters.at("clients"));
  options.tolerance = 1e-10;
  options.max_iterations = 8000;
  options.damping = parameters.at("eta");
  options.damping_kind = DampingKind::arithmetic;
  const report::RunRecord run =
      record_of_solve(square_problem(parameters.at("n"), 1), options, parameters.at("transport"));
  const bool converged = is_converged(run) == 1;
  return {{"seconds", converged ? Json(report::number(run.summary, "solve_seconds")) : Json(report::kInfinite)},
          {"iterations", converged ? Json(report::number(run.summary, "iterations")) : Json(report::kInfinite)}};
}

}  // namespace

Study study() {
  return {"step-size",
          "Time to a small error by step size",
          "Does damping make asynchronous clients faster?",
          "section 5.4.2, table of step sizes: n = 10,000, 15 runs",
          true,
          design,
          measure};
}

}  // namespace fedsinkhorn::experiments::step_size
