// Devices are described as the runtime sees them, and one that is called supported runs our code.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "cuda/require_device.hpp"
#include "device/runtime.hpp"
#include "device/transfer.hpp"

namespace fedsinkhorn {
namespace {

__global__ void write_its_number(int* out) { out[threadIdx.x] = static_cast<int>(threadIdx.x); }

bool runs_code(int device) {
  constexpr int count = 64;
  cuda::check(cudaSetDevice(device), "choosing a device");
  const cuda::DeviceBuffer<int> on_device(count);
  write_its_number<<<1, count>>>(on_device.data());
  cuda::check(cudaGetLastError(), "write_its_number");
  const std::vector<int> numbers = cuda::on_host(on_device);
  for (int k = 0; k < count; ++k) {
    if (numbers[static_cast<std::size_t>(k)] != k) return false;
  }
  return true;
}

}  // namespace
}  // namespace fedsinkhorn

int main() {
  using namespace fedsinkhorn;
  testing::require_device_or_skip();
  bool all_well = true;
  for (const cuda::DeviceDescription& device : cuda::devices()) {
    const bool well = !device.supported || (runs_code(device.index) && cuda::free_memory(device.index) > 0 &&
                                            cuda::free_memory(device.index) <= device.memory && !device.name.empty());
    std::printf("device %d: %s, %s\n", device.index, device.name.c_str(), well ? "as it should be" : "WRONG");
    all_well = all_well && well;
  }
  return all_well ? 0 : 1;
}
