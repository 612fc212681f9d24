// What the registry lists, as lists of names that tests loop over. What is added to the registry is tested, too.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace fedsinkhorn::testing {

using NameList = std::vector<std::string>;

/// Of the entries that are as wanted, in the order of the registry.
template <class Entry, class Wanted>
NameList names_of(const Registry<Entry>& registry, const Wanted& is_wanted) {
  NameList names;
  for (const Entry& entry : registry) {
    if (is_wanted(entry)) names.emplace_back(entry.name);
  }
  return names;
}

inline const TopologyEntry& topology_named(const std::string& name) { return topologies().find(name, "`topology`"); }

inline LayoutOf layouts_of(const std::string& topology, std::size_t clients, const Options& options = {}) {
  const TopologyEntry& entry = topology_named(topology);
  return [&entry, clients, options](std::size_t client) { return entry.layout(client, clients, options); };
}

/// Several clients that wait for each other in every round.
inline bool is_in_step(const TopologyEntry& topology) { return topology.several_clients && !topology.is_asynchronous; }

inline NameList topologies_in_step() { return names_of(topologies(), is_in_step); }
/// Every topology in step with that many clients, and for one client every kind of iteration.
inline std::vector<Options> every_topology_and_iteration(std::size_t clients) {
  std::vector<Options> all;
  for (const std::string& topology : topologies_in_step()) {
    all.emplace_back().topology = topology;
    all.back().clients = clients;
  }
  all.emplace_back().stabilization = Stabilization::log;
  all.emplace_back().precision = Precision::digits50;
  return all;
}
inline NameList topologies_of_several_clients() {
  return names_of(topologies(), [](const TopologyEntry& entry) { return entry.several_clients; });
}
inline NameList topologies_that_keep_bits() {
  return names_of(topologies(), [](const TopologyEntry& entry) { return is_in_step(entry) && entry.keeps_bits; });
}
inline NameList topologies_with_local_steps() {
  return names_of(topologies(),
                  [](const TopologyEntry& entry) { return is_in_step(entry) && entry.takes_local_steps; });
}

inline NameList all_methods() {
  return names_of(methods(), [](const MethodEntry&) { return true; });
}
/// All but plain Sinkhorn.
inline NameList methods_that_accelerate() {
  return names_of(methods(), [](const MethodEntry& entry) { return entry.make != nullptr; });
}

/// Those whose columns are dealt in the order of the clients, so that parts of them can be, too.
inline NameList topologies_with_columns_in_order() {
  return names_of(topologies(), [](const TopologyEntry& entry) {
    if (!is_in_step(entry)) return false;
    const std::vector<std::size_t> order = entry.layout(0, 4, {}).column_clients;
    return std::is_sorted(order.begin(), order.end());
  });
}

/// As GoogleTest wants it in the name of a test.
inline std::string without_dashes(std::string name) {
  std::erase(name, '-');
  return name;
}

}  // namespace fedsinkhorn::testing
