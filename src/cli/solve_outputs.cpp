#include "cli/solve_outputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/atomic_file.hpp"
#include "io/result_names.hpp"
#include "io/summary.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

std::size_t rows_here(const Result& result) { return result.f.size() / result.targets; }

void write_potential(const fs::path& path, std::span<const double> values, std::size_t targets) {
  const std::vector<std::size_t> shape =
      targets == 1 ? std::vector{values.size()} : std::vector{values.size() / targets, targets};
  write_npy(path, values, shape);
}

/// Writes the rows of the plan for which the result has f.
void write_plan(const fs::path& path, const Problem& problem, const Result& result, int threads,
                const std::atomic<bool>& abandon) {
  const std::size_t rows = rows_here(result);
  std::vector<std::size_t> shape = {rows, result.columns};
  if (result.targets > 1) shape.insert(shape.begin(), result.targets);
  NpyWriter writer(path, shape);
  const Plan plan(problem, result, threads);
  const std::size_t rows_each = std::max<std::size_t>(1, (std::size_t{1} << 21) / result.columns);
  std::vector<double> block(std::min(rows_each, rows) * result.columns);
  for (std::size_t k = 0; k < result.targets; ++k) {
    for (std::size_t i = 0; i < rows; i += rows_each) {
      if (abandon) return;
      const std::size_t count = std::min(rows_each, rows - i);
      plan.rows(result.first_row + i, count, k, block);
      writer.append(std::span(block).first(count * result.columns));
    }
  }
  writer.finish();
}

const ClientReport* report_of(const Result& result, std::size_t client) {
  const auto is_that = [client](const ClientReport& report) { return report.client == client; };
  const auto found = std::find_if(result.clients.begin(), result.clients.end(), is_that);
  return found == result.clients.end() ? nullptr : &*found;
}

void write_shared(const fs::path& folder, bool whole_f, const Options& options, double epsilon, const Result& result) {
  if (whole_f) {
    write_potential(folder / "f.npy", result.f, result.targets);
    if (result.rests_matter) write_potential(folder / "f-rest.npy", result.f_rest, result.targets);
  }
  if (result.g.size() == result.columns * result.targets) {
    write_potential(folder / "g.npy", result.g, result.targets);
    if (result.rests_matter) write_potential(folder / "g-rest.npy", result.g_rest, result.targets);
  }
  write_file_atomically(folder / "trace.csv", trace_csv(result.trace));
  if (!result.delays.empty()) write_file_atomically(folder / "delays.csv", delays_csv(result.delays));
  write_file_atomically(folder / kSummaryName, summary_json(result, options, epsilon));
}

}  // namespace

Result view_of_client(const Result& result, std::size_t client) {
  const ClientReport* report = report_of(result, client);
  if (report == nullptr || result.first_row > report->first_row) return result;
  Result view = result;
  const auto first = static_cast<std::ptrdiff_t>((report->first_row - result.first_row) * result.targets);
  const auto last = static_cast<std::ptrdiff_t>((report->last_row - result.first_row) * result.targets);
  const auto own = [&](const std::vector<double>& values) {
    return values.empty() ? values : std::vector<double>(values.begin() + first, values.begin() + last);
  };
  view.first_row = report->first_row;
  view.f = own(result.f);
  view.f_rest = own(result.f_rest);
  view.clients = {*report};
  view.kernel_bytes = report->kernel_bytes;
  view.exchanges = report->exchanges;
  view.this_client = client;
  std::erase_if(view.delays, [client](const DelayRow& row) { return row.to != client; });
  return view;
}

void write_client_files(const fs::path& folder, const ClientFiles& files, const Options& options, double epsilon,
                        const Result& result, const std::atomic<bool>& abandon) {
  if (files.shared) write_shared(folder, files.whole_f, options, epsilon, result);
  if (files.own) {
    const Result own = view_of_client(result, files.client);
    write_potential(folder / name_of_client("f", files.client, ".npy"), own.f, own.targets);
    if (own.rests_matter) {
      write_potential(folder / name_of_client("f-rest", files.client, ".npy"), own.f_rest, own.targets);
    }
    if (files.own_summary) {
      write_file_atomically(folder / name_of_client("summary", files.client, ".json"),
                            summary_json(own, options, epsilon));
    }
    if (files.own_plan) {
      write_plan(folder / name_of_client("plan", files.client, ".npy"), *files.costs, own, options.threads, abandon);
    }
  }
  if (files.plan) write_plan(folder / "plan.npy", *files.costs, result, options.threads, abandon);
}

void check_no_input_is_overwritten(const std::vector<std::string>& folders, const std::vector<std::string>& inputs) {
  // Compares files by device and inode: a file may have several names.
  using Identity = std::pair<dev_t, ino_t>;
  const auto identify = [](const fs::path& path, Identity& identity) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return false;
    identity = {status.st_dev, status.st_ino};
    return true;
  };
  std::map<Identity, std::string> by_identity;
  Identity identity;
  for (const std::string& input : inputs) {
    if (identify(input, identity)) by_identity.emplace(identity, input);
  }
  for (const std::string& folder : folders) {
    std::error_code no_such_folder;
    std::set<std::string> threatened;
    for (const auto& entry : fs::directory_iterator(folder, no_such_folder)) {
      const std::string name = entry.path().filename().string();
      if (!is_shared_result(name) && !is_client_result(name)) continue;
      if (!identify(entry.path(), identity)) continue;
      if (const auto input = by_identity.find(identity); input != by_identity.end()) threatened.insert(input->second);
    }
    if (!threatened.empty()) {
      throw InputError("--output " + display_name(folder),
                       "would overwrite the input " + display_name(*threatened.begin()), "name another folder");
    }
  }
}

}  // namespace fedsinkhorn
