#include "registry/option_names.hpp"

#include <sstream>
#include <type_traits>

#include "core/names.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

template <class Entry>
std::vector<std::string> names_in(const Registry<Entry>& entries, std::vector<std::string> names = {}) {
  for (const Entry& entry : entries) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> names_of_text(const OptionEntry& option) {
  if (option.field == "method") return names_in(methods());
  if (option.field == "backend") return names_in(backends());
  if (option.field == "topology") return names_in(topologies(), {"auto"});
  if (option.field == "transport") return names_in(transports());
  if (option.field == "kernel") return names_in(kernels());
  if (option.field == "policy") return names_in(policies());
  if (option.field == "mechanism") return names_in(mechanisms());
  std::vector<std::string> names;
  std::istringstream listed{std::string(option.names)};
  for (std::string name; std::getline(listed, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

std::vector<std::string> names_of_option(const OptionEntry& option) {
  return visit_value(option, Problem{}, Options{}, [&](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    std::vector<std::string> names;
    if constexpr (std::is_enum_v<Value>) {
      for (const Value choice : all_choices<Value>()) names.emplace_back(name_of(choice));
    } else if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, KernelName>) {
      names = names_of_text(option);
    }
    return names;
  });
}

}  // namespace fedsinkhorn
