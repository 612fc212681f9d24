// From a result to files.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"

namespace fedsinkhorn {

/// As typed.
struct OutputPlan {
  std::string folder;  ///< empty: write nothing; with "{client}", each client has its own
  bool plan = false;
  bool keep_local = false;  ///< f is not gathered
  bool report = false;      ///< a page about the run
};

/// What one client writes.
struct ClientFiles {
  std::size_t client = 0;
  bool shared = true;              ///< files shared by the clients of a folder: g.npy, trace.csv, summary.json etc.
  bool whole_f = true;             ///< including f.npy
  bool plan = false;               ///< and plan.npy
  bool own = false;                ///< f-k.npy, its own rows
  bool own_summary = false;        ///< and summary-k.json
  bool own_plan = false;           ///< and plan-k.npy
  const Problem* costs = nullptr;  ///< to compute plans: the whole problem, or with Parts::rows this client's part
};

/// The part of the result that belongs to the client: its rows of f, its report.
[[nodiscard]] Result view_of_client(const Result& result, std::size_t client);

/// result: for shared files; the client's own files use its view. Writes small files first, plans last. `abandon` is
/// checked between rows of a plan; if set, the plan is left out.
void write_client_files(const std::filesystem::path& folder, const ClientFiles& files, const Options& options,
                        double epsilon, const Result& result, const std::atomic<bool>& abandon);

/// Throws InputError if writing results to these folders would replace or remove an input.
void check_no_input_is_overwritten(const std::vector<std::string>& folders, const std::vector<std::string>& inputs);

}  // namespace fedsinkhorn
