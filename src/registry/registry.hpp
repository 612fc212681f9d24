// The one place that names every implementation. To add one: its file, and its line in registry.cpp.
#pragma once

#include <string_view>

#include "core/registry.hpp"
#include "kernel/block.hpp"
#include "method/acceleration.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

[[nodiscard]] Registry<TopologyEntry>& topologies();
[[nodiscard]] Registry<MethodEntry>& methods();
[[nodiscard]] Registry<BackendEntry>& backends();

/// An optional part of the build; `missing` is empty when it is in, else says why it is not.
struct OptionalEntry {
  std::string_view name;
  std::string_view missing;
};
[[nodiscard]] Registry<OptionalEntry>& transports();

}  // namespace fedsinkhorn
