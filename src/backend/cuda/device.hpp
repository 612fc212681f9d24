// The devices this process sees. No header of CUDA is needed to include this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fedsinkhorn::cuda {

struct DeviceDescription {
  int index = 0;
  std::string name;
  std::string address;  ///< on the PCI bus: tells it from the others of the machine, whatever their numbers here
  int major = 0;        ///< compute capability
  int minor = 0;
  std::uint64_t memory = 0;  ///< bytes
  bool supported = false;    ///< this build has code for it
};

/// In the order of their numbers. Empty where there are none, for whatever reason.
[[nodiscard]] std::vector<DeviceDescription> devices();

/// Of that device at this moment, in bytes; 0 where it does not answer. Takes some of it for this process.
[[nodiscard]] std::uint64_t free_memory(int device);

/// Empty if some device is supported; else the reason, one line.
[[nodiscard]] std::string why_no_device();

}  // namespace fedsinkhorn::cuda
