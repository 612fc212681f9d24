#include "cli/generate_command.hpp"
#include "cli/choices.hpp"
#include "cli/new_folder.hpp"
#include "cli/number_option.hpp"

#include "cli/program_name.hpp"
#include "cli/shell_word.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/npy.hpp"
#include "synthetic/generate.hpp"

namespace fedsinkhorn {

namespace fs = std::filesystem;

namespace {

enum class Marginals { uniform, random, decades };
enum class Written { points, cost, both };

constexpr std::string_view name_of(Marginals marginals) {
  switch (marginals) {
    case Marginals::uniform: return "uniform";
    case Marginals::random: return "random";
    case Marginals::decades: return "decades";
  }
  return {};
}

constexpr std::string_view name_of(Written written) {
  switch (written) {
    case Written::points: return "points";
    case Written::cost: return "cost";
    case Written::both: return "both";
  }
  return {};
}

struct GenerateArguments {
  SyntheticSpec spec;
  std::size_t rows = 1000;
  std::size_t columns = 0;
  std::size_t dimension = 2;
  std::size_t targets = 1;
  std::string kind = "uniform";
  std::string marginals = "uniform";
  double decades = 4;
  std::string written = "points";
  std::string output;
  bool columns_given = false;
  bool marginals_given = false;
  bool decades_given = false;
};

/// The spec that the flags describe. Throws InputError if they contradict each other.
SyntheticSpec spec_from(const GenerateArguments& arguments, Written written) {
  SyntheticSpec spec = arguments.spec;
  spec.rows = arguments.rows;
  spec.columns = arguments.columns_given ? arguments.columns : spec.rows;
  spec.dimension = arguments.dimension;
  spec.targets = arguments.targets;
  spec.kind = choice<CloudKind>("--kind", arguments.kind);
  auto marginals = choice<Marginals>("--marginals", arguments.marginals);
  if (arguments.decades_given) {
    if (arguments.marginals_given && marginals != Marginals::decades) {
      throw InputError("--decades", "has no meaning with --marginals " + arguments.marginals,
                       "use --marginals decades");
    }
    marginals = Marginals::decades;
  }
  spec.random_marginals = marginals != Marginals::uniform;
  spec.marginal_decades = marginals == Marginals::decades ? arguments.decades : 0;
  validate(spec);
  if (spec.forbidden > 0 && written == Written::points) {
    throw InputError("--forbidden", "points cannot express forbidden pairs", "add --write cost");
  }
  return spec;
}

/// Files that appear together: written under temporary names and renamed when all are complete.
class FileSet {
 public:
  explicit FileSet(fs::path folder) : folder_(std::move(folder)) {}
  ~FileSet() {
    // Incomplete only if a rename failed: remove the files already renamed, except those that replaced an older file,
    // which is lost either way.
    std::error_code ignored;
    for (const File& file : files_) {
      if (!complete_ && file.finished && file.is_new) fs::remove(file.path, ignored);
    }
  }
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  NpyWriter& add(const char* name, std::vector<std::size_t> shape, std::string description) {
    const fs::path path = folder_ / name;
    const bool is_new = !fs::exists(path);
    auto writer = std::make_unique<NpyWriter>(path, shape);
    files_.push_back({path, std::move(shape), std::move(description), is_new, false, std::move(writer)});
    return *files_.back().writer;
  }

  void finish() {
    for (File& file : files_) {
      file.writer->finish();
      file.finished = true;
    }
    complete_ = true;
  }

  void print(std::ostream& out) const {
    std::size_t path_width = 0;
    std::size_t shape_width = 0;
    for (const File& file : files_) {
      path_width = std::max(path_width, printable_word(file.path.string()).size());
      shape_width = std::max(shape_width, shape_text(file).size());
    }
    for (const File& file : files_) {
      const std::string path = printable_word(file.path.string());
      const std::string shape = shape_text(file);
      const std::string bytes = human_bytes(fs::file_size(file.path));
      out << "wrote " << path << std::string(path_width - path.size() + 2, ' ') << shape
          << std::string(shape_width - shape.size() + 2, ' ')
          << std::string(bytes.size() < 8 ? 8 - bytes.size() : 0, ' ') << bytes << "  " << file.description << '\n';
    }
  }

 private:
  struct File {
    fs::path path;
    std::vector<std::size_t> shape;
    std::string description;
    bool is_new;
    bool finished;
    std::unique_ptr<NpyWriter> writer;
  };

  static std::string shape_text(const File& file) {
    std::string text = "(" + std::to_string(file.shape[0]);
    if (file.shape.size() == 1) return text + ",)";
    return text + ", " + std::to_string(file.shape[1]) + ")";
  }

