// Every option of a solve, described once. The command line's flags, the range checks, the options that all clients
// must share, the options in the summary and docs/cli.md (checked by a test) all follow from this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// The field that holds an option; its type is the option's type. A std::size_t of 0 lets the solver choose.
using OptionMember =
    std::variant<double Problem::*, double Options::*, std::int64_t Options::*, int Options::*, std::size_t Options::*,
                 bool Options::*, std::string Options::*, std::vector<int> Options::*, std::vector<double> Options::*,
                 GridShape Options::*, Norm Options::*, Passes Options::*, KernelName Options::*, Precision Options::*,
                 Stabilization Options::*, Feasibility Options::*, DampingKind Options::*, Server Options::*,
                 ClipKind Options::*>;

/// The numbers an option accepts; for a list, each element.
struct OptionRange {
  static constexpr double kFinite = std::numeric_limits<double>::max();

  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool is_open = false;  ///< `least` itself is excluded
  /// Error text for other numbers, with "{}" for the number, and what to give instead. Empty: checked where it is used.
  std::string_view wrong{};
  std::string_view right{};
  double most_typed = 0;  ///< largest number the command line accepts; 0: the type's limit

  [[nodiscard]] bool has(double value) const { return (is_open ? value > least : value >= least) && value <= most; }
};

/// The only topologies or methods that use an option.
struct OptionUsers {
  std::string_view field{};  ///< "topology", "method", "policy" or "mechanism"; empty: all use it
  std::vector<std::string_view> names{};

  [[nodiscard]] bool are_named(std::string_view name) const;
};

struct OptionEntry {
  std::string_view field;  ///< name in Options, used in the library's errors
  std::string_view flags;  ///< of the command line, comma-separated, the main one first
  OptionMember member;
  std::string_view group;  ///< in --help
  std::string_view help;
  OptionRange range{};
  std::string_view names{};         ///< for a string: the names it accepts, comma-separated; empty: the registered ones
  std::string_view default_text{};  ///< if the default is not a value but follows from other settings
  bool is_common = false;           ///< must be the same on all clients
  bool in_summary = false;          ///< in summary.json under the field's name, as given or as used
  OptionUsers used_by{};
  std::string_view former_flag{};  ///< no longer works

  [[nodiscard]] std::string main_flag() const { return std::string(flags.substr(0, flags.find(','))); }
};

/// In the order of --help.
[[nodiscard]] std::span<const OptionEntry> option_table();
/// The entry of a field; nullptr if there is none.
[[nodiscard]] const OptionEntry* find_option(std::string_view field);

/// Returns visitor(value of the option).
template <class Visitor>
auto visit_value(const OptionEntry& option, const Problem& problem, const Options& options, const Visitor& visitor) {
  return std::visit(
      [&](auto member) {
        if constexpr (std::is_invocable_v<decltype(member), const Problem&>) {
          return visitor(problem.*member);
        } else {
          return visitor(options.*member);
        }
      },
      option.member);
}

/// "1e-09", "true", "fused", "2x3", "1,2,": equal if and only if the values are equal.
[[nodiscard]] std::string value_text(const OptionEntry& option, const Problem& problem, const Options& options);
/// The range in words, such as "1 or more" or "above 0, up to 1"; empty if there is none.
[[nodiscard]] std::string range_text(const OptionEntry& option);

/// Throws InputError naming the field if its value is out of range.
void check_range(const OptionEntry& option, const Options& options);

}  // namespace fedsinkhorn
