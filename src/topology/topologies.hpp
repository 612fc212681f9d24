// All topologies: their layouts and exchanges. The registry lists them.
#pragma once

#include <memory>
#include <string_view>

#include "topology/exchanges.hpp"
#include "topology/round.hpp"
#include "topology/topology.hpp"

namespace fedsinkhorn {

/// One client that holds everything. No messages.
[[nodiscard]] Layout centralized_layout(std::size_t client, std::size_t clients, const Options& options);
[[nodiscard]] std::unique_ptr<Exchanges> centralized_exchanges(const TopologyContext& context);
[[nodiscard]] Round centralized_round(const RoundShape& shape);

/// The paper's Algorithm 1: clients hold K[I,:] and K[:,J] and gather u and v. Bits as centralized with two passes.
[[nodiscard]] Layout all_to_all_layout(std::size_t client, std::size_t clients, const Options& options);
[[nodiscard]] std::unique_ptr<Exchanges> all_to_all_exchanges(const TopologyContext& context);
[[nodiscard]] Round all_to_all_round(const RoundShape& shape);

/// The paper's Algorithm 3: like all-to-all, but between rounds no client waits for another, within limits.
[[nodiscard]] std::unique_ptr<Topology> make_asynchronous(const TopologyContext& context);
[[nodiscard]] Round asynchronous_round(const RoundShape& shape);

/// The paper's Algorithm 2: client 0 is the server; it holds K and owns a slice like every client. The others hold only
/// slices and talk only to the server. Same bits as centralized with two passes.
[[nodiscard]] Layout star_layout(std::size_t client, std::size_t clients, const Options& options);
[[nodiscard]] std::unique_ptr<Exchanges> star_exchanges(const TopologyContext& context);
[[nodiscard]] Round star_round(const RoundShape& shape);

/// The 2D baseline: blocks of K, sums along rows and columns of the grid.
[[nodiscard]] Layout grid_layout(std::size_t client, std::size_t clients, const Options& options);
[[nodiscard]] std::unique_ptr<Exchanges> grid_exchanges(const TopologyContext& context);
[[nodiscard]] Round grid_round(const RoundShape& shape);
/// The requested shape, or one as square as possible. Throws InputError if it does not match the number of clients.
[[nodiscard]] GridShape grid_shape(std::size_t clients, GridShape wanted);

/// A client holds only K[I,:]; the clients' summands of K' u are added up. Slices of u are not exchanged.
[[nodiscard]] Layout row_reduce_layout(std::size_t client, std::size_t clients, const Options& options);
[[nodiscard]] std::unique_ptr<Exchanges> row_reduce_exchanges(const TopologyContext& context);
[[nodiscard]] Round row_reduce_round(const RoundShape& shape);

/// A topology by name.
struct TopologyEntry {
  std::string_view name;
  Layout (*layout)(std::size_t client, std::size_t clients, const Options& options);
  std::unique_ptr<Exchanges> (*exchanges)(const TopologyContext& context) = nullptr;
  /// Instead of exchanges, for a topology with its own pace.
  std::unique_ptr<Topology> (*make)(const TopologyContext& context) = nullptr;
  /// What a client computes and sends in a round: q goes out, u comes in, r goes out, v and the notes come in. Tests
  /// compare it with what is counted; src/costmodel predicts times from it. The tables of docs/clients.md say the same.
  Round (*round)(const RoundShape& shape) = nullptr;
  Route route = Route::direct;    ///< who talks to whom
  bool several_clients = true;    ///< else exactly one
  bool takes_local_steps = true;  ///< --local-steps above 1
  bool keeps_bits = false;       ///< iterates are those of one client with --passes two, whatever the number of clients
  std::string_view only_open{};  ///< why its clients cannot keep to secure sums; empty: they can
  bool is_asynchronous = false;  ///< takes --damping and --max-staleness; no log domain, no acceleration
};

[[nodiscard]] inline std::unique_ptr<Topology> make_topology(const TopologyEntry& entry,
                                                             const TopologyContext& context) {
  if (entry.make != nullptr) return entry.make(context);
  return std::make_unique<Topology>(context, entry.exchanges(context));
}

}  // namespace fedsinkhorn
