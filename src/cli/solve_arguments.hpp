// What `fedsinkhorn solve` was asked for, as it was typed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/solve_inputs.hpp"
#include "cli/solve_outputs.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

struct SolveArguments {
  InputFiles files;
  std::string transport;  // empty: whatever fits
  std::string scenario;
  std::uint64_t seed = 1;
  std::vector<std::string> asynchronous_flags;  // those given
  std::vector<std::string> simulation_flags;
  std::vector<std::string> old_flags;
  Options options;  // but for fields that are below
  std::map<std::string_view, std::string> words;
  std::map<std::string_view, std::optional<std::int64_t>> counts;
  OutputPlan output;
  bool quiet = false;
};

/// The options of the library that these words mean. Throws InputError naming field or flag.
[[nodiscard]] Options take_options(const SolveArguments& arguments);
/// Throws InputError where the flags of the output contradict each other.
void check_output(const SolveArguments& arguments);

}  // namespace fedsinkhorn
