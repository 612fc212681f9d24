// Writes the results of a solve to the output folders.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/clients.hpp"
#include "cli/shared_folders.hpp"
#include "cli/solve_arguments.hpp"
#include "cli/solve_inputs.hpp"

namespace fedsinkhorn {

/// The files of a solve. Every rank calls prepare() and write(); they throw the same error on all ranks.
class Delivery {
 public:
  /// Both must outlive this.
  Delivery(const SolveArguments& arguments, const Clients& clients)
      : arguments_(arguments), clients_(clients), folders_(arguments.output.folder, clients) {}

  /// Call before the solve. Creates the folders, finds out which clients share one, and refuses to overwrite inputs.
  void prepare();
  /// Returns when all clients' results are in place.
  void write(const Options& options, const std::vector<std::unique_ptr<Inputs>>& inputs, const Result& result);
  /// Call after write() or the solve has thrown ClientLost. Each remaining client writes what it has, without plans;
  /// the speaker (see speaker.hpp) returns last. result: null if this client has none. Does not throw.
  void write_what_is_left(const Options& options, const Result* result, const ClientLost& lost) noexcept;

 private:
  /// Whether each client also writes its own rows.
  [[nodiscard]] bool is_each_client_served() const;
  [[nodiscard]] ClientFiles files_of(std::size_t client) const;

  void stage(const Options& options, const std::vector<Problem>& problems, const Result& result);
  void stage_report(std::size_t client, const ClientFiles& files, const Problem& problem, const Options& options,
                    const Result& result);
  void write_what_is_left_in_process(const Options& options, const Result& result);
  void write_what_is_left_of_ranks(const Options& options, const Result* result, const ClientLost& lost);
  [[nodiscard]] std::vector<Problem> problems_with_all_columns(const std::vector<std::unique_ptr<Inputs>>& inputs);

  const SolveArguments& arguments_;
  const Clients& clients_;
  SharedFolders folders_;
  std::vector<double> points_;         // of all columns, if given in parts
  std::optional<ImageShapes> images_;  // whose pixels the points are, if they are
  std::atomic<bool> abandon_ = false;
};

}  // namespace fedsinkhorn
