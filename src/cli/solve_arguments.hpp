// What `fedsinkhorn solve` was asked for, as it was typed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/solve_inputs.hpp"
#include "cli/solve_outputs.hpp"
#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

struct SolveArguments {
  InputFiles files;
  std::string kernel = "dense";
  std::string passes = "fused";
  std::string precision = "float64";
  std::string norm = "l1";
  std::string stabilization = "absorption";
  std::string feasibility = "check";
  std::string damping_kind = "geometric";
  std::string transport;
  std::string scenario;
  std::uint64_t seed = 1;
  std::vector<std::string> asynchronous_flags;  // those given
  std::vector<std::string> simulation_flags;
  std::optional<std::int64_t> clients;
  std::optional<std::int64_t> memory;
  std::string grid;
  Options options;
  OutputPlan output;
  bool quiet = false;
};

/// The options of the library that these words mean. Throws InputError naming the flag.
[[nodiscard]] Options take_options(const SolveArguments& arguments);
/// Throws InputError where the flags of the output contradict each other.
void check_output(const SolveArguments& arguments);

}  // namespace fedsinkhorn
