// What a topology states about its rounds, as data: which exchanges, how many messages and bytes, how much work. Bytes
// are checked against those counted; times are predicted from it (src/costmodel).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "problem/layout.hpp"
#include "topology/sent.hpp"

namespace fedsinkhorn {

/// The exchanges of a round. What each costs is measured by itself.
enum class Exchange {
  gather,      ///< slices of a vector: everyone gets the whole
  sum,         ///< summands of a vector: everyone gets the sum of its own slice
  regather,    ///< a gather of what follows from a sum; the two make up an allreduce
  notes,       ///< a few numbers of each: everyone gets all
  collect,     ///< slices to a server
  deal,        ///< slices from a server
  broadcast,   ///< the same numbers from a server to everyone
  secure_sum,  ///< masked words: everyone gets the sum
  served_sum,  ///< the same by way of a server
  news,        ///< slices that nobody waits for
};
[[nodiscard]] std::string_view name_of(Exchange exchange);

/// Messages that a group sends at the same time. Part k is of size bytes[k].
enum class Pattern {
  each_to_each,    ///< member k sends part k to every other
  to_owners,       ///< member k sends part j to each other member j
  to_first,        ///< member k sends part k to member 0
  whole_to_first,  ///< member k sends all parts to member 0
  from_first,      ///< member 0 sends part k to each other member k
  whole_from_first,
};

struct MessagePhase {
  Pattern pattern;
  std::vector<std::uint64_t> bytes;  ///< of each part
  bool sends_empty = false;          ///< parts of no bytes are messages, too
  std::uint64_t pieces = 1;          ///< messages that a part is sent in

  [[nodiscard]] std::uint64_t whole() const;
  [[nodiscard]] Sent sent_by(std::size_t member) const;
  [[nodiscard]] Sent sent_by_all() const;
  [[nodiscard]] std::uint64_t received_by(std::size_t member) const;
  [[nodiscard]] std::uint64_t largest_message() const;
};

/// One exchange as its group makes it, in phases: the next begins when the messages of this one are there.
struct RoundExchange {
  Exchange exchange;
  std::size_t member = 0;   ///< this client's place in the group
  std::size_t members = 1;  ///< clients in the group, without a server that is not one of them
  std::size_t groups = 1;   ///< as many groups do the same at the same time
  std::uint64_t bytes = 0;  ///< of the vector, and of what travels with it
  std::vector<MessagePhase> phases{};

  [[nodiscard]] Sent sent() const;
};

/// What a client computes: products with the blocks that it holds.
struct RoundWork {
  bool is_fused = false;  ///< one pass over the row block gives K v, u and K' u
  std::size_t rows = 0;   ///< of the row block
  std::size_t columns = 0;
  std::size_t column_block_rows = 0;  ///< of the block for K' u, if it is another one
  std::size_t column_block_columns = 0;
  bool works_alone = false;  ///< the others wait meanwhile

  [[nodiscard]] double entries() const;  ///< that the passes of a round go over, for one target
};

struct Round {
  std::vector<RoundExchange> exchanges;
  RoundWork work;

  [[nodiscard]] Sent sent() const;
};

/// A round as one client makes it.
struct RoundShape {
  std::size_t client = 0;
  std::vector<std::size_t> rows;     ///< of each client
  std::vector<std::size_t> columns;  ///< of each client
  std::size_t targets = 1;
  std::size_t note_numbers = 0;  ///< of each target's note
  GridShape grid{};
  Passes passes = Passes::fused;
  bool adds_securely = false;
  bool has_server = false;

  [[nodiscard]] std::size_t clients() const { return rows.size(); }
};
/// Slices as even as they can be, the first ones longer; the least notes.
[[nodiscard]] RoundShape even_round(std::size_t rows, std::size_t columns, std::size_t clients, std::size_t targets,
                                    const Options& options);

// Exchanges of a group whose members have slices of these sizes. numbers: of a note, for every target together.
[[nodiscard]] RoundExchange gather_exchange(const std::vector<std::size_t>& sizes, std::size_t member,
                                            std::size_t targets, std::size_t numbers = 0);
[[nodiscard]] RoundExchange sum_exchange(const std::vector<std::size_t>& sizes, std::size_t member,
                                         std::size_t targets);
[[nodiscard]] RoundExchange notes_exchange(std::size_t members, std::size_t member, std::size_t numbers);
/// To and from the first member. extra: numbers that travel with every slice.
[[nodiscard]] RoundExchange collect_exchange(const std::vector<std::size_t>& sizes, std::size_t member,
                                             std::size_t targets, std::size_t extra = 0);
[[nodiscard]] RoundExchange deal_exchange(const std::vector<std::size_t>& sizes, std::size_t member,
                                          std::size_t targets);
[[nodiscard]] RoundExchange broadcast_exchange(std::size_t members, std::size_t member, std::size_t numbers);
/// Of so many words, without the one that is checked.
[[nodiscard]] RoundExchange secure_sum_exchange(std::size_t clients, std::size_t client, std::size_t words);
[[nodiscard]] RoundExchange served_sum_exchange(std::size_t clients, std::size_t client, std::size_t words);
/// As gather_exchange, but of more than kManyClients clients the notes travel apart.
void add_gather(std::vector<RoundExchange>& exchanges, const std::vector<std::size_t>& sizes, std::size_t member,
                std::size_t targets, std::size_t numbers, std::size_t groups = 1);

/// The products of a client with this layout.
[[nodiscard]] RoundWork work_of(const RoundShape& shape, const Layout& layout, bool rows_stay);

}  // namespace fedsinkhorn
