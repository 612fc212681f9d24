// fedsinkhorn predict: time, bytes and memory of a solve that is not run.
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/choices.hpp"
#include "cli/commands.hpp"
#include "cli/model_arguments.hpp"
#include "cli/number_option.hpp"
#include "cli/speaker.hpp"
#include "cli/word_option.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/prediction_json.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

enum class PredictFormat { table, json, csv };

constexpr std::string_view name_of(PredictFormat format) {
  switch (format) {
    case PredictFormat::table: return "table";
    case PredictFormat::json: return "json";
    case PredictFormat::csv: return "csv";
  }
  return {};
}

struct PredictArguments : ModelArguments {
  std::string topology = "all";
  std::string kernel = "dense";
  std::string precision = "float64";
  std::string passes = "fused";
  std::string transport;
};

std::string predictions_table(const Profile& profile, const std::vector<Prediction>& predictions) {
  std::string text =
      fmt::format("profile {}{}\n\n", profile.name, profile.description.empty() ? "" : ": " + profile.description);
  text += fmt::format("{:<12} {:>7} {:>12} {:>12} {:>14} {:>10} {:>10} {:>10}  {}\n", "topology", "clients",
                      "s/iteration", "compute", "communication", "sent", "per client", "server", "bottleneck");
  for (const Prediction& one : predictions) {
    text +=
        fmt::format("{:<12} {:>7} {:>12.4g} {:>12.4g} {:>14.4g} {:>10} {:>10} {:>10}  {}\n", one.topology, one.clients,
                    one.seconds_per_iteration, one.compute_seconds, one.communication_seconds,
                    predicted_bytes(static_cast<double>(one.bytes_per_iteration)), predicted_bytes(one.memory_bytes),
                    one.server_memory_bytes > 0 ? predicted_bytes(one.server_memory_bytes) : "-", one.bottleneck);
  }
  text += "\nsent: by all clients in an iteration; a client, server: memory of its process, at most\n\n";
  for (const Prediction& one : predictions) {
    text += fmt::format("{}: T = {}\n", one.topology, one.formula);
    if (one.total_seconds > 0) {
      text += fmt::format("  whole solve about {:.4g} s, of which {:.4g} s before and after the iterations\n",
                          one.total_seconds, one.setup_seconds);
    }
    for (const std::string& note : one.notes) text += "  note: " + note + "\n";
  }
  return text;
}

std::string predictions_json(const std::vector<Prediction>& predictions) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Prediction& one : predictions) json.push_back(prediction_json(one));
  return json.dump(2) + "\n";
}

std::string predictions_csv(const std::vector<Prediction>& predictions) {
  std::string text =
      "topology,kernel,precision,policy,clients,threads,seconds_per_iteration,compute_seconds,communication_seconds,"
      "bytes_per_iteration,messages_per_iteration,bytes_per_client,memory_bytes,server_memory_bytes,"
      "process_memory_bytes,setup_seconds,total_seconds\n";
  for (const Prediction& one : predictions) {
    text += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{},{:.0f},{:.0f},{:.0f},{:.6g},{:.6g}\n",
                        one.topology, one.kernel, one.precision, one.policy, one.clients, one.threads,
                        one.seconds_per_iteration, one.compute_seconds, one.communication_seconds,
                        one.bytes_per_iteration, one.messages_per_iteration, one.bytes_per_client, one.memory_bytes,
                        one.server_memory_bytes, one.process_memory_bytes, one.setup_seconds, one.total_seconds);
  }
  return text;
}

bool goes_with_method(Options options, std::string_view topology, std::size_t clients) {
  options.topology = topology;
  try {
    check_method(options, clients);
  } catch (const InputError&) {
    return false;
  }
  return true;
}

/// The topologies asked for; of `all`, those that so many clients, the policy and the method can have.
std::vector<std::string> topologies_of(const PredictArguments& arguments, const Options& options) {
  if (arguments.topology != "all") {
    return {std::string(topologies().find(arguments.topology, "--topology").name)};
  }
  std::vector<std::string> names;
  for (const TopologyEntry& entry : topologies()) {
    const bool is_for_so_many = entry.several_clients || arguments.clients == 1;
    const bool keeps_policy = entry.only_open.empty() || !policy_of(options).keeps_apart;
    if (!is_for_so_many || !keeps_policy || entry.round == nullptr) continue;
    if (goes_with_method(options, entry.name, arguments.clients)) names.emplace_back(entry.name);
  }
  return names;
}

void run_predict(const PredictArguments& arguments) {
  const auto format = choice<PredictFormat>("--format", arguments.format);
  const Profile profile = read_profile(arguments.profile);
  SolveShape shape = shape_of(arguments);
  shape.options.kernel = KernelName(std::string(kernels().find(arguments.kernel, "--kernel").name));
  shape.options.precision = choice<Precision>("--precision", arguments.precision);
  shape.options.passes = choice<Passes>("--passes", arguments.passes);
  if (!arguments.transport.empty()) {
    shape.options.transport = std::string(transports().find(arguments.transport, "--transport").name);
  }
  if (shape.iterations == 0) {
    shape.iterations = expected_iterations(shape.options.method, arguments.relative_epsilon, arguments.tolerance);
  }
  std::vector<Prediction> predictions;
  for (const std::string& topology : topologies_of(arguments, shape.options)) {
    shape.options.topology = topology;
    predictions.push_back(predict(profile, shape));
    if (arguments.iterations == 0) {
      predictions.back().notes.push_back(
          fmt::format("whole solve: {} iterations, a median for epsilon = {:g} of the largest cost and tolerance {:g}, "
                      "off by a factor of 4 either way",
                      shape.iterations, arguments.relative_epsilon, arguments.tolerance));
    }
  }
  if (!speaks_for_all()) return;
  for (const std::string& doubt : doubts_about(profile)) fmt::print(stderr, "fedsinkhorn: note: {}\n", doubt);
  fmt::print("{}", format == PredictFormat::json  ? predictions_json(predictions)
                   : format == PredictFormat::csv ? predictions_csv(predictions)
                                                  : predictions_table(profile, predictions));
}

}  // namespace

void add_predict_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("predict", "Predict time, bytes and memory of a solve from a profile, without running it");
  const auto arguments = std::make_shared<PredictArguments>();
  add_model_options(*command, *arguments);
  command->add_option("--clients", arguments->clients, "Clients c")
      ->transform(integer({1, 10'000}))
      ->capture_default_str();
  command->add_option("--topology", arguments->topology, "A topology by its name, or all")
      ->type_name("NAME")
      ->check(not_empty())
      ->capture_default_str();
  command->add_option("--kernel", arguments->kernel, "dense or online")->check(not_empty())->capture_default_str();
  command->add_option("--precision", arguments->precision, "float64, float32 or mixed")
      ->check(not_empty())
      ->capture_default_str();
  command
      ->add_option("--passes", arguments->passes, "How often the kernel is read per iteration; fused: once; two: twice")
      ->type_name(choices<Passes>())
      ->check(not_empty())
      ->capture_default_str();
  command
      ->add_option("--transport", arguments->transport,
                   "simulated: only from the profile's links, as a simulation of them would go")
      ->check(not_empty());
  command->add_option("--format", arguments->format, "A table to read, JSON or CSV")
      ->type_name(choices<PredictFormat>())
      ->check(not_empty())
      ->capture_default_str();
  command->callback([arguments] { run_predict(*arguments); });
}

}  // namespace fedsinkhorn
