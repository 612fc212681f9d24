#include "solve/check_options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "core/names.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"
#include "solve/choose_backend.hpp"

namespace fedsinkhorn {
namespace {

/// The policy of who has said nothing.
constexpr std::string_view kOpen = "open";

void check_asynchronous(const Options& options, const TopologyEntry& topology) {
  if (topology.is_asynchronous && options.stabilization == Stabilization::log) {
    throw InputError("--stabilization", "the log domain is for synchronous clients", "use absorption");
  }
  if (!(options.damping > 0 && options.damping <= 1)) {
    throw InputError("--damping", fmt::format("{} is no share of an update", options.damping),
                     "give a number above 0, up to 1 (no damping)");
  }
  constexpr std::int64_t most_stale = 4096;
  if (options.max_staleness < 1 || options.max_staleness > most_stale) {
    throw InputError("--max-staleness", fmt::format("{} is out of range", options.max_staleness),
                     fmt::format("give 1 to {} iterations", most_stale));
  }
  if (!topology.is_asynchronous && options.damping < 1) {
    throw InputError("--damping", fmt::format("the topology is {}", topology.name), "add --topology async");
  }
}

/// The option that only goes with plain Sinkhorn; empty if there is none.
std::string what_is_plain(const Options& options) {
  if (options.topology == "async") return "--topology async";
  if (options.local_steps > 1) return "--local-steps";
  if (options.stabilization == Stabilization::log) return "--stabilization log";
  if (options.precision == Precision::digits50) return "--precision 50";
  return "";
}

void check_method(const Options& options) {
  const MethodEntry& method = methods().find(options.method, "--method");
  const std::string plain = what_is_plain(options);
  if (method.make != nullptr && options.method != "auto" && !plain.empty()) {
    throw InputError("--method", fmt::format("{} does not go with {}", method.name, plain), "use sinkhorn or auto");
  }
  if (options.memory > 0 && options.method == "auto" && !plain.empty()) {
    throw InputError("--memory", fmt::format("with {} the method is plain and keeps no differences", plain),
                     "leave one of them out");
  }
  if (options.memory > kMostMemory) {
    throw InputError("--memory", fmt::format("{} differences were asked for", options.memory),
                     fmt::format("give 1 to {}", kMostMemory));
  }
}

void check_row_weights(const Options& options, std::size_t clients) {
  if (options.row_weights.empty()) return;
  if (options.row_weights.size() != clients) {
    throw InputError("--rows", fmt::format("has {} weights", options.row_weights.size()),
                     fmt::format("there are {} clients", clients));
  }
  double sum = 0;
  for (const double weight : options.row_weights) {
    if (!(weight >= 0) || std::isinf(weight)) {
      throw InputError("--rows", fmt::format("{} is not a weight", weight), "give numbers of 0 or more");
    }
    sum += weight;
  }
  if (!(sum > 0) || std::isinf(sum)) throw InputError("--rows", "the weights have no usable sum");
}

void check_clients(const Options& options, std::size_t clients) {
  if (options.clients != 0 && options.clients != clients) {
    throw InputError("--clients", fmt::format("{} were asked for", options.clients),
                     fmt::format("there are {}", clients));
  }
  const TopologyEntry& topology = topologies().find(resolved_topology(options, clients), "--topology");
  if (clients > 1 && !topology.several_clients) {
    throw InputError("--topology", fmt::format("'{}' is for one client, and there are {}", topology.name, clients),
                     "use all-to-all, star, grid, row-reduce or async");
  }
  if (options.precision == Precision::digits50 && clients > 1) {
    throw InputError("--precision", "50 digits are for one client", "use float64, or one client");
  }
  if (options.local_steps < 1) throw InputError("--local-steps", "must be at least 1");
  if (options.local_steps > 1 && !topology.takes_local_steps) {
    throw InputError("--local-steps", fmt::format("a {} has no rows of its own to take steps with", topology.name),
                     "use all-to-all, star, row-reduce or async");
  }
  if (options.local_steps > 1 && options.stabilization == Stabilization::log) {
    throw InputError("--local-steps", "is not for the iteration in logs", "use --stabilization absorption");
  }
  check_asynchronous(options, topology);
  check_row_weights(options, clients);
  if (topology.name == "grid") {
    (void)grid_shape(clients, options.grid);
  } else if (options.grid.rows != 0) {
    throw InputError("--grid", fmt::format("the topology is {}", topology.name), "add --topology grid");
  }
}

/// What must be the same on every client, a flag a line; the last one may be left out.
std::string common_options(const Problem& problem, const Options& options, std::size_t clients) {
  std::string weights;
  for (const double weight : options.row_weights) weights += fmt::format("{},", weight);
  std::string devices;
  for (const int device : options.devices) devices += fmt::format("{},", device);
  return fmt::format(
      "--epsilon {}\n--tolerance {}\n--norm {}\n--max-iterations {}\n--check-every {}\n--method {}\n--memory "
      "{}\n--topology {}\n"
      "--passes {}\n--kernel {}\n--precision {}\n--stabilization {}\n--feasibility {}\n--local-steps {}\n"
      "--max-staleness {}\n--damping {}\n--damping-kind {}\n--grid {}x{}\n--rows {}\n--keep-local {}\n"
      "--backend {}\n--devices {}\n--normalize {}\n{}",
      problem.epsilon, options.tolerance, name_of(options.norm), options.max_iterations, options.check_every,
      options.method, options.memory, resolved_topology(options, clients), name_of(options.passes),
      name_of(options.kernel), name_of(options.precision), name_of(options.stabilization), name_of(options.feasibility),
      options.local_steps, options.max_staleness, options.damping, name_of(options.damping_kind), options.grid.rows,
      options.grid.columns, weights, options.keep_local, options.backend, devices, options.normalize,
      options.policy == kOpen ? "" : fmt::format("--policy {}\n", options.policy));
}

}  // namespace

std::string resolved_topology(const Options& options, std::size_t clients) {
  if (options.topology != "auto") return options.topology;
  return clients == 1 ? "centralized" : "row-reduce";
}

std::string resolved_method(const Options& options) {
  return options.method == "auto" && !what_is_plain(options).empty() ? "sinkhorn" : options.method;
}

void check_options(const Options& options, std::size_t clients) {
  if (!(options.tolerance >= 0) || std::isinf(options.tolerance)) {
    throw InputError("--tolerance", fmt::format("{} is not a tolerance", options.tolerance),
                     "give 0 (run the whole budget) or a positive number");
  }
  if (options.max_iterations < 1) throw InputError("--max-iterations", "must be at least 1");
  if (options.check_every < 1) throw InputError("--check-every", "must be at least 1");
  if (options.threads < 0 || options.threads > 4096) {
    throw InputError("--threads", fmt::format("{} is out of range", options.threads),
                     "give 1 to 4096, or 0 for all cores");
  }
  (void)cpu::simd(options.simd);
  (void)cpu::simd("auto");  // for what is computed from the result
  check_method(options);
  check_backend(options);
  check_clients(options, clients);
}

void require_common_options(const Collectives& clients, const Problem& problem, const Options& options) {
  const std::string own = common_options(problem, options, clients.size());
  const std::string first = clients.of(Payload::options).broadcast_text(own, 0);
  agree(clients, [&] {
    if (own == first) return;
    std::size_t begin = 0;
    std::size_t line_end = 0;
    for (std::size_t k = 0; k < own.size() && k < first.size() && own[k] == first[k]; ++k) {
      if (own[k] == '\n') begin = k + 1;
    }
    const auto line = [&](const std::string& text) {
      line_end = text.find('\n', begin);
      return text.substr(begin, line_end - begin);
    };
    const std::string mine = line(own);
    const std::string other = line(first);
    const std::string& given = mine.empty() ? other : mine;
    const std::string flag = given.substr(0, given.find(' '));
    const auto value = [&](const std::string& text) {
      return text.empty() ? std::string(kOpen) : text.substr(flag.size() + 1);
    };
    throw InputError(flag, fmt::format("is {} on client {}", value(mine), clients.rank()),
                     fmt::format("client 0 has {}", value(other)));
  });
}

}  // namespace fedsinkhorn
