// What all clients of a communicator do together, written once on top of point-to-point messages: the same algorithm,
// the same bytes and the same order of summation on every transport. Sums are formed in the order of the ranks, so that
// they do not depend on which message comes first.
//
// Bytes, for values of B bytes in all (a part of B_k at client k):
//                    direct, sent by client k                     through the root
//   allgather        (c - 1) B_k                                  client B_k, root (c - 1) B
//   reduce_scatter   B - B_k                                      client B,   root B - B_0
//   allreduce        like reduce_scatter and allgather of c even parts (the first ones have a value more if need be)
//   broadcast        root (c - 1) B                               the same; from another than client 0: that one B,
//                                                                 client 0 passes it on, (c - 2) B
//   gather           B_k to the root                              the same; to another than client 0: B_k to client 0,
//                                                                 which passes on all but the root's part
//   allgather_text   like allgather of 8 bytes each, then of the texts
//   broadcast_text   like broadcast of 8 bytes, then of the text
//   barrier          like allgather of 1 byte each
// One client sends nothing. For an empty part no message is sent.
//
// From everybody to everybody, that is c^2 messages. With more than 32 clients that have little to say (1 KiB each on
// average) allgather and reduce_scatter go through the root, whatever the route: 2 (c - 1) messages.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/from_peer.hpp"

namespace fedsinkhorn {

/// direct: every client talks to every other. through_root: clients talk to client 0 alone (a star, a firewall).
enum class Route { direct, through_root };

/// With more clients than that, c^2 small messages take longer than the way through client 0.
inline constexpr std::size_t kManyClients = 32;

class Collectives {
 public:
  static constexpr std::size_t kMostText = std::size_t{1} << 20U;

  explicit Collectives(Communicator& communicator, Route route = Route::direct,
                       std::optional<Payload> kind = std::nullopt)
      : communicator_(communicator), route_(route), kind_(kind) {}

  /// The same clients on the same route, for messages of that kind. All that send something but barrier() and agree()
  /// need one.
  [[nodiscard]] Collectives of(Payload kind) const { return Collectives(communicator_, route_, kind); }

  [[nodiscard]] Communicator& communicator() const { return communicator_; }
  [[nodiscard]] Route route() const { return route_; }
  /// Of its messages. Throws std::logic_error where no kind was named.
  [[nodiscard]] Label label() const;
  [[nodiscard]] std::size_t rank() const { return communicator_.rank(); }
  [[nodiscard]] std::size_t size() const { return communicator_.size(); }

  /// whole: the parts one after the other, counts[k] values from client k; mine is there already.
  void allgather(std::span<double> whole, std::span<const std::size_t> counts) const;
  /// values: counts[k] values for client k, one after the other. mine = the sum over the clients of what they have for
  /// this one. They must not overlap.
  void reduce_scatter(std::span<const double> values, std::span<const std::size_t> counts,
                      std::span<double> mine) const;
  /// Every client gets the same sum, to the last bit.
  void allreduce(std::span<double> values) const;
  void broadcast(std::span<std::byte> data, std::size_t root) const;
  /// whole: at the root, the parts one after the other; elsewhere ignored.
  void gather(std::span<const double> mine, std::span<const std::size_t> counts, std::span<double> whole,
              std::size_t root) const;
  /// Texts of any length up to `most` from everybody, in the order of the ranks. Lengths travel first; one above the
  /// most is not believed (see from_peer.hpp).
  [[nodiscard]] std::vector<std::string> allgather_text(const std::string& mine, std::size_t most = kMostText) const;
  /// What the root has; `text` is ignored elsewhere.
  [[nodiscard]] std::string broadcast_text(const std::string& text, std::size_t root,
                                           std::size_t most = kMostText) const;
  /// bytes[k] of them from client k, one after the other.
  [[nodiscard]] std::string allgather_bytes(const std::string& mine, std::span<const std::size_t> bytes) const;
  /// As many numbers from everybody: size() x mine.size().
  [[nodiscard]] std::vector<double> allgather_numbers(std::span<const double> mine) const;
  /// Returns when all have come here.
  void barrier() const;

 private:
  Communicator& communicator_;
  Route route_;
  std::optional<Payload> kind_;
};

/// What client `client` of those has to say.
[[nodiscard]] inline FromPeer from_peer(const Collectives& clients, std::size_t client) {
  return {clients.communicator(), client};
}

/// Runs `body` on every client and sees to it that it ends alike everywhere: if it threw an InputError (or ran out of
/// memory, or failed otherwise) on some client, all throw the same one, that of the lowest rank. It must not
/// communicate.
template <class Body>
void agree(const Collectives& clients, const Body& body);

/// A group of the clients as a communicator of its own (a row or a column of a grid). members: ranks in the parent,
/// the same list on each of them, this client among them. The parent must outlive it. Different groups a client is in
/// have different numbers, 1 to 7. Groups of groups are not provided for: their messages would meet those of others.
[[nodiscard]] std::unique_ptr<Communicator> make_group(Communicator& parent, std::vector<std::size_t> members,
                                                       int number);

}  // namespace fedsinkhorn

#include "comm/agree.hpp"
