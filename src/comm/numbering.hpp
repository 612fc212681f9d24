// A wrapper that numbers messages, so that one that was meant for another moment is not taken for the one awaited.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "comm/forwarding.hpp"

namespace fedsinkhorn {

/// In front of every message.
struct MessageHeader {
  std::uint32_t protocol = 0;  ///< which version of the program speaks
  std::uint32_t tag = 0;
  std::uint64_t number = 0;  ///< of the sender's messages to this receiver with this tag, from 0 on
};

/// Changed whenever clients of two versions would misunderstand each other.
inline constexpr std::uint32_t kProtocol = 0x46530002;

/// Every message carries 16 bytes more. Messages of one sender and tag arrive in order, so the receiver knows the
/// number of the next one: one that was replayed, left out, or sent in another step of a collective has another, and
/// whoever sent it is not trusted any more (Communicator::distrust). News may overtake each other and come twice by
/// design; their stamps say how old they are (topology/news.hpp), so their numbers are not looked at.
/// Receives that are given up before they are done do not give back their number: nothing more comes from that sender.
class NumberingCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to, Tag tag) override;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from, Tag tag) override;

 private:
  using Counts = std::map<std::pair<std::size_t, Tag>, std::uint64_t>;  // by peer and tag

  Counts sent_;
  Counts received_;
};

}  // namespace fedsinkhorn
