#include "registry.hpp"

#include <array>

#include "build_info.hpp"

namespace fedsinkhorn {

std::span<const TopologyEntry> topologies() {
  static constexpr std::array entries = {
      TopologyEntry{
          .name = "centralized", .layout = centralized_layout, .make = make_centralized, .several_clients = false},
      TopologyEntry{.name = "all-to-all", .layout = all_to_all_layout, .make = make_all_to_all},
      TopologyEntry{.name = "star", .layout = star_layout, .make = make_star, .route = Route::through_root},
      TopologyEntry{.name = "grid", .layout = grid_layout, .make = make_grid, .takes_local_steps = false},
      TopologyEntry{.name = "row-reduce", .layout = row_reduce_layout, .make = make_row_reduce},
      TopologyEntry{.name = "async", .layout = all_to_all_layout, .make = make_asynchronous, .is_asynchronous = true},
  };
  return entries;
}

std::span<const MethodEntry> methods() {
  static constexpr std::array entries = {
      MethodEntry{.name = "auto", .make = make_anderson, .anneals = true},
      MethodEntry{.name = "anderson", .make = make_anderson},
      MethodEntry{.name = "overrelaxed", .make = make_overrelaxation, .relaxes = true},
      MethodEntry{.name = "sinkhorn"},
  };
  return entries;
}

std::span<const OptionalEntry> backends() {
  static constexpr std::array entries = {
      OptionalEntry{"auto", ""},
      OptionalEntry{"cpu", ""},
      OptionalEntry{"cuda", "built without CUDA"},
  };
  return entries;
}

std::span<const OptionalEntry> transports() {
  static constexpr std::array entries = {
      OptionalEntry{"threads", ""},
      OptionalEntry{"mpi", build_info::kMpi ? "" : "built without MPI"},
      OptionalEntry{"simulated", ""},
  };
  return entries;
}

const OptionalEntry& find_available(std::span<const OptionalEntry> entries, std::string_view name,
                                    const std::string& flag, const std::string& remedy) {
  const OptionalEntry& entry = find_entry(entries, name, flag);
  if (!entry.missing.empty()) {
    throw InputError(flag, "'" + std::string(name) + "' was asked for but this is " + std::string(entry.missing),
                     remedy);
  }
  return entry;
}

}  // namespace fedsinkhorn
