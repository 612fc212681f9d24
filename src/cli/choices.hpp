// Words of the command line that stand for choices.
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

/// The names as the type of an option, "{a,b,c}": --help shows them, and shells complete them.
template <class Choice>
std::string choices() {
  std::string text;
  for (const auto& [value, name] : Names<Choice>::kList) text += (text.empty() ? "{" : ",") + std::string(name);
  return text + "}";
}

/// The same for entries of the registry, with another name before them perhaps.
template <class Entries>
std::string choices_of(const Entries& entries, const std::string& first = "") {
  std::string text = first.empty() ? "" : "{" + first;
  for (const auto& entry : entries) text += (text.empty() ? "{" : ",") + std::string(entry.name);
  return text + "}";
}

}  // namespace fedsinkhorn
