#include "options.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/scenario.hpp"
#include "numbers.hpp"
#include "options/option_table.hpp"
#include "registry/option_names.hpp"

namespace fedsinkhorn::python {
namespace {

/// Sets one option from a Python value according to the type of its field.
struct OptionSetter {
  const OptionEntry& option;
  py::handle value;
  Options& options;

  void operator()(double Problem::* /*epsilon*/) const {}  // an argument of its own
  void operator()(double Options::*member) const { options.*member = real_number(value, name()); }
  void operator()(std::int64_t Options::*member) const {
    options.*member = whole_number(value, name(), std::numeric_limits<std::int64_t>::max());
  }
  void operator()(int Options::*member) const {
    options.*member = static_cast<int>(whole_number(value, name(), std::numeric_limits<int>::max()));
  }
  void operator()(std::size_t Options::*member) const {
    const std::int64_t count = whole_number(value, name(), std::numeric_limits<std::int64_t>::max());
    if (count < 0 || !option.range.has(static_cast<double>(count))) {
      const std::string wrong(option.range.wrong.empty() ? "{} is out of range" : option.range.wrong);
      throw InputError(name(), fmt::format(fmt::runtime(wrong), count), std::string(option.range.right));
    }
    options.*member = static_cast<std::size_t>(count);
  }
  void operator()(bool Options::*member) const { options.*member = truth(value, name()); }
  void operator()(std::string Options::*member) const { options.*member = word(); }
  void operator()(KernelName Options::*member) const { options.*member = KernelName(word()); }
  void operator()(std::vector<int> Options::*member) const {
    std::vector<int> numbers;
    for (const py::object& element : elements()) {
      numbers.push_back(static_cast<int>(whole_number(element, name(), std::numeric_limits<int>::max())));
    }
    options.*member = numbers;
  }
  void operator()(std::vector<double> Options::*member) const {
    std::vector<double> numbers;
    for (const py::object& element : elements()) numbers.push_back(real_number(element, name()));
    options.*member = numbers;
  }
  void operator()(GridShape Options::*member) const {
    constexpr std::int64_t most = 4096;  // clients
    const std::vector<py::object> sides = elements();
    if (sides.size() != 2)
      throw InputError(name(), "is not a shape", "give rows and columns of clients, such as (2, 3)");
    const auto side = [&](const py::object& given) {
      const std::int64_t count = whole_number(given, name(), most);
      if (count < 1) throw InputError(name(), "is not a shape", "give rows and columns of clients, such as (2, 3)");
      return static_cast<std::size_t>(count);
    };
    options.*member = GridShape{side(sides[0]), side(sides[1])};
  }
  template <class Choice>
  void operator()(Choice Options::*member) const {
    const std::string wanted = word();
    const auto found = choice_named<Choice>(wanted);
    if (!found) throw InputError(name(), "unknown name '" + wanted + "'", "choose " + alternatives<Choice>());
    options.*member = *found;
  }

