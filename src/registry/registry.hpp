// The only place that names every implementation. To add one, add its file and its line in registry.cpp.
#pragma once

#include "comm/policy.hpp"
#include "comm/transports.hpp"
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
[[nodiscard]] Registry<TransportEntry>& transports();
[[nodiscard]] Registry<PolicyEntry>& policies();

}  // namespace fedsinkhorn
