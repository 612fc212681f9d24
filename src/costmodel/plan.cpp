// Which topology, kernel and precision reaches a tolerance first, among those that the constraints allow.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string>

#include "core/memory.hpp"
#include "core/names.hpp"
#include "costmodel/calibrate.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::array kPlanned = {"centralized", "row-reduce", "all-to-all", "star", "grid", "async"};
constexpr std::array kPrecisions = {Precision::float64, Precision::mixed, Precision::float32};

/// Marginal errors below which rounding dominates, about, for masses of total 1 (compare Result::error_floor).
double floor_of(Precision precision) {
  if (precision == Precision::float32) return 1e-6;
  return precision == Precision::mixed ? 1e-10 : 1e-14;
}

SolveShape candidate(const TopologyQuestion& question, const char* topology, const char* kernel, Precision precision) {
  SolveShape shape = question.shape;
  shape.options.topology = topology;
  shape.options.kernel = KernelName(std::string(kernel));
  shape.options.precision = precision;
  if (std::string_view(topology) == "centralized") shape.clients = 1;
  return shape;
}

/// Why the constraints rule it out; empty: they do not. Memory is looked at later.
std::string why_not(const TopologyQuestion& question, const TopologyEntry& topology, const Options& options,
                    const SolveShape& shape) {
  const std::size_t clients = question.shape.clients;
  const bool is_central = !topology.several_clients;
  const bool is_star = topology.route == Route::through_root;
  const bool keeps_apart = policy_of(options).keeps_apart;
  if (is_central && clients > 1 && (keeps_apart || !question.server_may_hold_kernel)) {
    return "one machine would hold the data of all";
  }
  if (!is_central && clients == 1) return "there is one client";
  if (keeps_apart && !topology.only_open.empty()) {
    return fmt::format("policy {}: {}", options.policy, topology.only_open);
  }
  if (is_star && !question.server_may_hold_kernel) return "its server holds the kernel";
  const bool has_sum_server = options.server == Server::sums;
  if (!is_central && !is_star && !question.peers_may_talk && !has_sum_server) {
    return "its clients talk to each other";
  }
  if (topology.name == "grid" && !question.any_block_layout) return "no client has whole rows in it";
  if (question.tolerance < floor_of(shape.options.precision)) {
    return fmt::format("{} reaches {:g}, not {:g}", name_of(shape.options.precision), floor_of(shape.options.precision),
                       question.tolerance);
  }
  return "";
}

std::string too_large(const TopologyQuestion& question, const Prediction& prediction, bool is_central) {
  const double of_server = question.memory_of_server > 0 ? question.memory_of_server : question.memory_per_client;
  const auto exceeds = [](double bytes, double limit) { return limit > 0 && bytes > limit; };
  const auto line = [](const char* who, double bytes, double limit) {
    return fmt::format("{} needs {} of {}", who, human_bytes(static_cast<std::uint64_t>(bytes)),
                       human_bytes(static_cast<std::uint64_t>(limit)));
  };
  if (is_central) {
    return exceeds(prediction.memory_bytes, of_server) ? line("the machine", prediction.memory_bytes, of_server) : "";
  }
  if (exceeds(prediction.memory_bytes, question.memory_per_client)) {
    return line("a client", prediction.memory_bytes, question.memory_per_client);
  }
  if (exceeds(prediction.server_memory_bytes, of_server)) {
    return line("the server", prediction.server_memory_bytes, of_server);
  }
  return "";
}

TopologyOption judged(const Profile& profile, const TopologyQuestion& question, const SolveShape& shape) {
  TopologyOption option;
  const TopologyEntry& topology = topologies().find(shape.options.topology, "`topology`");
  option.prediction.topology = shape.options.topology;
  option.prediction.kernel = shape.options.kernel.text();
  option.prediction.precision = name_of(shape.options.precision);
  option.prediction.policy = shape.options.policy;
  option.prediction.clients = shape.clients;
  option.out_because = why_not(question, topology, shape.options, shape);
  if (!option.out_because.empty()) return option;
  try {
    option.prediction = predict(profile, shape);
  } catch (const InputError& error) {
    option.out_because = error.what();
    return option;
  }
  option.out_because = too_large(question, option.prediction, !topology.several_clients);
  const std::string method = topology.is_asynchronous ? "sinkhorn" : shape.options.method;
  option.iterations = shape.iterations > 0 ? shape.iterations
                                           : expected_iterations(method, question.relative_epsilon, question.tolerance);
  option.seconds = option.prediction.setup_seconds +
                   static_cast<double>(option.iterations) * option.prediction.seconds_per_iteration;
  option.prediction.total_seconds = option.seconds;
  return option;
}

