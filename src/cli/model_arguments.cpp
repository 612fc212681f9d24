#include "cli/model_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/choices.hpp"
#include "cli/number_option.hpp"
#include "cli/word_option.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

constexpr IntegerRange kLines{1, 1'000'000'000};
constexpr IntegerRange kFromNone{0, 1'000'000'000};

template <class Entries>
std::string names_of(const Entries& entries) {
  std::string text;
  for (const auto& entry : entries) text += (text.empty() ? "" : ",") + std::string(entry.name);
  return "{" + text + "}";
}

}  // namespace

void add_model_options(CLI::App& command, ModelArguments& arguments) {
  const auto number = [&](const char* flag, auto& value, const IntegerRange& range, const char* help) {
    return command.add_option(flag, value, help)->transform(integer(range));
  };
  command
      .add_option(
          "--profile", arguments.profile,
          fmt::format("What fedsinkhorn calibrate has written, or one of {}", fmt::join(shipped_profiles(), ", ")))
      ->type_name("FILE")
      ->check(not_empty())
      ->required();
  number("--rows", arguments.rows, kLines, "Rows n")->required();
  number("--columns", arguments.columns, kLines, "Columns m; default as many as rows");
  number("--targets", arguments.targets, kLines, "Targets N")->capture_default_str();
  number("--dimension", arguments.dimension, kLines, "Of the points that costs come from")->capture_default_str();
  command.add_flag("--cost-matrix", arguments.is_matrix, "Costs come from a matrix, not from points");
  number("--clients-per-machine", arguments.per_machine, kFromNone,
         "Clients that share a machine; 0: as in the profile")
      ->capture_default_str();
  number("--threads", arguments.threads, kFromNone, "Threads of a client; 0: its share of the machine's cores")
      ->capture_default_str();
  number("--iterations", arguments.iterations, kFromNone, "Of the solve; 0: estimated from the tolerance")
      ->capture_default_str();
  command.add_option("--tolerance", arguments.tolerance, "Marginal error to reach")
      ->transform(real())
      ->capture_default_str();
  command
      .add_option("--relative-epsilon", arguments.relative_epsilon,
                  "Epsilon over the largest cost, to estimate iterations from")
      ->transform(real())
      ->capture_default_str();
  command.add_option("--method", arguments.method, "Method of the solve")
      ->type_name(names_of(methods()))
      ->check(not_empty())
      ->capture_default_str();
  command.add_option("--policy", arguments.policy, "What may leave a client")
      ->type_name(names_of(policies()))
      ->check(not_empty())
      ->capture_default_str();
  command.add_option("--mechanism", arguments.mechanism, "Of policy private")
      ->type_name(names_of(mechanisms()))
      ->check(not_empty())
      ->capture_default_str();
  command.add_option("--server", arguments.server, "sums: a server adds up masked sums (policy sums)")
      ->type_name(choices<Server>())
      ->check(not_empty())
      ->capture_default_str();
}

SolveShape shape_of(const ModelArguments& arguments) {
  const auto positive = [](const char* flag, double value) {
    if (!(value > 0)) throw InputError(flag, fmt::format("{} is not above 0", value), "give a positive number");
  };
  positive("--tolerance", arguments.tolerance);
  positive("--relative-epsilon", arguments.relative_epsilon);
  SolveShape shape;
  shape.rows = arguments.rows;
  shape.columns = arguments.columns > 0 ? arguments.columns : arguments.rows;
  shape.targets = arguments.targets;
  shape.clients = arguments.clients;
  shape.dimension = arguments.is_matrix ? 0 : arguments.dimension;
  shape.clients_per_machine = arguments.per_machine;
  shape.iterations = arguments.iterations;
  shape.options.method = std::string(methods().find(arguments.method, "--method").name);
  shape.options.policy = std::string(policies().find(arguments.policy, "--policy").name);
  shape.options.mechanism = std::string(mechanisms().find(arguments.mechanism, "--mechanism").name);
  shape.options.server = choice<Server>("--server", arguments.server);
  shape.options.threads = arguments.threads;
  return shape;
}

std::string predicted_bytes(double bytes) { return human_bytes(static_cast<std::uint64_t>(bytes)); }

}  // namespace fedsinkhorn
