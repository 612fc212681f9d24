#include "device_arrays.hpp"

#include <dlpack/dlpack.h>

#include "arrays.hpp"
#include "device/device_matrix.hpp"
#include "device/devices.hpp"
#include "fedsinkhorn/error.hpp"
#include "gil.hpp"

namespace fedsinkhorn::python {
namespace {

constexpr const char* kFresh = "dltensor";
constexpr const char* kTaken = "used_dltensor";

bool is_in_c_order(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

template <class T>
MatrixView<T> device_view(const DLTensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  return {reinterpret_cast<const T*>(bytes), static_cast<std::size_t>(tensor.shape[0]),
          static_cast<std::size_t>(tensor.shape[1])};
}

DeviceCostMatrix device_matrix(const DLTensor& tensor, const std::string& name) {
  if (tensor.device.device_type != kDLCUDA) throw InputError(name, "does not lie on a CUDA device");
  if (tensor.ndim != 2) throw InputError(name, "has " + std::to_string(tensor.ndim) + " dimensions", "give 2");
  if (!is_in_c_order(tensor)) throw InputError(name, "is not in C order");
  const bool is_float = tensor.dtype.code == kDLFloat && tensor.dtype.lanes == 1;
  if (is_float && tensor.dtype.bits == 32) return {device_view<float>(tensor), tensor.device.device_id};
  if (is_float && tensor.dtype.bits == 64) return {device_view<double>(tensor), tensor.device.device_id};
  throw InputError(name, "is neither float32 nor float64");
}

}  // namespace

void DeviceArray::Release::operator()(DLManagedTensor* tensor) const {
  if (tensor->deleter != nullptr) tensor->deleter(tensor);
}

DeviceArray::DeviceArray(const py::capsule& capsule, const std::string& name) {
  auto* tensor = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), kFresh));
  if (tensor == nullptr) throw py::error_already_set();
  // By DLPack's rules: whoever renames the capsule takes over the tensor.
  if (PyCapsule_SetName(capsule.ptr(), kTaken) != 0) throw py::error_already_set();
  tensor_.reset(tensor);
  matrix_ = device_matrix(tensor->dl_tensor, name);
  const WithoutGil no_gil;
  cuda::wait_for_default_stream(matrix_.device);
}

DeviceRows DeviceArray::rows() const {
  return std::visit(
      [&]<class T>(const MatrixView<T>& view) {
        // The memory is its owner's, who asked for it to be written.
        return DeviceRows{const_cast<T*>(view.data), view.rows * view.columns, matrix_.device};
      },
      matrix_.matrix);
}

py::object DeviceArray::on_host() const {
  return std::visit(
      [&]<class T>(const MatrixView<T>& view) -> py::object {
        NewArray<T> copy = new_array<T>({view.rows, view.columns});
        {
          const WithoutGil no_gil;
          cuda::copy_to_host(matrix_, copy.memory.data());
        }
        return std::move(copy.array);
      },
      matrix_.matrix);
}

void bind_device_arrays(py::module_& module) {
  py::class_<DeviceArray>(module, "DeviceArray", "A matrix of float32 or float64 in the memory of a CUDA device.")
      .def(py::init<const py::capsule&, const std::string&>())
      .def_property_readonly("shape",
                             [](const DeviceArray& self) {
                               const AnyMatrix& matrix = self.matrix().matrix;
                               return py::make_tuple(rows_of(matrix), columns_of(matrix));
                             })
      .def_property_readonly("device", [](const DeviceArray& self) { return self.matrix().device; })
      .def("on_host", &DeviceArray::on_host);
  module.def("why_no_device", &cuda::why_no_device);
}

}  // namespace fedsinkhorn::python
