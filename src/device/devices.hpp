// The devices visible to this process. Including this needs no CUDA header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedsinkhorn::cuda {

struct DeviceDescription {
  int index = 0;
  std::string name;
  std::string address;  ///< on the PCI bus: identifies it in this machine, whatever its number here
  int major = 0;        ///< compute capability
  int minor = 0;
  std::uint64_t memory = 0;  ///< bytes
  bool supported = false;    ///< this build has code for it
};

/// In order of their numbers. Empty if there are none, for any reason.
[[nodiscard]] std::vector<DeviceDescription> devices();

/// Free memory of that device now, in bytes; 0 if it does not respond. The query itself takes some memory.
[[nodiscard]] std::uint64_t free_memory(int device);

/// Empty if some device is supported; otherwise the reason, in one line.
[[nodiscard]] std::string why_no_device();

}  // namespace fedsinkhorn::cuda
