// fedsinkhorn-experiments NAME [SEEDS [N]] [--output DIR]: the tables of docs/simulation.md, docs/performance.md and
// docs/privacy-study.md.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "experiments.hpp"

namespace {

using namespace fedsinkhorn::experiments;

/// What the command line asks for; 0 and empty: not given.
struct Arguments {
  std::string_view name;
  std::size_t seeds = 0;
  std::size_t n = 0;
  std::filesystem::path output;
};

void require_no_files(const Arguments& arguments) {
  if (!arguments.output.empty()) throw std::invalid_argument("this experiment writes no files: leave out --output");
}

template <void (*run)(std::size_t seeds)>
void of_one_size(const Arguments& arguments) {
  if (arguments.n != 0) throw std::invalid_argument("this experiment is of one size: leave out N");
  require_no_files(arguments);
  run(arguments.seeds);
}

template <void (*run)(std::size_t seeds, std::size_t n)>
void of_any_size(const Arguments& arguments) {
  require_no_files(arguments);
  run(arguments.seeds, arguments.n);
}

void with_files(const Arguments& arguments) { privacy(arguments.seeds, arguments.n, arguments.output); }

struct Experiment {
  std::string_view name;
  std::string_view question;
  void (*run)(const Arguments& arguments);
};
constexpr std::array kExperiments = {
    Experiment{"async-robustness", "does every asynchronous run converge?", of_one_size<async_robustness>},
    Experiment{"async-damping", "does damping help?", of_one_size<async_damping>},
    Experiment{"async-staleness", "when should a client rather wait?", of_one_size<async_staleness>},
    Experiment{"async-straggler", "from which straggler on does it pay not to wait?", of_one_size<async_straggler>},
    Experiment{"acceleration", "in how many rounds do the methods get there?", of_any_size<acceleration>},
    Experiment{"privacy", "what does noise cost, mechanism by mechanism? (writes files)", with_files},
};

int usage() {
  fmt::print(stderr, "usage: fedsinkhorn-experiments NAME [SEEDS [N]] [--output DIR]\n");
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

/// Empty if the command line is not understood.
std::optional<Arguments> parse(std::span<char* const> words) {
  Arguments arguments;
  std::vector<std::string_view> plain;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (std::string_view(words[k]) != "--output") {
      plain.emplace_back(words[k]);
    } else if (++k < words.size()) {
      arguments.output = words[k];
    } else {
      return std::nullopt;
    }
  }
  if (plain.empty() || plain.size() > 3) return std::nullopt;
  arguments.name = plain[0];
  for (std::size_t k = 1; k < plain.size(); ++k) {
    const std::optional<std::size_t> number = positive_number(plain[k]);
    if (!number) return std::nullopt;
    (k == 1 ? arguments.seeds : arguments.n) = *number;
  }
  return arguments;
}

int run(int argc, char** argv) {
  const std::optional<Arguments> arguments = parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!arguments) return usage();
  for (const Experiment& experiment : kExperiments) {
    if (experiment.name != arguments->name) continue;
    experiment.run(*arguments);
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
