// The arguments of `fedsinkhorn solve`, as typed.
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
  std::string transport;  // empty: chosen automatically
  std::string scenario;
  std::uint64_t seed = 1;
  std::vector<std::string> asynchronous_flags;  // those given
  std::vector<std::string> simulation_flags;
  std::vector<std::string_view> offered;  // fields of the option table that the command has flags for
  Options options;                        // except the fields below
  std::map<std::string_view, std::string> words;
  std::map<std::string_view, std::optional<std::int64_t>> counts;
  OutputPlan output;
  bool quiet = false;
  bool explain = false;
  std::string profile;
  std::string watch;  // where a live page is served; empty: there is none
};

/// Converts the arguments to library options. Throws InputError naming field or flag.
[[nodiscard]] Options take_options(const SolveArguments& arguments);
/// Throws InputError if the output flags contradict each other.
void check_output(const SolveArguments& arguments);

}  // namespace fedsinkhorn
