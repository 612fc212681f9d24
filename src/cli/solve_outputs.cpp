#include "cli/solve_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/npy.hpp"
#include "io/atomic_file.hpp"
#include "io/summary.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

std::string local_name(std::size_t client) { return fmt::format("f-{}.npy", client); }

void write_potential(const fs::path& path, std::span<const double> values, std::size_t targets) {
  const std::vector<std::size_t> shape =
      targets == 1 ? std::vector{values.size()} : std::vector{values.size() / targets, targets};
  write_npy(path, values, shape);
}

void write_plan(const fs::path& path, const Problem& problem, const Result& result, int threads) {
  std::vector<std::size_t> shape = {result.rows, result.columns};
  if (result.targets > 1) shape.insert(shape.begin(), result.targets);
  NpyWriter writer(path, shape);
  const Plan plan(problem, result, threads);
  const std::size_t rows_each = std::clamp<std::size_t>((std::size_t{1} << 21) / result.columns, 1, result.rows);
  std::vector<double> block(rows_each * result.columns);
  for (std::size_t k = 0; k < result.targets; ++k) {
    for (std::size_t i = 0; i < result.rows; i += rows_each) {
      const std::size_t count = std::min(rows_each, result.rows - i);
      plan.rows(i, count, k, block);
      writer.append(std::span(block).first(count * result.columns));
    }
  }
  writer.finish();
}

}  // namespace

std::vector<std::string> file_names(const OutputPlan& output, std::size_t client, std::size_t clients,
                                    bool clients_share_process) {
  std::vector<std::string> names;
  if (client == 0) names = {"g.npy", "trace.csv", "summary.json", "plan.npy", "f.npy", "delays.csv"};
  if (!output.keep_local) return names;
  for (std::size_t k = 0; k < clients; ++k) {
    if (k == client || clients_share_process) names.push_back(local_name(k));
  }
  return names;
}

void check_no_input_is_overwritten(const OutputPlan& output, const std::vector<std::string>& names,
                                   const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    for (const std::string& name : names) {
      std::error_code no_such_file;
      if (fs::equivalent(input, fs::path(output.folder) / name, no_such_file)) {
        throw InputError("--output " + output.folder, "would overwrite the input " + input, "name another folder");
      }
    }
  }
}

void write_local_rows(const OutputFolder& folder, const Result& result) {
  for (const ClientReport& client : result.clients) {
    if (result.transport == "mpi" && client.client != result.this_client) continue;
    const std::size_t first = (client.first_row - result.first_row) * result.targets;
    const std::size_t count = (client.last_row - client.first_row) * result.targets;
    write_potential(folder.file(local_name(client.client)), std::span(result.f).subspan(first, count), result.targets);
  }
}

void write_shared_results(const OutputFolder& folder, const OutputPlan& output, const Options& options,
                          const Problem& problem, const Result& result) {
  // Files of an earlier run that will not be replaced would not belong to these results.
  fs::remove(folder.file("summary.json"));
  if (!output.plan) fs::remove(folder.file("plan.npy"));
  if (result.delays.empty()) fs::remove(folder.file("delays.csv"));
  if (output.keep_local) fs::remove(folder.file("f.npy"));
  if (!output.keep_local) write_potential(folder.file("f.npy"), result.f, result.targets);
  write_potential(folder.file("g.npy"), result.g, result.targets);
  if (output.plan) write_plan(folder.file("plan.npy"), problem, result, options.threads);
  write_file_atomically(folder.file("trace.csv"), trace_csv(result.trace));
  if (!result.delays.empty()) write_file_atomically(folder.file("delays.csv"), delays_csv(result.delays));
  write_file_atomically(folder.file("summary.json"), summary_json(result, options, problem.epsilon));
}

}  // namespace fedsinkhorn
