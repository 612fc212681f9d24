// The one place that names every implementation. To add one: its file, its line in the build, its line in registry.cpp.
#pragma once

#include <string_view>

#include "core/registry.hpp"
#include "kernel/block.hpp"
#include "kernel/kernel_entry.hpp"
#include "method/acceleration.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

[[nodiscard]] Registry<TopologyEntry>& topologies();
[[nodiscard]] Registry<MethodEntry>& methods();
[[nodiscard]] Registry<BackendEntry>& backends();
[[nodiscard]] Registry<KernelEntry>& kernels();

/// An optional part of the build; `missing` is empty when it is in, else says why it is not.
struct OptionalEntry {
  std::string_view name;
  std::string_view missing;
};
[[nodiscard]] Registry<OptionalEntry>& transports();

}  // namespace fedsinkhorn
