// What it costs to keep data apart: a round of row-reduce under policy sums, added up by the clients or by a server,
// against one where everything leaves in plain. Clients are threads of this process.
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "fedsinkhorn/solve.hpp"
#include "instance.hpp"
#include "plain_options.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr double kGoal = 1.15;

struct Way {
  const char* name;
  const char* policy;
  Server server;
};
constexpr Way kWays[] = {
    {"open", "open", Server::none}, {"sums", "sums", Server::none}, {"sums, with a server", "sums", Server::sums}};

Options options_of(const Way& way, const char* method, std::size_t clients, int iterations) {
  Options options = plain_options(iterations, 0);
  options.method = method;
  options.topology = "row-reduce";
  options.clients = clients;
  options.policy = way.policy;
  options.server = way.server;
  return options;
}

/// Seconds of an iteration; the first, which builds the kernel, is not counted.
double seconds_of_iteration(const Instance& instance, const Options& options) {
  const std::vector<TraceRow> trace = solve(instance.problem(), options).trace;
  if (trace.size() < 2) throw std::runtime_error("policies: the solve did not run its budget");
  return (trace.back().seconds - trace.front().seconds) /
         static_cast<double>(trace.back().iteration - trace.front().iteration);
}

void verify(const char* method, std::size_t clients) {
  const Instance instance(random_points(CloudKind::uniform, 300, 3), 0.01, 1);
  const Result open = solve(instance.problem(), options_of(kWays[0], method, clients, 30));
  for (const Way& way : kWays) {
    const Result result = solve(instance.problem(), options_of(way, method, clients, 30));
    require_close("policies, f", result.f, open.f, 1e-11);
    require_close("policies, g", result.g, open.g, 1e-11);
  }
}

}  // namespace

void measure_policies(const Settings& settings, Report& report) {
  const std::size_t n = settings.size(10000);
  const std::size_t clients = 4;
  const int iterations = settings.quick ? 8 : 30;
  const Instance instance(random_points(CloudKind::uniform, n, 3), 0.05, settings.threads);
  report.note(fmt::format("n = {}, {} clients on threads, {} iterations a solve", n, clients, iterations));
  Table table({"a round", "open", "sums", "ratio (middle 80 %)", "with a server", "ratio (middle 80 %)"});
  for (const char* method : {"sinkhorn", "anderson"}) {
    verify(method, clients);
    std::vector<Contender> contenders;
    for (const Way& way : kWays) {
      contenders.push_back({fmt::format("{}, {}", method, way.name), [&instance, &way, method, iterations] {
                              return seconds_of_iteration(instance, options_of(way, method, clients, iterations));
                            }});
    }
    const std::vector<Timing> timings = round_robin({settings.rounds(9), 1, 0}, contenders);
    report.timings(timings);
    const auto by_clients = ratios(timings[1].seconds, timings[0].seconds);
    const auto by_server = ratios(timings[2].seconds, timings[0].seconds);
    table.add({method, duration_text(median(timings[0].seconds)), duration_text(median(timings[1].seconds)),
               ratio_text(by_clients), duration_text(median(timings[2].seconds)), ratio_text(by_server)});
    report.at_most(fmt::format("{}: a round under sums, times one under open", method), median(by_clients), kGoal);
  }
  report.print(table);
}

}  // namespace fedsinkhorn::bench
