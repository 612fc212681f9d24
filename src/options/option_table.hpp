// Every option of a solve, described once. The flags of the command line, the ranges that are checked, what clients
// must have in common, what the summary repeats and docs/cli.md (a test compares) all follow from this table.
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

/// Where an option is kept, which also says what it is. A std::size_t of 0 leaves the number to the solver.
using OptionMember =
    std::variant<double Problem::*, double Options::*, std::int64_t Options::*, int Options::*, std::size_t Options::*,
                 bool Options::*, std::string Options::*, std::vector<int> Options::*, std::vector<double> Options::*,
                 GridShape Options::*, Norm Options::*, Passes Options::*, KernelName Options::*, Precision Options::*,
                 Stabilization Options::*, Feasibility Options::*, DampingKind Options::*>;

/// The numbers an option takes; of lists, each of them.
struct OptionRange {
  static constexpr double kFinite = std::numeric_limits<double>::max();

  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool is_open = false;  ///< `least` itself is not taken
  /// What is said of others, "{}" being the number, and what would be right. Empty: who uses the option checks it.
  std::string_view wrong{};
  std::string_view right{};
  double most_typed = 0;  ///< the command line reads no larger ones; 0: whatever the type holds

  [[nodiscard]] bool has(double value) const { return (is_open ? value > least : value >= least) && value <= most; }
};

/// An option of which others than these make no use.
struct OptionUsers {
  std::string_view field{};  ///< "topology" or "method"; empty: all use it
  std::vector<std::string_view> names{};

  [[nodiscard]] bool are_named(std::string_view name) const;
};

struct OptionEntry {
  std::string_view field;  ///< of Options, as errors of the library name it
  std::string_view flags;  ///< of the command line, the main one first, with commas
  OptionMember member;
  std::string_view group;  ///< in --help
  std::string_view help;
  OptionRange range{};
  std::string_view names{};         ///< of a text: those there are, with commas; empty: they are registered
  std::string_view default_text{};  ///< where the default is not a value but follows from others
  bool is_common = false;           ///< all clients must have the same
  bool in_summary = false;          ///< summary.json has it, as it was given or as it ran, under the name of the field
  OptionUsers used_by{};
  std::string_view old_flag{};  ///< still works

  [[nodiscard]] std::string main_flag() const { return std::string(flags.substr(0, flags.find(','))); }
};

/// In the order of --help.
[[nodiscard]] std::span<const OptionEntry> option_table();
/// The entry of a field; nullptr if there is none.
[[nodiscard]] const OptionEntry* find_option(std::string_view field);

/// visitor(value of that option).
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

/// "1e-09", "true", "fused", "2x3", "1,2,": alike for values that are alike, and for no others.
[[nodiscard]] std::string value_text(const OptionEntry& option, const Problem& problem, const Options& options);
/// What the table says about numbers, "1 or more", "above 0, up to 1"; empty for what is no number.
[[nodiscard]] std::string range_text(const OptionEntry& option);

/// Throws InputError naming the field if its value is out of range.
void check_range(const OptionEntry& option, const Options& options);

}  // namespace fedsinkhorn
