#include "numbers.hpp"

#include <fmt/format.h>

#include <cmath>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn::python {
namespace {

[[noreturn]] void refuse_kind(py::handle value, const std::string& name, const char* right) {
  throw InputError(name, fmt::format("a {} was given", type_name(value)), right);
}

}  // namespace

std::string type_name(py::handle value) {
  const py::handle type = py::type::handle_of(value);
  const std::string module = py::str(py::getattr(type, "__module__", py::str("")));
  const std::string name = py::str(py::getattr(type, "__name__", py::str("object")));
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

bool is_truth(py::handle value) {
  return PyBool_Check(value.ptr()) != 0 || type_name(value) == "numpy.bool_" || type_name(value) == "numpy.bool";
}

bool is_number(py::handle value) {
  if (PyFloat_Check(value.ptr()) != 0 || PyLong_Check(value.ptr()) != 0) return true;
  if (PyNumber_Check(value.ptr()) == 0) return false;
  // NumPy's scalars, and its arrays without dimensions, have no length.
  if (PySequence_Check(value.ptr()) == 0) return true;
  const bool has_length = PySequence_Size(value.ptr()) >= 0;
  PyErr_Clear();
  return !has_length;
}

double real_number(py::handle value, const std::string& name) {
  if (is_truth(value) || py::isinstance<py::str>(value) || PyNumber_Check(value.ptr()) == 0) {
    refuse_kind(value, name, "give a number");
  }
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();  // complex, an array of several numbers, an integer beyond all doubles
    refuse_kind(value, name, "give a number that fits into a float");
  }
  return number;
}

std::int64_t whole_number(py::handle value, const std::string& name, std::int64_t most) {
  if (PyIndex_Check(value.ptr()) != 0 && !is_truth(value)) {
    int overflow = 0;
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!index) {
      PyErr_Clear();
      refuse_kind(value, name, "give a whole number");
    }
    const std::int64_t number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0 || number > most || number < -most) {
      throw InputError(name, std::string(py::str(index)) + " is too large", fmt::format("give at most {}", most));
    }
    return number;
  }
  const double number = real_number(value, name);
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond it a float does not count
  if (number != std::floor(number) || !(std::abs(number) <= kExact)) {
    throw InputError(name, fmt::format("{} is no whole number", number));
  }
  if (std::abs(number) > static_cast<double>(most)) {
    throw InputError(name, fmt::format("{} is too large", number), fmt::format("give at most {}", most));
  }
  return static_cast<std::int64_t>(number);
}

bool truth(py::handle value, const std::string& name) {
  if (!is_truth(value)) refuse_kind(value, name, "give True or False");
  return PyObject_IsTrue(value.ptr()) == 1;
}

std::string text_of(py::handle value, const std::string& name) {
  if (!py::isinstance<py::str>(value)) refuse_kind(value, name, "give a string");
  py::ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) {  // half of a pair of surrogates
    PyErr_Clear();
    throw InputError(name, "is not text that can be written as UTF-8");
  }
  return {text, static_cast<std::size_t>(size)};
}

std::string path_of(py::handle value, const std::string& name) {
  const auto path = py::reinterpret_steal<py::object>(PyOS_FSPath(value.ptr()));
  if (!path) {
    PyErr_Clear();
    refuse_kind(value, name, "give a path");
  }
  return text_of(path, name);
}

}  // namespace fedsinkhorn::python
