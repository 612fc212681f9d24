// Who computes: the processors of the host, or devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cuda/device.hpp"
#include "comm/collectives.hpp"
#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {

/// What the options say by themselves, before anybody looks for a device. Throws InputError naming the flag.
void check_backend(const Options& options);

/// Throws InputError if the kernel there is not for such costs.
void check_costs(const KernelEntry& kernel, std::string_view backend, const CostInput& costs);

/// Looks for devices if the options want some, on clients that hold costs, and at whether the kernel takes these.
/// Throws InputError, the same on all clients.
void require_devices(const Collectives& clients, const CostInput& costs, const Options& options, bool holds_costs);

/// With what a client computes.
struct Computing {
  const BackendEntry* backend = nullptr;  ///< never "auto"
  int device = -1;                        ///< its number; -1: none
  std::string device_name = "";
};

/// The same backend on all clients; auto: cuda where all that hold costs can have it, memory included, and the problem
/// is large enough to gain by it. Clients on one machine are dealt its devices in turn. Throws InputError, the same on
/// all clients, if cuda was asked for and the devices have not enough memory.
[[nodiscard]] Computing choose_backend(const Collectives& clients, const Options& options,
                                       const CheckedProblem& problem);

// The parts of it that look at no machine.

/// Those that may be used, of all that were found: the ones wanted, in that order, or all that are supported. Throws
/// InputError naming those that exist. why_none: as cuda::why_no_device() says it.
[[nodiscard]] std::vector<cuda::DeviceDescription> usable_devices(const std::vector<int>& wanted,
                                                                  const std::vector<cuda::DeviceDescription>& found,
                                                                  const std::string& why_none);

/// Bytes the clients on a device would hold there, as asked for and otherwise. 0: that cannot be had.
struct DeviceNeeds {
  double asked = 0;
  double mixed = 0;
  double bfloat16 = 0;
  double online = 0;
  bool online_as_tf32 = false;  ///< since what is asked for is for stored kernels alone
};
/// Throws InputError with the flags that would help if they need more than is free.
void require_device_memory(const cuda::DeviceDescription& device, std::uint64_t free_memory, const DeviceNeeds& needs);

}  // namespace fedsinkhorn
