// Choices on the command line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

template <class Choice>
Choice choice(const std::string& flag, const std::string& name) {
  if (const auto found = choice_named<Choice>(name)) return *found;
  throw InputError(flag, "unknown name '" + name + "'", "choose " + alternatives<Choice>());
}

/// The same for entries of the registry.
template <class Entries>
std::string choice_of(const Entries& entries, const std::string& flag, const std::string& name) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  if (std::ranges::find(names, name) != names.end()) return name;
  throw InputError(flag, "unknown name '" + name + "'", "choose " + alternatives(names));
}

/// The names as an option's type, "{a,b,c}": shown by --help, completed by shells.
template <class Choice>
std::string choices() {
  std::string text;
  for (const Choice choice : all_choices<Choice>()) {
    text += (text.empty() ? "{" : ",") + std::string(name_of(choice));
  }
  return text + "}";
}

}  // namespace fedsinkhorn
