// fedsinkhorn-experiments: the studies of the paper and of docs/, by name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <string>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "report/number_text.hpp"
#include "reproduction.hpp"
#include "runner.hpp"
#include "study.hpp"

namespace {

using namespace fedsinkhorn;
using namespace fedsinkhorn::experiments;
namespace fs = std::filesystem;

constexpr int kBadUsage = 2;
constexpr int kFailed = 1;

struct Arguments {
  std::string name;
  std::string scale = "machine";
  std::string transport = "threads";
  std::string output = "studies";
  std::string records = "docs/reproduction";
};

void list_studies() {
  for (const Study& study : studies()) {
    fmt::print("{:<20} {}{}\n", study.name, study.question,
               study.paper.empty() ? "" : fmt::format(" [{}]", study.paper));
  }
}

Setting setting_of(const Arguments& arguments) {
  Setting setting;
  setting.transport = arguments.transport;
  for (const Scale scale : {Scale::smoke, Scale::machine, Scale::paper}) {
    if (arguments.scale == name_of(scale)) setting.scale = scale;
  }
  return setting;
}

void run_one(const Study& study, const Arguments& arguments) {
  const fs::path folder = fs::path(arguments.output) / std::string(study.name);
  const RunCount count = run_study(study, setting_of(arguments), folder);
  fmt::print("{}: {} cell{} measured, {} kept; {}\n", study.name, count.measured, count.measured == 1 ? "" : "s",
             count.kept, display_name(folder));
  std::fflush(stdout);
}

void run_named(const Arguments& arguments) {
  if (arguments.name == "list") return list_studies();
  if (arguments.name == "all") {
    for (const Study& study : studies()) run_one(study, arguments);
    return;
  }
  if (arguments.name == "markdown") {
    require_writable(arguments.output);
    write_file_atomically(arguments.output, reproduction_markdown(arguments.records));
    return;
  }
  const Study* const study = find_study(arguments.name);
  if (study == nullptr) {
    throw InputError(arguments.name, "is no study", "'fedsinkhorn-experiments list' names them");
  }
  run_one(*study, arguments);
}

int run(int argc, char** argv) {
  CLI::App app{"Runs a study and keeps a record of every cell. A run that was stopped goes on where it was."};
  app.name("fedsinkhorn-experiments");
  Arguments arguments;
  app.add_option(
         "name", arguments.name,
         "A study; 'all' of them; 'list' their names; or 'markdown': --output FILE from the records of a folder")
      ->required();
  app.add_option("records", arguments.records, "markdown: the folder")->type_name("DIR");
  app.add_option("--scale", arguments.scale, "smoke: seconds; machine: minutes on two cores; paper: the paper's sizes")
      ->check(CLI::IsMember({"smoke", "machine", "paper"}));
  app.add_option("--transport", arguments.transport, "Of clients that are timed: threads of this process, or mpirun's")
      ->check(CLI::IsMember({"threads", "mpi"}));
  app.add_option("--output", arguments.output, "Records go to a folder named after the study in it")->type_name("DIR");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "fedsinkhorn-experiments: {}; see --help\n", error.what());
    return kBadUsage;
  }
  run_named(arguments);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    fmt::print(stderr, "fedsinkhorn-experiments: {}\n", error.what());
    return kBadUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "fedsinkhorn-experiments: {}\n", error.what());
    return kFailed;
  }
}
