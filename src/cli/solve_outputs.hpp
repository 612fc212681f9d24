// From a result to files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fedsinkhorn/solve.hpp"
#include "io/output_folder.hpp"

namespace fedsinkhorn {

/// What goes into the folder, and which client writes it.
struct OutputPlan {
  std::string folder;  ///< empty: nothing is written
  bool plan = false;
  bool keep_local = false;  ///< every client its rows of f, as f-0.npy, f-1.npy, ...
};

/// Names of the files that client 0 and, if it keeps its rows, this client will write.
[[nodiscard]] std::vector<std::string> file_names(const OutputPlan& output, std::size_t client, std::size_t clients,
                                                  bool clients_share_process);

/// Throws InputError if a result would replace an input, which may still be read then.
void check_no_input_is_overwritten(const OutputPlan& output, const std::vector<std::string>& names,
                                   const std::vector<std::string>& inputs);

/// With keep_local: the rows of f that are here, a file for each client they belong to.
void write_local_rows(const OutputFolder& folder, const Result& result);

/// What client 0 writes. The summary comes last: where it is, the rest is complete.
void write_shared_results(const OutputFolder& folder, const OutputPlan& output, const Options& options,
                          const Problem& problem, const Result& result);

}  // namespace fedsinkhorn
