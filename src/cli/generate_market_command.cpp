// fedsinkhorn generate-market: a synthetic market on disk, as CSV files.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/new_folder.hpp"
#include "cli/number_option.hpp"
#include "cli/program_name.hpp"
#include "cli/shell_word.hpp"
#include "core/memory.hpp"
#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "synthetic/market.hpp"

namespace fedsinkhorn {

namespace fs = std::filesystem;

namespace {

// All files are open at the same time, and by default a process may have 1024.
constexpr std::size_t kMostDesks = 500;

struct MarketArguments {
  MarketSpec spec;
  std::string output;
};

/// Text files that appear together: written under temporary names and renamed when all are complete.
class TextFiles {
 public:
  explicit TextFiles(fs::path folder) : folder_(std::move(folder)) {}
  ~TextFiles() {
    // Incomplete only if a rename failed: remove the files already renamed, except those that replaced an older file,
    // which is lost either way.
    std::error_code ignored;
    for (const File& file : files_) {
      if (!is_complete_ && file.is_committed && file.is_new) fs::remove(file.path, ignored);
    }
  }
  TextFiles(const TextFiles&) = delete;
  TextFiles& operator=(const TextFiles&) = delete;

  /// write: given a TextSink, writes the whole file.
  void add(const std::string& name, std::string description, const std::function<void(const TextSink&)>& write) {
    const fs::path path = folder_ / name;
    const bool is_new = !fs::exists(path);
    auto text = std::make_unique<AtomicFile>(path);
    write([&](std::string_view line) { text->write(line); });
    files_.push_back({path, std::move(description), is_new, false, std::move(text)});
  }

  void commit() {
    for (File& file : files_) {
      file.text->commit();
      file.is_committed = true;
    }
    is_complete_ = true;
  }

  void print(std::ostream& out) const {
    std::size_t width = 0;
    for (const File& file : files_) width = std::max(width, printable_word(file.path.string()).size());
    for (const File& file : files_) {
      out << fmt::format("wrote {:<{}}  {:>8}  {}\n", printable_word(file.path.string()), width,
                         human_bytes(fs::file_size(file.path)), file.description);
    }
  }

 private:
  struct File {
    fs::path path;
    std::string description;
    bool is_new;
    bool is_committed;
    std::unique_ptr<AtomicFile> text;
  };

  fs::path folder_;
  std::vector<File> files_;
  bool is_complete_ = false;
};

/// Detects a lack of disk space or memory before minutes of work, not after.
void check_resources_for_market(const MarketSpec& spec, const fs::path& folder) {
  const auto rows = static_cast<double>(spec.days) + static_cast<double>(spec.scenarios);
  const auto width = static_cast<double>(spec.assets);
  const double memory = rows * (sizeof(double) * width + sizeof(std::string)) + 8e6;
  if (memory > static_cast<double>(available_memory())) {
    throw InputError("--assets",
                     fmt::format("the market does not fit into memory (needs {}, {} available)",
                                 human_bytes(static_cast<std::uint64_t>(memory)), human_bytes(available_memory())),
                     "ask for fewer assets, days or scenarios");
  }
  constexpr double kFieldBytes = 12;  // ",-0.01234567"
  require_disk_space(folder, kFieldBytes * (rows + 2) * (width + 1));
}

/// What to do with the market.
std::string next_command(const fs::path& folder, std::size_t desks) {
  return fmt::format(
      "{} risk --returns {} --clients {} --scenarios {} --weights {} --gains --stay --radius 1e-4 --epsilon 1e-4 "
      "--output {}",
      shell_word(program_name()), shell_word(folder / "returns-{client}.csv"), desks,
      shell_word(folder / "scenarios.csv"), shell_word(folder / "weights.csv"), shell_word(folder / "risk"));
}

void run_generate_market(const MarketArguments& arguments) {
  const MarketSpec& spec = arguments.spec;
  validate(spec);
  NewFolder folder(arguments.output);
  check_resources_for_market(spec, arguments.output);
  const Market market = generate(spec);

  TextFiles files(arguments.output);
  for (std::size_t k = 0; k < spec.desks; ++k) {
    const std::size_t first = market.desk_begin[k];
    const std::size_t end = market.desk_begin[k + 1];
    files.add(fmt::format("returns-{}.csv", k),
              fmt::format("{} days, {} to {}", end - first, market.dates[first], market.dates[end - 1]),
              [&](const TextSink& sink) { write_returns(market, k, sink); });
  }
  files.add("scenarios.csv", fmt::format("{} scenarios", spec.scenarios),
            [&](const TextSink& sink) { write_scenarios(market, sink); });
  files.add("weights.csv", fmt::format("{} assets", spec.assets),
            [&](const TextSink& sink) { write_weights(market, sink); });
  files.commit();
  folder.keep();

  files.print(std::cout);
  std::cout << "crash from " << market.dates[market.crash_begin] << " to " << market.dates[market.crash_end - 1]
            << "\nits worst-case risk:\n  " << next_command(arguments.output, spec.desks) << '\n';
}

}  // namespace

void add_generate_market_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate-market", "Write a synthetic market: returns, scenarios, weights");
  // Shared with the callback, which outlives this function.
  const auto arguments = std::make_shared<MarketArguments>();
  MarketSpec& spec = arguments->spec;
  const auto count = [&](const char* flag, std::size_t& value, const char* description, IntegerRange range = {1}) {
    command->add_option(flag, value, description)->transform(integer(range))->capture_default_str();
  };
  count("--desks", spec.desks, "Desks; each has returns of its own, a block of days", {1, kMostDesks});
  count("--days", spec.days, "Days of all desks together, weekdays from 2015-01-02 on");
  count("--assets", spec.assets, "Columns of every table");
  count("--scenarios", spec.scenarios, "Rows of scenarios.csv: 60 % calm, 30 % stressed, 10 % crashes");
  command->add_option("--seed", spec.seed, "Same seed, same market")->transform(seed())->capture_default_str();
  command->add_option("--output", arguments->output, "Folder for returns-0.csv, ..., scenarios.csv, weights.csv")
      ->type_name("DIR")
      ->required();
  command->callback([arguments] { run_generate_market(*arguments); });
}

}  // namespace fedsinkhorn
