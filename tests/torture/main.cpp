// Thousands of small random problems, each solved by the library (some by the program) and held against a slow
// reference. See CONTRIBUTING.md.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "torture/case_files.hpp"
#include "torture/judge.hpp"
#include "torture/random_case.hpp"

namespace fedsinkhorn::torture {
namespace {

constexpr std::string_view kUsage =
    "usage: fedsinkhorn-torture [--cases N] [--seed S] [--case K] [--jobs J] [--write FOLDER] [--program PATH]\n"
    "                           [--without totals] [--without large-epsilon] [--family hard]\n"
    "  --cases    how many cases (2000)\n"
    "  --seed     of all of them (1)\n"
    "  --case     this one alone\n"
    "  --jobs     cases at a time (the number of cores)\n"
    "  --write    write the case's files and its command line into a folder; with --case\n"
    "  --program  every 25th case is solved by this program as well, from files to files\n"
    "  --without  leave a family of problems out\n"
    "  --family   hard: offsets, outliers, tiny masses and epsilon, starts, with default options\n";

struct Arguments {
  std::uint64_t cases = 2000;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  std::string folder;
  std::string program;
  Without without;
  bool are_hard = false;

  [[nodiscard]] Case make(std::uint64_t number) const {
    return are_hard ? make_hard_case(seed, number) : make_case(seed, number, without);
  }
};

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument(fmt::format("'{}' is not a number", text));
  }
  return value;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t k = 0; k < words.size(); k += 2) {
    if (k + 1 == words.size()) throw std::invalid_argument(fmt::format("{} needs a value", words[k]));
    const std::string& value = words[k + 1];
    if (words[k] == "--cases") {
      arguments.cases = number(value);
    } else if (words[k] == "--seed") {
      arguments.seed = number(value);
    } else if (words[k] == "--case") {
      arguments.only = number(value);
    } else if (words[k] == "--jobs") {
      arguments.jobs = static_cast<unsigned>(std::max<std::uint64_t>(1, number(value)));
    } else if (words[k] == "--write") {
      arguments.folder = value;
    } else if (words[k] == "--program") {
      arguments.program = value;
    } else if (words[k] == "--family" && value == "hard") {
      arguments.are_hard = true;
    } else if (words[k] == "--without" && value == "totals") {
      arguments.without.totals = true;
    } else if (words[k] == "--without" && value == "large-epsilon") {
      arguments.without.large_epsilon = true;
    } else {
      throw std::invalid_argument(fmt::format("{} {} is not known", words[k], value));
    }
  }
  return arguments;
}

/// What came of all cases. Safe to use from several threads.
class Tally {
 public:
  void add(const Case& it, const Verdict& verdict) {
    const std::scoped_lock lock(mutex_);
    ++counts_[verdict.outcome];
    ++starts_[verdict.start];
    std::int64_t& most = most_iterations_[it.options.topology == "grid" ? "grid" : it.options.policy];
    most = std::max(most, verdict.iterations);
    if (verdict.complaints.empty()) return;
    ++failures_;
    std::cout << fmt::format(
                     "FAILED --seed {} --case {}: {}{}\n", it.seed, it.number, verdict.complaints.front(),
                     verdict.complaints.size() > 1 ? fmt::format(" (and {} more)", verdict.complaints.size() - 1) : "")
              << std::flush;
  }
  [[nodiscard]] std::uint64_t report() {
    std::cout << fmt::format(
        "{} right, {} refused as they should be, {} not converged within their iterations ({} of these where plain "
        "Sinkhorn converges), {} FAILED\n",
        counts_[Outcome::right], counts_[Outcome::refused],
        counts_[Outcome::not_converged] + counts_[Outcome::slower_than_plain], counts_[Outcome::slower_than_plain],
        failures_);
    if (starts_.size() > 1) {
      std::cout << fmt::format("{} given starts, {} of them took more than 1.1 times the iterations of none, and 2\n",
                               starts_[Start::fine] + starts_[Start::slower], starts_[Start::slower]);
    }
    std::cout << "most iterations under each policy, and on grids:";
    for (const auto& [policy, most] : most_iterations_) std::cout << ' ' << policy << ' ' << most;
    std::cout << '\n';
    return failures_;
  }

 private:
  std::mutex mutex_;
  std::map<Outcome, std::uint64_t> counts_;
  std::map<Start, std::uint64_t> starts_;
  std::map<std::string, std::int64_t> most_iterations_;
  std::uint64_t failures_ = 0;
};

constexpr std::uint64_t kProgramEvery = 25;

void try_case(const Arguments& arguments, std::uint64_t number, Tally& tally) {
  const Case it = arguments.make(number);
  Verdict verdict = solve_and_judge(it);
  if (!arguments.program.empty() && (arguments.only || number % kProgramEvery == 0)) {
    for (const std::string& complaint : run_program_and_judge(it, arguments.program).complaints) {
      verdict.complaints.push_back("the program: " + complaint);
    }
  }
  if (arguments.only) {
    std::cout << command_line(it) << '\n';
    for (const std::string& complaint : verdict.complaints) std::cout << "  " << complaint << '\n';
  }
  tally.add(it, verdict);
}

std::uint64_t try_all(const Arguments& arguments) {
  Tally tally;
  if (arguments.only) {
    if (!arguments.folder.empty()) write_case(arguments.make(*arguments.only), arguments.folder);
    try_case(arguments, *arguments.only, tally);
    return tally.report();
  }
  std::atomic<std::uint64_t> next = 0;
  std::vector<std::jthread> workers;
  for (unsigned k = 0; k < arguments.jobs; ++k) {
    workers.emplace_back([&] {
      for (std::uint64_t number = next++; number < arguments.cases; number = next++) try_case(arguments, number, tally);
    });
  }
  workers.clear();  // waits for them
  return tally.report();
}

}  // namespace
}  // namespace fedsinkhorn::torture

int main(int argc, char** argv) {
  using namespace fedsinkhorn::torture;
  try {
    return try_all(parse({argv + 1, argv + argc})) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::invalid_argument& error) {
    std::cerr << "fedsinkhorn-torture: " << error.what() << '\n' << kUsage;
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "fedsinkhorn-torture: " << error.what() << '\n';
    return 2;
  }
}
