// fedsinkhorn report: a page from what a run has written.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "report/record_json.hpp"
#include "report/run_page.hpp"
#include "report/study_page.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRight = "name the --output folder of a solve, of a risk run or of a study";

struct ReportArguments {
  std::string folder;
  std::string output;
};

void run_report(const ReportArguments& arguments) {
  std::error_code failure;
  if (!fs::is_directory(arguments.folder, failure)) {
    throw InputError(arguments.folder, "is not a folder", kRight);
  }
  const fs::path output =
      arguments.output.empty() ? fs::path(arguments.folder) / "report.html" : fs::path(arguments.output);
  require_writable(output);
  const report::Page page = [&] {
    try {
      return report::study_folders(arguments.folder).empty() ? report::page_of_folder(arguments.folder)
                                                             : report::page_of_studies(arguments.folder);
    } catch (const report::RecordError& error) {
      throw InputError(arguments.folder, error.what(), kRight);
    }
  }();
  for (const std::string& note : page.notes) fmt::print(stderr, "fedsinkhorn: note: {}\n", printable_line(note));
  write_file_atomically(output, report::page_html(page));
  fmt::print("report: {} (open it in a browser)\n", printable_word(output.string()));
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand("report", "Write an HTML page about a run, several runs, or studies");
  command->add_option("folder", arguments->folder, "What a run or a study has written, or a folder of such folders")
      ->type_name("DIR")
      ->required();
  command->add_option("-o,--output", arguments->output, "The page; by default report.html in the folder")
      ->type_name("FILE");
  command->callback([arguments] { run_report(*arguments); });
}

}  // namespace fedsinkhorn