 private:
  [[nodiscard]] std::string name() const { return std::string(option.field); }
  /// Some names are numbers: precision 50.
  [[nodiscard]] std::string word() const {
    if (py::isinstance<py::str>(value)) return text_of(value, name());
    if (PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0) return py::str(value);
    throw InputError(name(), fmt::format("a {} was given", type_name(value)), "give a name");
  }
  /// Of a list, a tuple or an array; a single number is a list of one.
  [[nodiscard]] std::vector<py::object> elements() const {
    std::vector<py::object> found;
    if (is_number(value)) {
      found.push_back(py::reinterpret_borrow<py::object>(value));
      return found;
    }
    const bool is_text = py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value);
    if (is_text || PySequence_Check(value.ptr()) == 0) {
      throw InputError(name(), fmt::format("a {} was given", type_name(value)), "give a list of numbers");
    }
    for (const py::handle element : py::iter(value)) found.push_back(py::reinterpret_borrow<py::object>(element));
    return found;
  }
};

/// The library names the file alone.
std::string readable(const std::string& path) {
  if (!std::ifstream(path)) throw InputError(path, "cannot be read", "");
  return path;
}

/// Options that are not in the table, because their values are files.
bool set_other(const std::string& name, py::handle value, Options& options) {
  if (name == "key") {
    options.keys.own = from_file(value, name, readable);
  } else if (name == "fingerprints") {
    options.keys.fingerprints = from_file(value, name, readable);
  } else if (name == "scenario") {
    options.scenario = from_file(value, name, read_scenario);
  } else {
    return false;
  }
  return true;
}

/// Flags in help texts become names of arguments.
std::string with_arguments(std::string_view help) {
  std::string text(help);
  for (const OptionEntry& option : option_table()) {
    const std::string flag = option.main_flag();
    for (std::size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
      const std::size_t end = at + flag.size();
      const bool is_whole =
          end == text.size() || (std::isalnum(static_cast<unsigned char>(text[end])) == 0 && text[end] != '-');
      if (is_whole) text.replace(at, flag.size(), std::string(option.field));
    }
  }
  return text;
}

/// The default as Python would print it; None where it follows from other settings.
struct DefaultOf {
  template <class Value>
  py::object operator()(const Value& value) const {
    if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, KernelName>) {
      return py::str(std::string(name_of(value)));
    } else if constexpr (std::is_same_v<Value, GridShape> || std::is_same_v<Value, std::vector<int>> ||
                         std::is_same_v<Value, std::vector<double>>) {
      return py::none();
    } else {
      return py::cast(value);
    }
  }
};

struct TypeOf {
  template <class Struct, class Value>
  const char* operator()(Value Struct::* /*member*/) const {
    if constexpr (std::is_same_v<Value, bool>) return "bool";
    if constexpr (std::is_same_v<Value, double>) return "float";
    if constexpr (std::is_integral_v<Value>) return "int";
    if constexpr (std::is_same_v<Value, std::vector<int>>) return "Sequence[int]";
    if constexpr (std::is_same_v<Value, std::vector<double>>) return "Sequence[float]";
    if constexpr (std::is_same_v<Value, GridShape>) return "Tuple[int, int]";
    return "str";
  }
};

/// Other names of it on the command line, as names of arguments.
std::vector<std::string> aliases_of(const OptionEntry& option) {
  std::vector<std::string> aliases;
  std::istringstream flags(fmt::format("{},{}", option.flags, option.former_flag));
  for (std::string flag; std::getline(flags, flag, ',');) {
    flag.erase(0, flag.find_first_not_of('-'));
    std::ranges::replace(flag, '-', '_');
    if (!flag.empty() && flag != option.field) aliases.push_back(flag);
  }
  return aliases;
}

}  // namespace

Options options_from(const py::dict& given) {
  Options options;
  for (const auto& [key, value] : given) {
    if (value.is_none()) continue;
    const std::string name = py::str(key);
    const OptionEntry* option = find_option(name);
    if (option != nullptr) {
      std::visit(OptionSetter{*option, value, options}, option->member);
      check_range(*option, options);
    } else if (!set_other(name, value, options)) {
      throw InputError(name, "is no option");
    }
  }
  return options;
}

py::list described_options() {
  py::list all;
  for (const OptionEntry& option : option_table()) {
    py::dict one;
    one["name"] = std::string(option.field);
    one["group"] = std::string(option.group);
    one["help"] = with_arguments(option.help);
    one["type"] = std::visit(TypeOf{}, option.member);
    one["range"] = range_text(option);
    one["default_text"] = with_arguments(option.default_text);
    one["default"] =
        option.default_text.empty() ? visit_value(option, Problem{}, Options{}, DefaultOf{}) : py::object(py::none());
    one["choices"] = names_of_option(option);
    one["aliases"] = aliases_of(option);
    all.append(one);
  }
  return all;
}

}  // namespace fedsinkhorn::python
