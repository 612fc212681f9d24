#include "options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "options/option_entries.hpp"

namespace fedsinkhorn {
namespace {

/// The text of a value by its type.
struct TextOf {
  std::string operator()(const KernelName& kernel) const { return kernel.text(); }
  std::string operator()(GridShape shape) const { return fmt::format("{}x{}", shape.rows, shape.columns); }
  template <class Number>
  std::string operator()(const std::vector<Number>& numbers) const {
    std::string text;
    for (const Number number : numbers) text += fmt::format("{},", number);
    return text;
  }
  template <class Value>
  std::string operator()(const Value& value) const {
    if constexpr (std::is_enum_v<Value>) {
      return std::string(name_of(value));
    } else {
      return fmt::format("{}", value);
    }
  }
};

template <class Value>
constexpr bool kIsNumber = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;

/// Checks a value by its type; only numbers have a range.
struct RangeCheck {
  const OptionEntry& option;

  template <class Number>
  void number(Number value) const {
    if (option.range.has(static_cast<double>(value))) return;
    throw InputError(fmt::format("`{}`", option.field), fmt::format(fmt::runtime(option.range.wrong), value),
                     std::string(option.range.right));
  }
  void operator()(std::size_t count) const {
    if (count != 0) number(count);
  }
  template <class Number>
  void operator()(const std::vector<Number>& numbers) const {
    for (const Number value : numbers) number(value);
  }
  template <class Value>
  void operator()(const Value& value) const {
    if constexpr (kIsNumber<Value>) number(value);
  }
};

}  // namespace

bool OptionUsers::are_named(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::span<const OptionEntry> option_table() {
  static const std::vector<OptionEntry> table = [] {
    std::vector<OptionEntry> all;
    for (const auto& part : {problem_options(), stopping_options(), arithmetic_options(), machinery_options(),
                             client_options(), policy_options(), asynchronous_options(), noise_options(),
                             marginal_options(), clip_options(), output_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

const OptionEntry* find_option(std::string_view field) {
  const std::span<const OptionEntry> table = option_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const OptionEntry& option) { return option.field == field; });
  return found == table.end() ? nullptr : &*found;
}

std::string value_text(const OptionEntry& option, const Problem& problem, const Options& options) {
  return visit_value(option, problem, options, TextOf{});
}

std::string range_text(const OptionEntry& option) {
  const OptionRange& range = option.range;
  if (!(range.least > -OptionRange::kFinite)) return "";
  const bool has_most = range.most < OptionRange::kFinite;
  if (range.is_open)
    return fmt::format("above {}{}", range.least, has_most ? fmt::format(", up to {}", range.most) : "");
  return has_most ? fmt::format("{} to {}", range.least, range.most) : fmt::format("{} or more", range.least);
}

void check_range(const OptionEntry& option, const Options& options) {
  if (!option.range.wrong.empty()) visit_value(option, Problem{}, options, RangeCheck{option});
}

}  // namespace fedsinkhorn
