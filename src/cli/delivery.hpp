// Writes the results of a solve to the output folders.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/clients.hpp"
#include "cli/solve_arguments.hpp"
#include "cli/solve_inputs.hpp"
#include "io/output_folder.hpp"
#include "io/output_set.hpp"

namespace fedsinkhorn {

/// Clients with the same folder, threads or ranks, fill one OutputSet, and the first of them commits it. The set of
/// client 0 is committed last. A failure before the commit leaves earlier results untouched.
/// Every rank calls prepare() and write(); they throw the same error on all ranks.
class Delivery {
 public:
  /// Both must outlive this.
  Delivery(const SolveArguments& arguments, const Clients& clients) : arguments_(arguments), clients_(clients) {}

  /// Call before the solve. Creates the folders, finds out which clients share one, and refuses to overwrite inputs.
  void prepare();
  /// Returns when all clients' results are in place.
  void write(const Options& options, const std::vector<std::unique_ptr<Inputs>>& inputs, const Result& result);
  /// Call after write() or the solve has thrown ClientLost. Each remaining client writes what it has, without plans;
  /// the speaker (see speaker.hpp) returns last. result: null if this client has none. Does not throw.
  void write_what_is_left(const Options& options, const Result* result, const ClientLost& lost) noexcept;

 private:
  [[nodiscard]] bool is_wanted() const { return !arguments_.output.folder.empty(); }
  [[nodiscard]] bool is_here(std::size_t client) const {
    return client >= clients_.first && client - clients_.first < clients_.count;
  }
  /// Whether each client also writes its own rows.
  [[nodiscard]] bool is_each_client_served() const;
  [[nodiscard]] std::string folder_of(std::size_t client) const;
  [[nodiscard]] std::filesystem::path staging_of(std::size_t client, std::size_t leader) const;
  [[nodiscard]] ClientFiles files_of(std::size_t client) const;

  void find_leaders_in_process();
  void find_leaders_among_ranks();
  void stage(const Options& options, const std::vector<Problem>& problems, const Result& result);
  void commit(std::size_t leader);
  void write_what_is_left_in_process(const Options& options, const Result& result);
  void write_what_is_left_of_ranks(const Options& options, const Result* result, const ClientLost& lost);
  [[nodiscard]] std::vector<Problem> problems_with_all_columns(const std::vector<std::unique_ptr<Inputs>>& inputs);

  const SolveArguments& arguments_;
  const Clients& clients_;
  std::map<std::size_t, std::unique_ptr<OutputFolder>> folders_;  // by client; those of this process
  std::vector<std::size_t> leaders_;                              // by client: the first with the same folder
  std::vector<std::string> staging_names_;                        // by client, since any may become leader
  std::map<std::size_t, std::unique_ptr<OutputSet>> sets_;        // by leader
  std::vector<double> points_;                                    // of all columns, if given in parts
  std::atomic<bool> abandon_ = false;
};

}  // namespace fedsinkhorn
