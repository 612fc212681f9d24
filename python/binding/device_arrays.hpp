// Arrays of others in the memory of a CUDA device, by DLPack.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/solve.hpp"

struct DLManagedTensor;

namespace fedsinkhorn::python {

namespace py = pybind11;

/// A matrix of float32 or float64 in C order on a device. Keeps the memory. To be destroyed with the GIL held.
class DeviceArray {
 public:
  /// capsule: of __dlpack__(stream=1). Waits for what others have queued on the default stream. Throws InputError,
  /// whose message begins with the name of the argument, if it is no such matrix.
  DeviceArray(const py::capsule& capsule, const std::string& name);

  [[nodiscard]] const DeviceCostMatrix& matrix() const { return matrix_; }
  /// As memory to write to.
  [[nodiscard]] DeviceRows rows() const;
  /// A copy on the host, as a NumPy array.
  [[nodiscard]] py::object on_host() const;

 private:
  struct Release {
    void operator()(DLManagedTensor* tensor) const;
  };
  std::unique_ptr<DLManagedTensor, Release> tensor_;
  DeviceCostMatrix matrix_;
};

void bind_device_arrays(py::module_& module);

}  // namespace fedsinkhorn::python
