// Numbers on the command line, parsed the same way by every option. CLI11 alone would read 010 as eight, and wrap 2^64
// to 0 and -5 to a huge number.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// Smallest and largest valid value; no option takes negative numbers.
struct IntegerRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();
};

/// Rewrites an integer (250, 010, 1e6, 2.5e3, 1_000_000) as plain decimal digits. Returns an error message that says
/// what is valid, or an empty string.
[[nodiscard]] std::string normalize_integer(std::string& word, IntegerRange range);

/// The same for a finite number (0.1, 1e-3, 1_000.5).
[[nodiscard]] std::string normalize_real(std::string& word, double most = std::numeric_limits<double>::max());

/// For Option::transform.
[[nodiscard]] CLI::Validator integer(IntegerRange range);
/// The word auto as well, which becomes 0.
[[nodiscard]] CLI::Validator integer_or_auto(IntegerRange range);
[[nodiscard]] CLI::Validator real(double most = std::numeric_limits<double>::max());
/// From 0 to 2^64 - 1.
[[nodiscard]] CLI::Validator seed();

/// An option that takes several numbers, `--flag 1,2,3`. Empty elements are refused.
CLI::Option* add_integer_list(CLI::App& app, const std::string& flag, std::vector<int>& values, IntegerRange range,
                              const std::string& description);
CLI::Option* add_integer_list(CLI::App& app, const std::string& flag, std::vector<std::uint64_t>& values,
                              IntegerRange range, const std::string& description);
CLI::Option* add_real_list(CLI::App& app, const std::string& flag, std::vector<double>& values,
                           const std::string& description);

/// Call after adding all options. If the value of one is missing, the next option is not taken for it.
void refuse_options_as_values(CLI::App& app);

}  // namespace fedsinkhorn
