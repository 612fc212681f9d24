// For builds without CUDA: answers to the questions about devices.
#include "device/device_matrix.hpp"
#include "device/devices.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::cuda {
namespace {

[[noreturn]] void refuse() {
  throw InputError("cost", "lies on a device, and this was built without CUDA", "copy it to the host");
}

}  // namespace

std::vector<DeviceDescription> devices() { return {}; }

std::uint64_t free_memory(int /*device*/) { return 0; }

std::string why_no_device() { return "built without CUDA"; }

DeviceScan scan(const DevicePart& /*part*/) { refuse(); }
double entry_of(const DeviceCostMatrix& /*matrix*/, std::size_t /*row*/, std::size_t /*column*/) { refuse(); }
void copy_to_host(const DeviceCostMatrix& /*matrix*/, void* /*to*/) { refuse(); }
void wait_for_default_stream(int /*device*/) { refuse(); }

int current_device() { return -1; }
void set_current_device(int /*device*/) noexcept {}

}  // namespace fedsinkhorn::cuda
