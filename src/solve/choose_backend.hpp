// What computes: the CPU of the host, or devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "device/devices.hpp"
#include "fedsinkhorn/options.hpp"
#include "problem/checked_problem.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {

/// Checks the options by themselves, before looking for devices. Throws InputError naming the flag.
void check_backend(const Options& options);

/// Throws InputError if the kernel does not support such costs on that backend.
void check_costs(const KernelEntry& kernel, std::string_view backend, const CostInput& costs);

/// If the options want devices: checks, on clients that hold costs, that there are some and that the kernel supports
/// the costs. Throws the same InputError on all clients.
void require_devices(const Collectives& clients, const CostInput& costs, const Options& options, bool holds_costs);

/// What a client computes with.
struct Computing {
  const BackendEntry* backend = nullptr;  ///< never "auto"
  int device = -1;                        ///< its number; -1: none
  std::string device_name = "";
};

/// The same backend on all clients. auto: cuda if all clients that hold costs can use it, memory included, and the
/// problem is large enough to gain from it. Clients on one machine get its devices in turn. Throws the same InputError
/// on all clients if cuda was requested and the devices have too little memory.
[[nodiscard]] Computing choose_backend(const Collectives& clients, const Options& options,
                                       const CheckedProblem& problem);

// Its parts that do not depend on the machine.

/// The usable ones of all devices found: those wanted, in that order, or all that are supported. Throws InputError
/// naming those that exist. why_none: the answer of cuda::why_no_device().
[[nodiscard]] std::vector<cuda::DeviceDescription> usable_devices(const std::vector<int>& wanted,
                                                                  const std::vector<cuda::DeviceDescription>& found,
                                                                  const std::string& why_none);

/// Bytes the clients on a device would hold there, as requested and with other options. 0: not available.
struct DeviceNeeds {
  double asked = 0;
  double mixed = 0;
  double bfloat16 = 0;
  double online = 0;
  bool online_as_tf32 = false;  ///< since the requested precision is only for stored kernels
};
/// If they need more than is free, throws InputError with the flags that would help.
void require_device_memory(const cuda::DeviceDescription& device, std::uint64_t free_memory, const DeviceNeeds& needs);

}  // namespace fedsinkhorn
