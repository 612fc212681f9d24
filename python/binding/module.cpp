// The extension module fedsinkhorn._core. What users see is in the package around it (python/fedsinkhorn).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "arrays.hpp"
#include "build_info.hpp"
#include "cost_models.hpp"
#include "device_arrays.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/version.hpp"
#include "gil.hpp"
#include "options.hpp"
#include "privacy.hpp"
#include "risks.hpp"
#include "solved.hpp"
#include "solving.hpp"

namespace {

namespace py = pybind11;
using namespace fedsinkhorn;

/// Fields stand in backquotes; they are the arguments' names.
std::string without_marks(std::string line) {
  line.erase(std::remove(line.begin(), line.end(), '`'), line.end());
  return line;
}

void bind_errors(py::module_& module) {
  static const py::exception<InputError> input_error(module, "InputError", PyExc_ValueError);
  static const py::exception<ClientLost> client_lost(module, "ClientLost", PyExc_RuntimeError);
  static const py::exception<ClientFailed> client_failed(module, "ClientFailed", PyExc_RuntimeError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& error) {
      PyErr_SetString(input_error.ptr(), without_marks(error.what()).c_str());
    } catch (const ClientLost& error) {
      PyErr_SetString(client_lost.ptr(), without_marks(error.what()).c_str());
    } catch (const ClientFailed& error) {
      PyErr_SetString(client_failed.ptr(), without_marks(error.what()).c_str());
    }
  });
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.attr("__version__") = std::string(version());
  module.attr("has_mpi") = build_info::kMpi;
  bind_errors(module);
  module.def("options", &fedsinkhorn::python::described_options);
  fedsinkhorn::python::bind_gil(module);
  fedsinkhorn::python::bind_arrays(module);
  fedsinkhorn::python::bind_device_arrays(module);
  fedsinkhorn::python::bind_solved(module);
  fedsinkhorn::python::bind_solving(module);
  fedsinkhorn::python::bind_risks(module);
  fedsinkhorn::python::bind_privacy(module);
  fedsinkhorn::python::bind_cost_models(module);
}
