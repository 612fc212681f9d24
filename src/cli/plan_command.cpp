// fedsinkhorn plan: which topology, kernel and precision to use, and why not another.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/model_arguments.hpp"
#include "cli/number_option.hpp"
#include "cli/output_format.hpp"
#include "cli/speaker.hpp"
#include "cli/word_option.hpp"
#include "core/printable.hpp"
#include "io/atomic_file.hpp"
#include "io/prediction_json.hpp"
#include "report/plan_picture.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn {
namespace {

struct PlanArguments : ModelArguments {
  double memory_per_client = 0;  ///< GB
  double memory_of_server = 0;
  bool no_peers = false;
  bool no_kernel_server = false;
  bool own_rows = false;
  std::string picture;
};

std::string plan_table(const Profile& profile, const TopologyQuestion& question, const TopologyPlan& plan) {
  const SolveShape& shape = question.shape;
  std::string text =
      fmt::format("{} x {}, {} target{}, up to {} clients, policy {}, profile {}\n\n", shape.rows, shape.columns,
                  shape.targets, shape.targets == 1 ? "" : "s", shape.clients, shape.options.policy, profile.name);
  text += fmt::format("{:>3} {:<12} {:<7} {:<9} {:>12} {:>12} {:>7} {:>10} {:>10}  {}\n", "", "topology", "kernel",
                      "precision", "seconds", "s/iteration", "talks", "per client", "server", "bottleneck");
  int place = 0;
  for (const TopologyOption& option : plan.options) {
    if (!option.out_because.empty()) continue;
    const Prediction& one = option.prediction;
    text += fmt::format("{:>3} {:<12} {:<7} {:<9} {:>12.4g} {:>12.4g} {:>6.0f}% {:>10} {:>10}  {}\n", ++place,
                        one.topology, one.kernel, one.precision, option.seconds, one.seconds_per_iteration,
                        100 * one.communication_seconds / (one.compute_seconds + one.communication_seconds),
                        predicted_bytes(one.memory_bytes),
                        one.server_memory_bytes > 0 ? predicted_bytes(one.server_memory_bytes) : "-", one.bottleneck);
  }
  if (place == 0) text += "    none is feasible\n";
  text += "\nout:\n";
  for (const TopologyOption& option : plan.options) {
    if (option.out_because.empty()) continue;
    text += fmt::format("    {:<12} {:<7} {:<9} {}\n", option.prediction.topology, option.prediction.kernel,
                        option.prediction.precision, option.out_because);
  }
  if (!plan.curves.empty()) text += "\nwhere messages take longer than computing:\n";
  for (const TopologyCurve& curve : plan.curves) {
    text += fmt::format("    {:<12} {}\n", curve.topology,
                        curve.turns_at > 0 ? fmt::format("with {} clients or more", curve.turns_at)
                                           : fmt::format("nowhere up to {} clients", curve.clients.back()));
  }
  text += "\n";
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text;
}

std::string plan_json(const TopologyPlan& plan) {
  using Json = nlohmann::ordered_json;
  Json json = {{"iterations", plan.iterations}, {"options", Json::array()}, {"curves", Json::array()}};
  for (const TopologyOption& option : plan.options) {
    Json one = prediction_json(option.prediction);
    one["feasible"] = option.out_because.empty();
    one["iterations"] = option.iterations;
    one["seconds"] = option.seconds;
    if (!option.out_because.empty()) one["reason"] = option.out_because;
    json["options"].push_back(one);
  }
  for (const TopologyCurve& curve : plan.curves) {
    json["curves"].push_back({{"topology", curve.topology},
                              {"clients", curve.clients},
                              {"seconds_per_iteration", curve.seconds},
                              {"communication_seconds", curve.communication},
                              {"communication_bound_from", curve.turns_at > 0 ? Json(curve.turns_at) : Json()}});
  }
  json["notes"] = plan.notes;
  return json.dump(2) + "\n";
}

void run_plan(const PlanArguments& arguments) {
  const auto format = choice<Format>("--format", arguments.format);
  const Profile profile = read_profile(arguments.profile);
  TopologyQuestion question;
  question.shape = shape_of(arguments);
  question.memory_per_client = 1e9 * arguments.memory_per_client;
  question.memory_of_server = 1e9 * arguments.memory_of_server;
  question.peers_may_talk = !arguments.no_peers;
  question.server_may_hold_kernel = !arguments.no_kernel_server;
  question.any_block_layout = !arguments.own_rows;
  question.tolerance = arguments.tolerance;
  question.relative_epsilon = arguments.relative_epsilon;
  if (speaks_for_all() && !arguments.picture.empty()) require_writable(arguments.picture);
  const TopologyPlan plan = plan_topology(profile, question);
  if (!speaks_for_all()) return;
  if (!arguments.picture.empty()) {
    const SolveShape& shape = question.shape;
    write_file_atomically(
        arguments.picture,
        plan_picture(plan, fmt::format("{} × {}, {} target{}, profile {}", grouped(shape.rows), grouped(shape.columns),
                                       shape.targets, shape.targets == 1 ? "" : "s", profile.name)));
  }
  for (const std::string& doubt : doubts_about(profile)) fmt::print(stderr, "fedsinkhorn: note: {}\n", doubt);
  fmt::print("{}", format == Format::json ? plan_json(plan) : plan_table(profile, question, plan));
  if (!arguments.picture.empty() && format == Format::table) fmt::print("picture: {}\n", arguments.picture);
}

}  // namespace

void add_plan_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "plan", "Rank topologies, kernels and precisions for a solve under constraints, from a profile");
  const auto arguments = std::make_shared<PlanArguments>();
  add_model_options(*command, *arguments);
  command->add_option("--clients", arguments->clients, "Clients there are")
      ->transform(integer({1, 10'000}))
      ->capture_default_str();
  command->add_option("--memory-per-client", arguments->memory_per_client, "GB that a client has; 0: no limit")
      ->transform(real())
      ->capture_default_str();
  command->add_option("--server-memory", arguments->memory_of_server, "GB that a server has; 0: as a client")
      ->transform(real())
      ->capture_default_str();
  command->add_flag("--no-peers", arguments->no_peers, "Clients can connect only to a server, not to each other");
  command->add_flag("--no-kernel-server", arguments->no_kernel_server, "No machine may hold the costs of all clients");
  command->add_flag("--own-rows", arguments->own_rows, "Each client keeps the rows it has: no blocks of a grid");
  command->add_option("--picture", arguments->picture, "Seconds against clients, an SVG file")
      ->type_name("FILE")
      ->check(not_empty());
  add_format(*command, arguments->format);
  command->callback([arguments] { run_plan(*arguments); });
}

}  // namespace fedsinkhorn
