#include "cli/shared_folders.hpp"

#include <array>
#include <filesystem>
#include <span>

#include "cli/solve_inputs.hpp"
#include "cli/solve_outputs.hpp"

namespace fedsinkhorn {

namespace fs = std::filesystem;

std::string SharedFolders::folder_of(std::size_t client) const { return of_client(name_, client); }

fs::path SharedFolders::staging_of(std::size_t client, std::size_t leader) const {
  return folders.at(client)->path() / staging_names[leader];
}

fs::path SharedFolders::staging_of(std::size_t client) const {
  return staging_of(folders.contains(client) ? client : leaders[client], leaders[client]);
}

void SharedFolders::prepare(const std::function<std::vector<std::string>(std::size_t client)>& inputs_of,
                            bool in_parts) {
  if (!are_wanted()) return;
  // All ranks look before any creates a folder: they may share one, and the last to leave removes it.
  std::map<std::size_t, std::vector<fs::path>> missing;
  clients_.agree_on([&] {
    std::vector<std::string> names;
    std::vector<std::string> inputs;
    for (std::size_t k = 0; k < clients_.all; ++k) {
      if (k == 0 || is_part(name_)) names.push_back(folder_of(k));
      if (k > 0 && !in_parts) continue;
      const std::vector<std::string> of_client = inputs_of(k);
      inputs.insert(inputs.end(), of_client.begin(), of_client.end());
    }
    check_no_input_is_overwritten(names, inputs);
    for (std::size_t k = clients_.first; k < clients_.first + clients_.count; ++k) {
      missing[k] = missing_folders(folder_of(k));
      if (!is_part(name_)) break;
    }
  });
  clients_.agree_on([&] {
    for (const auto& [k, parents] : missing) {
      folders[k] = std::make_unique<OutputFolder>(folder_of(k), std::span<const std::string>(), parents);
    }
  });
  if (clients_.share_process()) {
    find_leaders_in_process();
  } else {
    find_leaders_among_ranks();
  }
}

void SharedFolders::find_leaders_in_process() {
  leaders.assign(clients_.all, 0);
  staging_names.resize(clients_.all);
  std::map<fs::path, std::size_t> first_of;
  for (const auto& [client, folder] : folders) {
    std::error_code unknown;
    const fs::path canonical = fs::canonical(folder->path(), unknown);
    leaders[client] = first_of.emplace(unknown ? folder->path() : canonical, client).first->second;
    staging_names[client] = new_staging_name();
  }
}

// Paths are not enough: ranks may run on machines that share a disk, or not. Each creates a hidden folder with a unique
// name; a rank that finds it in its own output folder shares that folder.
void SharedFolders::find_leaders_among_ranks() {
  const std::size_t me = clients_.first;
  const Collectives ranks = clients_.collectives();
  std::unique_ptr<OutputSet> sign;
  const std::string name = new_staging_name();
  clients_.agree_on([&] { sign = std::make_unique<OutputSet>(folders.at(me)->path(), name); });
  staging_names = ranks.of(Payload::shape).allgather_text(name);
  std::size_t leader = 0;
  while (leader < me && !fs::exists(staging_of(me, leader))) ++leader;
  const std::array<double, 1> mine = {static_cast<double>(leader)};
  const std::vector<double> said = ranks.of(Payload::shape).allgather_numbers(mine);
  for (std::size_t rank = 0; rank < said.size(); ++rank) {
    leaders.push_back(from_peer(ranks, rank).count(said[rank], rank, "the first rank with its folder"));
  }
}

void SharedFolders::write(const std::function<void()>& stage, const std::function<void()>& abandon) {
  if (!are_wanted()) return;
  clients_.agree_on([&] {
    for (const auto& [client, folder] : folders) {
      if (leaders[client] == client) {
        sets[client] = std::make_unique<OutputSet>(folder->path(), staging_names[client]);
      }
    }
  });
  clients_.agree_on_long(stage, abandon);
  // If the summary of client 0 exists, all results do.
  clients_.agree_on_long(
      [&] {
        for (const auto& [leader, set] : sets) {
          if (leader != 0) commit(leader);
        }
      },
      abandon);
  clients_.agree_on_long(
      [&] {
        if (sets.contains(0)) commit(0);
      },
      abandon);
  for (const auto& [client, folder] : folders) folder->keep();
}

void SharedFolders::commit(std::size_t leader) {
  sets.at(leader)->commit();
  sets.at(leader).reset();
}

}  // namespace fedsinkhorn
