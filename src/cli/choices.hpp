// Choices on the command line.
#pragma once

#include <string>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

template <class Choice>
Choice choice(const std::string& flag, const std::string& name) {
  if (const auto found = choice_named<Choice>(name)) return *found;
  throw InputError(flag, "unknown name '" + name + "'", "choose " + alternatives<Choice>());
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
