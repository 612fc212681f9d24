// Every way to run privately: each mechanism in each of its topologies.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "registry/registry.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn::testing {

struct Way {
  std::string mechanism;
  std::string topology;
  Server server = Server::none;
};

inline void PrintTo(const Way& way, std::ostream* stream) { *stream << way.mechanism << ", " << way.topology; }

/// With several clients, as the registry lists them.
inline std::vector<Way> private_ways() {
  std::vector<Way> ways;
  for (const MechanismEntry& mechanism : mechanisms()) {
    for (const std::string_view topology : mechanism.topologies) {
      if (!topology_named(std::string(topology)).several_clients) continue;
      ways.push_back({std::string(mechanism.name), std::string(topology)});
      if (!mechanism.policy.adds_securely) continue;
      ways.push_back({std::string(mechanism.name), std::string(topology), Server::sums});
    }
  }
  return ways;
}

inline std::string name_of(const Way& way) {
  return way.mechanism + "_" + without_dashes(way.topology) + (way.server == Server::sums ? "_served" : "");
}

/// Releases with noise that neither a budget nor a seed decides.
inline Options options_of(const Way& way, std::size_t clients, std::size_t releases, double noise) {
  Options options;
  options.policy = "private";
  options.mechanism = way.mechanism;
  options.topology = way.topology;
  options.server = way.server;
  options.clients = clients;
  options.releases = releases;
  options.noise = noise;
  options.threads = 1;
  options.tolerance = 0;
  options.private_up_to = 1e300;  // noise is little, so that results can be compared
  if (way.mechanism == "scalings") options.clip = 10;
  return options;
}

inline bool is_asynchronous(const Way& way) { return topology_named(way.topology).is_asynchronous; }

}  // namespace fedsinkhorn::testing
