// Numbers on the command line, read alike by every option. CLI11 alone would take 010 for eight, wrap 2^64 around to 0
// and -5 to a huge number.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fedsinkhorn {

/// Smallest and largest that make sense; no option takes negative ones.
struct IntegerRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::int64_t>::max();
};

/// Rewrites an integer (250, 010, 1e6, 2.5e3, 1_000_000) as plain decimal digits. Returns what is wrong with it and
/// what would be right, or nothing.
[[nodiscard]] std::string normalize_integer(std::string& word, IntegerRange range);

/// The same for a finite number (0.1, 1e-3, 1_000.5).
[[nodiscard]] std::string normalize_real(std::string& word, double most = std::numeric_limits<double>::max());

/// For Option::transform.
[[nodiscard]] CLI::Validator integer(IntegerRange range);
[[nodiscard]] CLI::Validator real(double most = std::numeric_limits<double>::max());
/// From 0 to 2^64 - 1.
[[nodiscard]] CLI::Validator seed();

/// An option of several numbers, `--flag 1,2,3`. Empty places are refused.
CLI::Option* add_integer_list(CLI::App& app, const std::string& flag, std::vector<int>& values, IntegerRange range,
                              const std::string& description);
CLI::Option* add_real_list(CLI::App& app, const std::string& flag, std::vector<double>& values,
                           const std::string& description);

/// To be called when all options are there: of none the next option passes for its value, which was forgotten.
void refuse_options_as_values(CLI::App& app);

}  // namespace fedsinkhorn
