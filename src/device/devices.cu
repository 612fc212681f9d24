#include "device/devices.hpp"

#include <cuda_runtime.h>

#include <algorithm>

namespace fedsinkhorn::cuda {
namespace {

/// The kernels use instructions that only this architecture (sm_90a) has; later ones do not.
constexpr int kMajor = 9;
constexpr int kMinor = 0;

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why_none_answers(cudaError_t status) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no CUDA device: there is no driver";
  if (status == cudaErrorInsufficientDriver) {
    return "driver too old: it is for CUDA " + version_text(driver) + ", this build needs " +
           version_text(CUDART_VERSION);
  }
  return std::string("no CUDA device: ") + cudaGetErrorString(status);
}

std::string address_of(int device) {
  char text[32] = "";
  if (cudaDeviceGetPCIBusId(text, sizeof text, device) != cudaSuccess) cudaGetLastError();
  return text;
}

}  // namespace

std::vector<DeviceDescription> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<DeviceDescription> found;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    const bool supported = properties.major == kMajor && properties.minor == kMinor;
    found.push_back({device, properties.name, address_of(device), properties.major, properties.minor,
                     properties.totalGlobalMem, supported});
  }
  return found;
}

std::uint64_t free_memory(int device) {
  int before = 0;
  if (cudaGetDevice(&before) != cudaSuccess) return 0;
  std::size_t free = 0;
  std::size_t total = 0;
  const bool known = cudaSetDevice(device) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess;
  cudaSetDevice(before);
  cudaGetLastError();  // an unresponsive device must not cause an error in a later call
  return known ? free : 0;
}

std::string why_no_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return why_none_answers(status);
  }
  const std::vector<DeviceDescription> found = devices();
  if (found.empty()) return "no CUDA device: the driver shows none";
  if (std::any_of(found.begin(), found.end(), [](const DeviceDescription& device) { return device.supported; })) {
    return "";
  }
  const DeviceDescription& first = found.front();
  return "unsupported architecture: " + first.name + " has compute capability " + std::to_string(first.major) + "." +
         std::to_string(first.minor) + ", this build needs " + std::to_string(kMajor) + "." + std::to_string(kMinor);
}

}  // namespace fedsinkhorn::cuda
