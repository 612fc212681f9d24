#include "solve/check_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>
#include <vector>

#include "options/option_table.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"
#include "solve/check_private.hpp"
#include "solve/choose_backend.hpp"

namespace fedsinkhorn {
namespace {

void check_asynchronous(const Options& options, const TopologyEntry& topology) {
  if (topology.is_asynchronous && options.stabilization == Stabilization::log) {
    throw InputError("`stabilization`", "the log domain is for synchronous clients", "use absorption");
  }
  if (!topology.is_asynchronous && options.damping < 1) {
    throw InputError("`damping`", fmt::format("the topology is {}", topology.name), "add `topology` async");
  }
}

/// The given option that requires plain Sinkhorn; empty if there is none.
std::string what_is_plain(const Options& options) {
  if (options.topology != "auto" && topologies().find(options.topology, "`topology`").is_asynchronous) {
    return "`topology` " + options.topology;
  }
  if (options.local_steps > 1) return "`local_steps`";
  if (options.stabilization == Stabilization::log) return "`stabilization` log";
  if (options.precision == Precision::digits50) return "`precision` 50";
  return "";
}

void check_method_and_options(const Options& options) {
  const MethodEntry& method = methods().find(options.method, "`method`");
  const std::string plain = what_is_plain(options);
  if (method.make != nullptr && options.method != "auto" && !plain.empty()) {
    throw InputError("`method`", fmt::format("{} does not go with {}", method.name, plain), "use sinkhorn or auto");
  }
  if (options.history > 0 && options.method == "auto" && !plain.empty()) {
    throw InputError("`history`", fmt::format("with {} the method is plain and keeps no differences", plain),
                     "leave one of them out");
  }
}

void check_row_weights(const Options& options, std::size_t clients) {
  if (options.row_weights.empty()) return;
  if (options.row_weights.size() != clients) {
    throw InputError("`row_weights`", fmt::format("has {} weights", options.row_weights.size()),
                     fmt::format("there are {} clients", clients));
  }
  double sum = 0;
  for (const double weight : options.row_weights) sum += weight;
  if (!(sum > 0) || std::isinf(sum)) throw InputError("`row_weights`", "the weights have no usable sum");
}

void check_clients(const Options& options, std::size_t clients) {
  if (options.clients != 0 && options.clients != clients) {
    throw InputError("`clients`", fmt::format("{} were asked for", options.clients),
                     fmt::format("there are {}", clients));
  }
  const TopologyEntry& topology = topologies().find(resolved_topology(options, clients), "`topology`");
  if (clients > 1 && !topology.several_clients) {
    throw InputError("`topology`", fmt::format("'{}' is for one client, and there are {}", topology.name, clients),
                     "use all-to-all, star, grid, row-reduce or async");
  }
  if (options.precision == Precision::digits50 && clients > 1) {
    throw InputError("`precision`", "50 digits are for one client", "use float64, or one client");
  }
  if (options.local_steps > 1 && !topology.takes_local_steps) {
    throw InputError("`local_steps`", fmt::format("a {} has no rows of its own to take steps with", topology.name),
                     "use all-to-all, star, row-reduce or async");
  }
  if (options.local_steps > 1 && options.stabilization == Stabilization::log) {
    throw InputError("`local_steps`", "is not for the iteration in logs", "use `stabilization` absorption");
  }
  check_asynchronous(options, topology);
  check_row_weights(options, clients);
  if (topology.name == "grid") {
    (void)grid_shape(clients, options.grid);
  } else if (options.grid.rows != 0) {
    throw InputError("`grid`", fmt::format("the topology is {}", topology.name), "add `topology` grid");
  }
}

/// Words have room for the sums of so many (see FixedPoint).
constexpr std::size_t kMostSecureClients = 4096;

void check_policy(const Options& options, std::size_t clients) {
  const PolicyEntry& policy = policy_of(options);
  if (!policy.adds_securely && !(options.keys.own.empty() && options.keys.fingerprints.empty())) {
    throw InputError(options.keys.own.empty() ? "`fingerprints`" : "`key`",
                     "is for masks, which policy " + options.policy + " does not use", "add `policy` sums or private");
  }
  for (const auto& [field, is_given] :
       {std::pair{"`share_matrices`", options.share_matrices}, std::pair{"`most_sums`", options.most_sums > 0}}) {
    if (is_given && options.policy != "sums") {
      throw InputError(field, "is about the sums of policy sums", "add `policy` sums, or leave it out");
    }
  }
  if (!policy.adds_securely || clients == 1) return;
  const TopologyEntry& topology = topologies().find(resolved_topology(options, clients), "`topology`");
  if (!topology.only_open.empty()) {
    throw InputError("`policy`",
                     fmt::format("{} is not for topology {}: {}", policy.name, topology.name, topology.only_open),
                     "use row-reduce, or policy open");
  }
  if (clients > kMostSecureClients) {
    throw InputError("`clients`", fmt::format("{} are too many for policy {}", clients, policy.name),
                     fmt::format("at most {}", kMostSecureClients));
  }
  if (options.norm == Norm::linf) {
    throw InputError("`norm`",
                     fmt::format("linf is the largest error of one client, which policy {} keeps with it", policy.name),
                     "use l1 or l2");
  }
  if (options.local_steps > 1) {
    throw InputError("`local_steps`",
                     fmt::format("need each client's summand, which policy {} keeps with it", policy.name), "use 1");
  }
  if (options.method == "overrelaxed") {
    throw InputError("`method`",
                     fmt::format("overrelaxed needs the largest ratio of any row, which policy {} keeps "
                                 "with its client",
                                 policy.name),
                     "use auto, anderson, newton or sinkhorn");
  }
}

/// Options that must be the same on every client.
std::vector<const OptionEntry*> common_options() {
  std::vector<const OptionEntry*> common;
  for (const OptionEntry& option : option_table()) {
    if (option.is_common) common.push_back(&option);
  }
  return common;
}

/// The option as sent: its flag (under its oldest name) and its value.
std::string line_of(const OptionEntry& option, const Problem& problem, const Options& options) {
  const std::string flag = option.former_flag.empty() ? option.main_flag() : std::string(option.former_flag);
  return flag + " " + value_text(option, problem, options);
}

}  // namespace

std::string resolved_topology(const Options& options, std::size_t clients) {
  if (options.topology != "auto") return options.topology;
  if (is_private(options)) {
    const auto& fitting = mechanisms().find(options.mechanism, "`mechanism`").topologies;
    const std::string_view wanted = clients == 1 ? "centralized" : "row-reduce";
    return std::string(std::ranges::find(fitting, wanted) == fitting.end() ? fitting.front() : wanted);
  }
  return clients == 1 ? "centralized" : "row-reduce";
}

std::string resolved_method(const Options& options) {
  return options.method == "auto" && !what_is_plain(options).empty() ? "sinkhorn" : options.method;
}

// Newton's method asks more of clients than others do.
void check_method(const Options& options, std::size_t clients) {
  check_method_and_options(options);
  const MethodEntry& method = methods().find(options.method, "`method`");
  const TopologyEntry& topology = topologies().find(resolved_topology(options, clients), "`topology`");
  const Layout layout = topology.layout(0, clients, options);
  if (method.needs_whole_rows && layout.column_slices.size() < layout.column_clients.size()) {
    throw InputError("`method`",
                     fmt::format("{} needs whole rows of the kernel, which a {} cuts", method.name, topology.name),
                     "use row-reduce, all-to-all or star, or method auto");
  }
}

void check_options(const Options& options, std::size_t clients) {
  for (const OptionEntry& option : option_table()) check_range(option, options);
  (void)cpu::simd(options.simd);
  (void)cpu::simd("auto");  // used for what is computed from the result
  check_backend(options);
  check_clients(options, clients);
  check_method(options, clients);
  check_policy(options, clients);
  check_private(options, clients);
}

void check_server(const Options& options, std::size_t processes) {
  if (!policy_of(options).adds_securely) {
    throw InputError("`server`", "adds up masked sums, and with policy " + options.policy + " there are none",
                     "add `policy` sums or private");
  }
  if (processes < 2) throw InputError("`server`", "there is nobody to serve", "start one process more than clients");
}

void require_common_options(const Collectives& clients, const Problem& problem, const Options& options) {
  Options own = options;
  own.topology = resolved_topology(options, clients.size());
  std::string text;
  for (const OptionEntry* option : common_options()) text += line_of(*option, problem, own) + "\n";
  const std::string first = clients.of(Payload::options).broadcast_text(text, 0);
  agree(clients, [&] {
    if (text == first) return;
    std::istringstream lines(first);
    for (const OptionEntry* option : common_options()) {
      const std::string mine = line_of(*option, problem, own);
      std::string other;
      std::getline(lines, other);
      if (mine == other) continue;
      throw InputError(fmt::format("`{}`", option->field),
                       fmt::format("is {} on client {}", value_text(*option, problem, own), clients.rank()),
                       fmt::format("client 0 has {}", other.substr(other.find(' ') + 1)));
    }
    throw InputError("options", fmt::format("client {} knows fewer than client 0", clients.rank()),
                     "start the same program everywhere");
  });
}

}  // namespace fedsinkhorn
