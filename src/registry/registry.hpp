// The only place that names every implementation. To add one, add its file and its line in registry.cpp.
#pragma once

#include "comm/policy.hpp"
#include "comm/transports.hpp"
#include "core/registry.hpp"
#include "kernel/block.hpp"
#include "kernel/kernel_entry.hpp"
#include "mechanism/mechanism.hpp"
#include "method/acceleration.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

[[nodiscard]] Registry<TopologyEntry>& topologies();
[[nodiscard]] Registry<MethodEntry>& methods();
[[nodiscard]] Registry<BackendEntry>& backends();
[[nodiscard]] Registry<KernelEntry>& kernels();
[[nodiscard]] Registry<TransportEntry>& transports();
[[nodiscard]] Registry<PolicyEntry>& policies();
[[nodiscard]] Registry<MechanismEntry>& mechanisms();

/// The policy of a solve. With policy private it is that of the mechanism. Throws InputError naming the option.
[[nodiscard]] const PolicyEntry& policy_of(const Options& options);
/// Whether the policy is private: another loop, and results without anything clean.
[[nodiscard]] bool is_private(const Options& options);

}  // namespace fedsinkhorn
