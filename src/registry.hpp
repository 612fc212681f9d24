// The one place that names every implementation. To add one: its file, its line in the build, its line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/checked_problem.hpp"
#include "fedsinkhorn/error.hpp"
#include "kernel/cost_source.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

struct TopologyEntry {
  std::string_view name;
  std::unique_ptr<Topology> (*make)(const CheckedProblem& problem, const Options& options, int threads,
                                    const CostSource& cost, const cpu::Simd& simd);
};
[[nodiscard]] std::span<const TopologyEntry> topologies();

struct MethodEntry {
  std::string_view name;
};
[[nodiscard]] std::span<const MethodEntry> methods();

/// An optional part of the build; `missing` is empty when it is in, else says why it is not.
struct BackendEntry {
  std::string_view name;
  std::string_view missing;
};
[[nodiscard]] std::span<const BackendEntry> backends();

/// The entry of that name; InputError(flag) listing the alternatives if there is none.
template <class Entry>
const Entry& find_entry(std::span<const Entry> entries, std::string_view name, const std::string& flag) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw InputError(flag, "unknown name '" + std::string(name) + "'", "this build knows: " + known);
}

}  // namespace fedsinkhorn
