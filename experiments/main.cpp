// fedsinkhorn-experiments NAME [SEEDS [N]]: the tables of docs/simulation.md and docs/performance.md.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "experiments.hpp"

namespace {

using namespace fedsinkhorn::experiments;

template <void (*run)(std::size_t seeds)>
void of_one_size(std::size_t seeds, std::size_t n) {
  if (n != 0) throw std::invalid_argument("this experiment is of one size: leave out N");
  run(seeds);
}

struct Experiment {
  std::string_view name;
  std::string_view question;
  void (*run)(std::size_t seeds, std::size_t n);
};
constexpr std::array kExperiments = {
    Experiment{"async-robustness", "does every asynchronous run converge?", of_one_size<async_robustness>},
    Experiment{"async-damping", "does damping help?", of_one_size<async_damping>},
    Experiment{"async-staleness", "when should a client rather wait?", of_one_size<async_staleness>},
    Experiment{"async-straggler", "from which straggler on does it pay not to wait?", of_one_size<async_straggler>},
    Experiment{"acceleration", "in how many rounds do the methods get there?", acceleration},
};

int usage() {
  fmt::print(stderr, "usage: fedsinkhorn-experiments NAME [SEEDS [N]]\n");
  for (const Experiment& experiment : kExperiments) {
    fmt::print(stderr, "  {:<18} {}\n", experiment.name, experiment.question);
  }
  return 2;
}

std::optional<std::size_t> positive_number(std::string_view text) {
  std::size_t number = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (wrong != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

int run(int argc, char** argv) {
  if (argc < 2 || argc > 4) return usage();
  std::array<std::size_t, 2> numbers = {0, 0};
  for (int k = 2; k < argc; ++k) {
    const std::optional<std::size_t> number = positive_number(argv[k]);
    if (!number) return usage();
    numbers[static_cast<std::size_t>(k) - 2] = *number;
  }
  for (const Experiment& experiment : kExperiments) {
    if (experiment.name != argv[1]) continue;
    experiment.run(numbers[0], numbers[1]);
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
