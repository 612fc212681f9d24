// From a result to files.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

/// As it was typed.
struct OutputPlan {
  std::string folder;  ///< empty: nothing is written; with "{client}" in it, each client has its own
  bool plan = false;
  bool keep_local = false;  ///< f is not gathered
};

/// What one client writes.
struct ClientFiles {
  std::size_t client = 0;
  bool shared = true;              ///< what the clients of a folder share: g.npy, trace.csv, summary.json and the like
  bool whole_f = true;             ///< f.npy among them
  bool plan = false;               ///< and plan.npy
  bool own = false;                ///< f-k.npy, its own rows
  bool own_summary = false;        ///< and summary-k.json
  bool own_plan = false;           ///< and plan-k.npy
  const Problem* costs = nullptr;  ///< what plans are made of: the whole, or with Parts::rows this client's part
};

/// The result as the client by itself has it: its own rows of f, its own report.
[[nodiscard]] Result view_of_client(const Result& result, std::size_t client);

/// result: as shared files have it; the client's own are made from its view. Small files come first, plans last, and
/// between their rows `abandon` is looked at: then the plan is left out.
void write_client_files(const std::filesystem::path& folder, const ClientFiles& files, const Options& options,
                        double epsilon, const Result& result, const std::atomic<bool>& abandon);

/// Throws InputError if a result in one of the folders has the name of an input: it would replace or remove it.
void check_no_input_is_overwritten(const std::vector<std::string>& folders, const std::vector<std::string>& inputs);

}  // namespace fedsinkhorn