/// The first number of clients from which on communication takes longer than computing.
std::size_t turning_point(const Profile& profile, SolveShape shape, const TopologyCurve& curve) {
  const auto talks_more = [&](std::size_t clients) {
    shape.clients = clients;
    const Prediction prediction = predict(profile, shape);
    return prediction.communication_seconds > prediction.compute_seconds;
  };
  for (std::size_t k = 0; k < curve.clients.size(); ++k) {
    if (2 * curve.communication[k] <= curve.seconds[k]) continue;
    std::size_t last = curve.clients[k];
    std::size_t first = k == 0 ? last : curve.clients[k - 1] + 1;
    while (first < last) {
      const std::size_t middle = (first + last) / 2;
      if (talks_more(middle)) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return last;
  }
  return 0;
}

TopologyCurve curve_of(const Profile& profile, const TopologyQuestion& question, const Prediction& best,
                       const char* topology) {
  TopologyCurve curve;
  curve.topology = topology;
  SolveShape shape = question.shape;
  shape.options.topology = topology;
  shape.options.kernel = KernelName(best.kernel);
  shape.options.precision = question.shape.options.precision;
  for (const Precision precision : kPrecisions) {
    if (name_of(precision) == best.precision) shape.options.precision = precision;
  }
  for (const std::size_t clients : numbers_of_clients(std::max<std::size_t>(question.shape.clients, 2))) {
    if (clients == 1 || clients > question.shape.rows) continue;
    shape.clients = clients;
    const Prediction prediction = predict(profile, shape);
    curve.clients.push_back(clients);
    curve.seconds.push_back(prediction.seconds_per_iteration);
    curve.communication.push_back(std::min(prediction.communication_seconds, prediction.seconds_per_iteration));
  }
  curve.turns_at = turning_point(profile, shape, curve);
  return curve;
}

void add_curves(const Profile& profile, const TopologyQuestion& question, TopologyPlan& plan) {
  const auto feasible =
      std::ranges::find_if(plan.options, [](const TopologyOption& o) { return o.out_because.empty(); });
  if (feasible == plan.options.end()) {
    plan.notes.emplace_back("no topology is feasible under these constraints");
    return;
  }
  for (const char* topology : kPlanned) {
    const TopologyEntry& entry = topologies().find(topology, "`topology`");
    if (!entry.several_clients || entry.is_asynchronous) continue;
    const bool is_possible = std::ranges::any_of(plan.options, [&](const TopologyOption& option) {
      return option.prediction.topology == topology && option.prediction.seconds_per_iteration > 0;
    });
    if (!is_possible) continue;
    try {
      plan.curves.push_back(curve_of(profile, question, feasible->prediction, topology));
    } catch (const InputError&) {  // its grids of other numbers of clients cut rows that the method needs
    }
  }
}

}  // namespace

std::int64_t expected_iterations(const std::string& method, double relative_epsilon, double tolerance) {
  // To 1e-9, plain about 2 / epsilon and accelerated about 1.3 epsilon^-0.65: medians of uniform, Gaussian and
  // clustered points, uneven masses, random costs and points on a line with n = 400. In proportion to the digits asked
  // for.
  const double digits = std::log(1 / std::clamp(tolerance, 1e-16, 0.1)) / std::log(1e9);
  const double epsilon = std::clamp(relative_epsilon, 1e-8, 1.0);
  const bool is_plain = method == "sinkhorn";
  const double rounds = is_plain ? 2 / epsilon : 1.3 * std::pow(epsilon, -0.65);
  return std::max<std::int64_t>(3, std::llround(digits * rounds));
}

TopologyPlan plan_topology(const Profile& profile, const TopologyQuestion& question) {
  TopologyPlan plan;
  for (const char* topology : kPlanned) {
    for (const char* kernel : {"dense", "online"}) {
      if (std::string_view(kernel) == "online" && question.shape.dimension == 0) continue;
      for (const Precision precision : kPrecisions) {
        plan.options.push_back(judged(profile, question, candidate(question, topology, kernel, precision)));
      }
    }
  }
  std::ranges::stable_sort(plan.options, [](const TopologyOption& one, const TopologyOption& other) {
    const bool is_in = one.out_because.empty();
    const bool other_is_in = other.out_because.empty();
    if (is_in != other_is_in) return is_in;
    return is_in && one.seconds < other.seconds;
  });
  plan.iterations = question.shape.iterations > 0 ? question.shape.iterations
                                                  : expected_iterations(question.shape.options.method,
                                                                        question.relative_epsilon, question.tolerance);
  if (question.shape.iterations == 0) {
    plan.notes.push_back(fmt::format(
        "about {} iterations to {:g} at epsilon = {:g} of the largest cost: a median, off by a factor of 4 either way",
        plan.iterations, question.tolerance, question.relative_epsilon));
  }
  add_curves(profile, question, plan);
  return plan;
}

}  // namespace fedsinkhorn
