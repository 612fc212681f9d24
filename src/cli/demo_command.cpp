// fedsinkhorn demo: generates, solves and draws a small problem.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/number_option.hpp"
#include "cli/program_name.hpp"
#include "cli/shell_word.hpp"
#include "cli/summary_table.hpp"
#include "cli/view_of_plan.hpp"
#include "core/printable.hpp"
#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/solve.hpp"
#include "io/atomic_file.hpp"
#include "io/output_folder.hpp"
#include "io/summary.hpp"
#include "report/demo_clouds.hpp"
#include "report/run_page.hpp"
#include "report/transport_picture.hpp"

namespace fedsinkhorn {
namespace {

struct DemoArguments {
  std::string output = "demo-output";
  std::size_t points = 1500;
  double epsilon = 0.002;
  std::size_t clients = 4;
  int threads = 0;
};

std::vector<double> move_points(const Problem& problem, const Result& result, const std::vector<double>& target) {
  const Plan plan(problem, result);
  std::vector<double> rows(result.rows * result.columns);
  plan.rows(0, result.rows, 0, rows);
  std::vector<double> moved(result.rows * 2);
  barycentric_projection(rows, target, moved);
  return moved;
}

int run_demo(const DemoArguments& arguments) {
  const std::vector<std::string> files = {"X.npy",         "Y.npy",          "f.npy",       "g.npy",       "trace.csv",
                                          "transport.svg", "plan-view.json", "report.html", "summary.json"};
  OutputFolder folder(arguments.output, files);
  const DemoClouds clouds = demo_clouds(arguments.points);
  const std::size_t n = clouds.source.size() / 2;
  const std::size_t m = clouds.target.size() / 2;
  Problem problem;
  problem.cost = PointClouds{MatrixView<double>{clouds.source.data(), n, 2},
                             MatrixView<double>{clouds.target.data(), m, 2}, Metric::sqeuclidean};
  problem.epsilon = arguments.epsilon;
  Options options;
  options.clients = arguments.clients;
  options.threads = arguments.threads;
  if (arguments.clients > 1) options.policy = "sums";

  const Result result = solve(problem, options);
  const std::vector<double> moved = move_points(problem, result, clouds.target);

  TransportPictureData picture;
  picture.title = "A smile becomes a star";
  picture.subtitle =
      "Every point x moves in a straight line to T(x), the mean of the target points its mass is sent to; its colour "
      "tells where it started.";
  picture.source = clouds.source;
  picture.moved = moved;
  picture.target = clouds.target;
  picture.trace = result.trace;
  picture.tolerance = options.tolerance;
  picture.epsilon = problem.epsilon;
  picture.iterations = result.iterations;
  picture.error = std::max(result.error.a, result.error.b);
  picture.linear_cost = result.cost.linear;

  const auto shape = [](std::size_t rows) { return std::vector<std::size_t>{rows, 2}; };
  write_npy(folder.file("X.npy"), clouds.source, shape(n));
  write_npy(folder.file("Y.npy"), clouds.target, shape(m));
  write_npy(folder.file("f.npy"), result.f, std::vector{n});
  write_npy(folder.file("g.npy"), result.g, std::vector{m});
  write_file_atomically(folder.file("trace.csv"), trace_csv(result.trace));
  write_file_atomically(folder.file("transport.svg"), transport_picture(picture));
  write_file_atomically(folder.file("plan-view.json"),
                        report::plan_view_json(view_of_plan(problem, result, options.threads)));
  write_file_atomically(folder.file("summary.json"), summary_json(result, options, problem.epsilon));
  const report::RunRecord record = report::read_run_record(arguments.output);
  write_file_atomically(folder.file("report.html"), report::page_html(report::run_page(record)));
  folder.keep();

  fmt::print("A smile of {} points was moved onto a star of {}, at the least total squared distance", n, m);
  fmt::print(
      "{}.\n\n",
      arguments.clients > 1
          ? fmt::format(",\nby {} clients that each hold a part of the smile and send only sums over all of them",
                        arguments.clients)
          : "");
  const std::string place = std::filesystem::absolute(arguments.output).lexically_normal().string();
  fmt::print("{0}\nThe picture: {1}/transport.svg\nThe report:  {1}/report.html (open them in a browser)\n",
             summary_table(result, options, problem.epsilon, place), printable_word(place));
  fmt::print(
      "The same from the command line:\n  {3} solve --points {0} {1} --epsilon {2:g} --clients {4} --policy {5}\n",
      shell_word(arguments.output + "/X.npy"), shell_word(arguments.output + "/Y.npy"), problem.epsilon,
      shell_word(program_name()), arguments.clients, options.policy);
  return exit_status(result.status);
}

}  // namespace

void add_demo_command(CLI::App& app, int& status) {
  auto arguments = std::make_shared<DemoArguments>();
  CLI::App* command = app.add_subcommand("demo", "Solve a small problem and draw what happened");
  command->add_option("--output", arguments->output, "Folder for the picture and the files")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--clients", arguments->clients, "Clients in this process that share the work")
      ->transform(integer({1, 64}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "Threads of each client; 0: cores / clients")
      ->transform(integer({0, std::numeric_limits<int>::max()}))
      ->capture_default_str();
  command->callback([arguments, &status] { status = run_demo(*arguments); });
}

}  // namespace fedsinkhorn
