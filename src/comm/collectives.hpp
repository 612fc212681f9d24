// Collective operations, written once on top of point-to-point messages: the same algorithm, bytes and order of
// summation on every transport. Sums are carried to twice the digits and rounded once, so they do not depend on which
// message arrives first, and are those of comm/secure_sums.hpp.
//
// Bytes, for B bytes in total (B_k at client k):
//                    direct, sent by client k                     through the root
//   allgather        (c - 1) B_k                                  client B_k, root (c - 1) B
//   reduce_scatter   B - B_k                                      client B,   root B - B_0
//   allreduce        like reduce_scatter and allgather of c even parts (the first ones may have one more value)
//   broadcast        root (c - 1) B                               the same; if the root is not client 0: root B,
//                                                                 client 0 forwards (c - 2) B
//   gather           B_k to the root                              the same; if the root is not client 0: B_k to
//                                                                 client 0, which forwards all but the root's part
//   allgather_text   like allgather of 8 bytes each, then of the texts
//   broadcast_text   like broadcast of 8 bytes, then of the text
//   barrier          like allgather of 1 byte each
// A single client sends nothing. Empty parts are not sent.
//
// All to all takes c^2 messages. With more than 32 clients and little data (1 KiB per client on average), allgather and
// reduce_scatter go through the root on any route: 2 (c - 1) messages.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/from_peer.hpp"
#include "comm/secret_key.hpp"

namespace fedsinkhorn {

/// direct: every client talks to every other. through_root: clients talk only to client 0 (a star, a firewall).
/// through_server: clients talk only to a server that adds up masked words; what is gathered is a sum, too.
enum class Route { direct, through_root, through_server };

class SecureSums;

/// With more clients, c^2 small messages take longer than the route through client 0.
inline constexpr std::size_t kManyClients = 32;
/// Whether they take it in allgather, and in reduce_scatter. bytes: of all parts.
[[nodiscard]] constexpr bool is_little_for_many(std::size_t clients, std::size_t bytes) {
  constexpr std::size_t little = 1024;  // per client
  return clients > kManyClients && bytes <= little * clients;
}
[[nodiscard]] constexpr bool adds_up_at_root(std::size_t clients, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{64} << 20U;  // held by the root meanwhile
  return is_little_for_many(clients, bytes) && bytes <= most / clients;
}

class Collectives {
 public:
  static constexpr std::size_t kMostText = std::size_t{1} << 20U;

  explicit Collectives(Communicator& communicator, Route route = Route::direct,
                       std::optional<Payload> kind = std::nullopt, SecureSums* sums = nullptr,
                       const SecretKey& digest_key = {})
      : communicator_(communicator), route_(route), kind_(kind), sums_(sums), digest_key_(digest_key) {}

  /// The same clients and route, for messages of that kind. All that send need a kind, except barrier() and agree().
  [[nodiscard]] Collectives of(Payload kind) const {
    return Collectives(communicator_, route_, kind, sums_, digest_key_);
  }
  /// The same clients by way of client 0, unless there is a server.
  [[nodiscard]] Collectives through_root() const {
    return Collectives(communicator_, route_ == Route::direct ? Route::through_root : route_, kind_, sums_,
                       digest_key_);
  }
  /// By which numbers must be combined that may not leave in plain; null if they may (see comm/agreement.hpp).
  [[nodiscard]] SecureSums* sums() const { return sums_; }
  /// Of digests (comm/digest.hpp), so that equal data have others in every session. With secure sums only the clients
  /// have it; without them, whoever reads all messages has it, too.
  [[nodiscard]] const SecretKey& digest_key() const { return digest_key_; }

  [[nodiscard]] Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Route route() const { return route_; }
  /// Of its messages. Throws std::logic_error if no kind was given.
  [[nodiscard]] Label label() const;
  [[nodiscard]] std::size_t rank() const { return communicator_.rank(); }
  [[nodiscard]] std::size_t size() const { return communicator_.size(); }

  /// whole: the parts, concatenated; counts[k] values from client k. This client's part is already there.
  void allgather(std::span<double> whole, std::span<const std::size_t> counts) const;
  /// values: counts[k] values for client k, concatenated. mine: the sum over all clients of their values for this one.
  /// The two must not overlap.
  void reduce_scatter(std::span<const double> values, std::span<const std::size_t> counts,
                      std::span<double> mine) const;
  /// Every client gets the same sum, to the last bit.
  void allreduce(std::span<double> values) const;
  void broadcast(std::span<std::byte> data, std::size_t root) const;
  /// whole: the parts, concatenated, at the root; ignored elsewhere.
  void gather(std::span<const double> mine, std::span<const std::size_t> counts, std::span<double> whole,
              std::size_t root) const;
  /// Texts of up to `most` bytes from all clients, in rank order. Lengths are sent first; one above `most` is refused
  /// (see from_peer.hpp).
  [[nodiscard]] std::vector<std::string> allgather_text(const std::string& mine, std::size_t most = kMostText) const;
  /// Returns the root's text; `text` is ignored elsewhere.
  [[nodiscard]] std::string broadcast_text(const std::string& text, std::size_t root,
                                           std::size_t most = kMostText) const;
  /// bytes[k] bytes from client k, concatenated.
  [[nodiscard]] std::string allgather_bytes(const std::string& mine, std::span<const std::size_t> bytes) const;
  /// Equally many numbers from all clients: size() x mine.size().
  [[nodiscard]] std::vector<double> allgather_numbers(std::span<const double> mine) const;
  /// Returns when all clients have called it.
  void barrier() const;

 private:
  Communicator& communicator_;
  Route route_;
  std::optional<Payload> kind_;
  SecureSums* sums_;
  SecretKey digest_key_;
};

/// Reads what that client sent.
[[nodiscard]] inline FromPeer from_peer(const Collectives& clients, std::size_t client) {
  return {clients.communicator(), client};
}

/// Runs `body` on every client with the same outcome everywhere: if it throws an InputError (or runs out of memory, or
/// fails otherwise) at any client, all throw the same error, that of the lowest rank. It must not communicate.
template <class Body>
void agree(const Collectives& clients, const Body& body);

/// A group of clients as a communicator (a row or a column of a grid). members: ranks in the parent, including this
/// client; the same list at each member. The parent must outlive it. A client's groups have different numbers, 1 to 7.
/// Groups of groups are not supported: their messages would mix with those of others.
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& parent, std::vector<std::size_t> members,
                                                       int number);
/// All of them but the last, which is a server.
[[nodiscard]] std::unique_ptr<Communicator> without_last(Communicator& everyone);

}  // namespace fedsinkhorn

#include "comm/agree.hpp"
