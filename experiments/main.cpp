// fedsinkhorn-experiments NAME [SEEDS]: the tables of docs/simulation.md.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <exception>
#include <string_view>

#include "experiments.hpp"

namespace {

using namespace fedsinkhorn::experiments;

struct Experiment {
  std::string_view name;
  std::string_view question;
  void (*run)(std::size_t seeds);
};
constexpr std::array kExperiments = {
    Experiment{"async-robustness", "does every asynchronous run converge?", async_robustness},
    Experiment{"async-damping", "does damping help?", async_damping},
    Experiment{"async-staleness", "when should a client rather wait?", async_staleness},
    Experiment{"async-straggler", "from which straggler on does it pay not to wait?", async_straggler},
};

int usage() {
  fmt::print(stderr, "usage: fedsinkhorn-experiments NAME [SEEDS]\n");
  for (const Experiment& experiment : kExperiments) {
    fmt::print(stderr, "  {:<18} {}\n", experiment.name, experiment.question);
  }
  return 2;
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 3) return usage();
  std::size_t seeds = 0;
  if (argc == 3) {
    const std::string_view text = argv[2];
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), seeds);
    if (wrong != std::errc() || end != text.data() + text.size() || seeds == 0) return usage();
  }
  for (const Experiment& experiment : kExperiments) {
    if (experiment.name != argv[1]) continue;
    experiment.run(seeds);
    return 0;
  }
  return usage();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fedsinkhorn-experiments: {}\n", error.what());
    return 1;
  }
}