  fs::path folder_;
  std::vector<File> files_;
  bool complete_ = false;
};

/// Detects a lack of disk space or memory before minutes of work, not after.
void check_resources_for_problem(const SyntheticSpec& spec, Written written, const fs::path& folder) {
  const auto n = static_cast<double>(spec.rows);
  const auto m = static_cast<double>(spec.columns);
  const auto d = static_cast<double>(spec.dimension);
  const double points = (n + m) * d;
  const double masses = n + m * static_cast<double>(spec.targets);

  // Besides points and masses: the second cloud regrouped, radii and orders, one block of costs.
  const double memory = sizeof(double) * (points + m * d + masses + 4 * (n + m)) + 8e6;
  if (memory > static_cast<double>(available_memory())) {
    throw InputError("--rows",
                     "the problem does not fit into memory (needs " +
                         human_bytes(static_cast<std::uint64_t>(std::min(memory, 1e18))) + ", " +
                         human_bytes(available_memory()) + " available)",
                     "ask for fewer points or dimensions");
  }
  const double disk =
      sizeof(double) * (masses + (written == Written::cost ? 0 : points) + (written == Written::points ? 0 : n * m)) +
      1024;
  require_disk_space(folder, disk);
}

void print_solve_command(const GenerateArguments& arguments, const SyntheticProblem& problem, Written written) {
  const fs::path folder = arguments.output;
  // 0.01 times the largest cost: large enough to converge in hundreds of iterations, small enough for a sharp plan.
  std::array<char, 32> epsilon{};
  std::snprintf(epsilon.data(), epsilon.size(), "%g", problem.largest_cost > 0 ? 0.01 * problem.largest_cost : 0.01);
  std::cout << "solve it with\n  " << shell_word(program_name()) << " solve ";
  if (written != Written::points) {
    std::cout << "--cost " << shell_word(folder / "C.npy");
  } else {
    std::cout << "--points " << shell_word(folder / "X.npy");
    if (!problem.spec.same_points) std::cout << ' ' << shell_word(folder / "Y.npy");
  }
  std::cout << " --a " << shell_word(folder / "a.npy") << " --b " << shell_word(folder / "b.npy") << " --epsilon "
            << epsilon.data() << " --output " << shell_word(folder / "solution") << '\n';
}

void run_generate(const GenerateArguments& arguments) {
  const auto written = choice<Written>("--write", arguments.written);
  const SyntheticSpec spec = spec_from(arguments, written);
  NewFolder folder(arguments.output);
  check_resources_for_problem(spec, written, arguments.output);
  const SyntheticProblem problem = generate(spec);
  const std::size_t n = spec.rows;
  const std::size_t m = spec.columns;

  FileSet files(arguments.output);
  if (written != Written::cost) {
    files.add("X.npy", {n, spec.dimension}, "source points").append(problem.x);
    files.add("Y.npy", {m, spec.dimension}, spec.same_points ? "target points, the same" : "target points")
        .append(problem.y);
  }
  files.add("a.npy", {n}, "source masses").append(problem.a);
  const bool one_target = spec.targets == 1;
  files
      .add("b.npy", one_target ? std::vector<std::size_t>{m} : std::vector<std::size_t>{m, spec.targets},
           one_target ? "target masses" : "target masses, one column per target")
      .append(problem.b);
  std::size_t forbidden_pairs = 0;
  if (written != Written::points) {
    NpyWriter& writer = files.add("C.npy", {n, m}, "costs, squared distances");
    for_each_cost_block(problem, [&](std::size_t, std::span<const double> values) {
      forbidden_pairs += static_cast<std::size_t>(
          std::count_if(values.begin(), values.end(), [](double cost) { return std::isinf(cost); }));
      writer.append(values);
    });
  }
  files.finish();
  folder.keep();

  files.print(std::cout);
  std::cout << "largest cost " << (problem.largest_cost_exact ? "" : "at most ") << problem.largest_cost;
  if (spec.forbidden > 0) std::cout << ", " << forbidden_pairs << " of " << n * m << " pairs forbidden";
  std::cout << '\n';
  print_solve_command(arguments, problem, written);
}

}  // namespace

void add_generate_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("generate", "Write a synthetic problem: points or costs, and masses");
  // Shared with the callback, which outlives this function.
  const auto arguments = std::make_shared<GenerateArguments>();
  SyntheticSpec& spec = arguments->spec;

  command->add_option("--kind", arguments->kind, "The clouds of points")
      ->type_name(choices<CloudKind>())
      ->capture_default_str();
  command->add_option("--rows", arguments->rows, "Source points")->transform(integer({1}))->capture_default_str();
  CLI::Option* columns = command->add_option("--columns", arguments->columns, "Target points; default as many as rows")
                             ->transform(integer({1}));
  command->add_option("--dimension", arguments->dimension, "Coordinates of a point")
      ->transform(integer({1}))
      ->capture_default_str();
  command->add_option("--targets", arguments->targets, "Columns of b, each a target of its own")
      ->transform(integer({1}))
      ->capture_default_str();
  CLI::Option* marginals = command->add_option("--marginals", arguments->marginals, "The masses")
                               ->type_name(choices<Marginals>())
                               ->capture_default_str();
  CLI::Option* decades = command
                             ->add_option("--decades", arguments->decades,
                                          "Orders of magnitude the masses span; implies --marginals decades")
                             ->transform(real())
                             ->capture_default_str();
  command->add_option("--zero-mass", spec.zero_mass, "Fraction of the masses that are zero")
      ->transform(real())
      ->capture_default_str();
  command->add_option("--cost-scale", spec.cost_scale, "Largest squared distance; 0 leaves the points as drawn")
      ->transform(real())
      ->capture_default_str();
  command->add_flag("--shared-support", spec.same_points, "Target points are the source points");
  command->add_option("--write", arguments->written, "What to write beside the masses")
      ->type_name(choices<Written>())
      ->capture_default_str();
  command
      ->add_option("--forbidden", spec.forbidden,
                   "Fraction of forbidden pairs (cost +inf), chosen so that the problem stays feasible; needs "
                   "--write cost or both")
      ->transform(real())
      ->capture_default_str();
  command->add_option("--seed", spec.seed, "Same seed, same problem")->transform(seed())->capture_default_str();
  command->add_option("--output", arguments->output, "Folder for X.npy, Y.npy, a.npy, b.npy, C.npy")
      ->type_name("DIR")
      ->required();

  command->callback([arguments, columns, marginals, decades] {
    arguments->columns_given = columns->count() > 0;
    arguments->marginals_given = marginals->count() > 0;
    arguments->decades_given = decades->count() > 0;
    run_generate(*arguments);
  });
}

}  // namespace fedsinkhorn
