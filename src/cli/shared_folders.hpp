// Output folders of clients, who may share one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/clients.hpp"
#include "io/output_folder.hpp"
#include "io/output_set.hpp"

namespace fedsinkhorn {

/// Clients with the same folder, threads or ranks, fill one OutputSet, and the first of them, its leader, commits it.
/// The set of client 0 is committed last. A failure before the commit leaves earlier results untouched.
/// Every rank calls prepare() and write(); they throw the same error on all ranks.
class SharedFolders {
 public:
  /// name: as typed; empty: nothing is written. clients must outlive this.
  SharedFolders(std::string name, const Clients& clients) : name_(std::move(name)), clients_(clients) {}

  [[nodiscard]] bool are_wanted() const { return !name_.empty(); }
  [[nodiscard]] bool are_prepared() const { return !folders.empty() && !leaders.empty(); }
  [[nodiscard]] std::string folder_of(std::size_t client) const;

  /// Creates the folders, finds out which clients share one, and refuses to overwrite inputs. inputs_of(k): the input
  /// files of client k. in_parts: they differ between clients.
  void prepare(const std::function<std::vector<std::string>(std::size_t client)>& inputs_of, bool in_parts);
  /// stage(): writes the files of this process's clients to their staging folders. abandon: makes it end soon. Returns
  /// when all clients' files are in place.
  void write(const std::function<void()>& stage, const std::function<void()>& abandon);
  /// Where that client, of this process, writes its files for now.
  [[nodiscard]] std::filesystem::path staging_of(std::size_t client) const;
  [[nodiscard]] std::filesystem::path staging_of(std::size_t client, std::size_t leader) const;

  // For those who have lost a client.
  std::map<std::size_t, std::unique_ptr<OutputFolder>> folders{};  ///< by client; those of this process
  std::vector<std::size_t> leaders{};                              ///< by client: the first with the same folder
  std::vector<std::string> staging_names{};                        ///< by client, since any may become leader
  std::map<std::size_t, std::unique_ptr<OutputSet>> sets{};        ///< by leader

 private:
  void find_leaders_in_process();
  void find_leaders_among_ranks();
  void commit(std::size_t leader);

  std::string name_;
  const Clients& clients_;
};

}  // namespace fedsinkhorn
