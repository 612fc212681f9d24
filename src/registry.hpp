// The one place that names every implementation. To add one: its file, its line in the build, its line in registry.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "comm/collectives.hpp"
#include "fedsinkhorn/error.hpp"
#include "solve/acceleration.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

struct TopologyEntry {
  std::string_view name;
  Layout (*layout)(std::size_t client, std::size_t clients, const Options& options);
  std::unique_ptr<Topology> (*make)(const TopologyContext& context);
  Route route = Route::direct;    ///< who talks to whom
  bool several_clients = true;    ///< else one alone
  bool takes_local_steps = true;  ///< --local-steps above 1
  bool is_asynchronous = false;   ///< takes --damping and --max-staleness; cannot work in logs
};
[[nodiscard]] std::span<const TopologyEntry> topologies();

struct MethodEntry {
  std::string_view name;
  /// None: plain Sinkhorn.
  std::unique_ptr<Acceleration> (*make)(std::size_t memory, double reach, double mass,
                                        const cpu::SumOps& ops) = nullptr;
  bool anneals = false;  ///< epsilon comes down in levels
  bool relaxes = false;  ///< u is changed between the half-steps, so that one pass over K cannot do both
};
[[nodiscard]] std::span<const MethodEntry> methods();

/// An optional part of the build; `missing` is empty when it is in, else says why it is not.
struct OptionalEntry {
  std::string_view name;
  std::string_view missing;
};
[[nodiscard]] std::span<const OptionalEntry> transports();

/// What computes.
struct BackendEntry {
  std::string_view name;
  std::string_view missing;         ///< as above
  MakeBlock* make_block = nullptr;  ///< none: one of the others is chosen
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

/// Likewise, and it must be in this build. remedy: what to use instead.
template <class Entry>
const Entry& find_available(std::span<const Entry> entries, std::string_view name, const std::string& flag,
                            const std::string& remedy) {
  const Entry& entry = find_entry(entries, name, flag);
  if (entry.missing.empty()) return entry;
  throw InputError(flag, "'" + std::string(name) + "' was asked for but this is " + std::string(entry.missing), remedy);
}

}  // namespace fedsinkhorn
