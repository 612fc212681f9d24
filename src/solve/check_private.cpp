#include "solve/check_private.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.hpp"
#include "options/option_table.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

void refuse_options_of_private(const Options& options) {
  for (const OptionEntry& option : option_table()) {
    if (option.group != "Policy private") continue;
    if (value_text(option, Problem{}, options) == value_text(option, Problem{}, Options{})) continue;
    throw InputError(fmt::format("`{}`", option.field), fmt::format("has no meaning with policy {}", options.policy),
                     "add `policy` private");
  }
}

void check_noise(const Options& options) {
  if (!options.budget.empty() && (options.budget.size() != 2 || !(options.budget[1] < 1))) {
    throw InputError("`budget`", "is not a pair of numbers epsilon,delta",
                     "give epsilon above 0 and delta between 0 and 1, such as 1,1e-6");
  }
  if (options.noise == 0 && options.budget.empty()) {
    throw InputError("`policy`", "private needs noise", "add `budget` epsilon,delta, or `noise` sigma");
  }
}

/// Options that a private run has no use for, or that would tell more than its releases.
void refuse_what_leaks(const Options& options) {
  const auto refuse = [](const char* field, const std::string& reason, const std::string& remedy) {
    throw InputError(field, reason, remedy);
  };
  if (options.method != "auto" && options.method != "sinkhorn") {
    refuse("`method`", fmt::format("{} looks at more than releases", options.method), "use auto with policy private");
  }
  if (options.history > 0) refuse("`history`", "a private run keeps no differences", "leave it out");
  if (options.local_steps > 1) {
    refuse("`local_steps`", "a private run has its own", "use `mechanism` scalings and `release_every`");
  }
  if (options.normalize) {
    refuse("`normalize`", "needs the total of all clients' masses", "scale them to a total of 1 beforehand");
  }
  const Options defaults;
  if (options.max_iterations != defaults.max_iterations) {
    refuse("`max_iterations`", "a private run makes as many as there are releases", "use `releases`");
  }
  if (options.check_every != 1) refuse("`check_every`", "a private run looks at every release", "leave it out");
  if (options.stabilization != defaults.stabilization || options.passes != defaults.passes) {
    refuse(options.passes != defaults.passes ? "`passes`" : "`stabilization`",
           "a private run always sums in logs, in two passes", "leave it out");
  }
  if (options.damping < 1) refuse("`damping`", "is not for private runs", "leave it out");
  if (options.precision != Precision::float64) {
    refuse("`precision`", fmt::format("{} is not for private runs", name_of(options.precision)), "use float64");
  }
  if (options.backend == "cuda") refuse("`backend`", "cuda is not for private runs", "use cpu");
}

}  // namespace

void check_private(const Options& options, std::size_t clients) {
  if (!is_private(options)) return refuse_options_of_private(options);
  const MechanismEntry& mechanism = mechanisms().find(options.mechanism, "`mechanism`");
  const std::string topology = resolved_topology(options, clients);
  if (std::ranges::find(mechanism.topologies, topology) == mechanism.topologies.end()) {
    throw InputError("`policy`",
                     fmt::format("private with mechanism {} is not for topology {}", mechanism.name, topology),
                     fmt::format("use {}", alternatives(mechanism.topologies)));
  }
  check_noise(options);
  refuse_what_leaks(options);
  mechanism.check(options, clients);
}

}  // namespace fedsinkhorn
