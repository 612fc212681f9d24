// A wrapper that puts a header in front of messages, so that one that was meant for another moment is not taken for the
// one awaited.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "comm/forwarding.hpp"

namespace fedsinkhorn {

/// In front of every message.
struct MessageHeader {
  std::uint32_t protocol = 0;  ///< which version of the program speaks
  std::uint16_t tag = 0;
  std::uint16_t kind = 0;     ///< a Payload
  std::uint32_t number = 0;   ///< of the sender's messages to this receiver with this tag, from 0 on, modulo 2^32
  std::uint32_t session = 0;  ///< of which solve; 0 until the clients have agreed on it
  std::uint64_t length = 0;   ///< bytes that follow
};

/// Changed whenever clients of two versions would misunderstand each other.
inline constexpr std::uint32_t kProtocol = 0x46530003;

/// Every message carries 24 bytes more. Messages of one sender and tag arrive in order, so the receiver knows the
/// number of the next one: one that was replayed, left out, or sent in another step of a collective has another, and
/// whoever sent it is not trusted any more (Communicator::distrust). The same goes for one of another session, kind or
/// length. News may overtake each other and come twice by design; their stamps say how old they are
/// (topology/news.hpp), so their numbers are not looked at.
/// Receives that are given up before they are done do not give back their number: nothing more comes from that sender.
///
/// A session begins with the options that client 0 tells the others: these carry its number, as does all that follows.
class NumberingCommunicator final : public ForwardingCommunicator {
 public:
  /// session: at client 0, the number of the session it is going to begin. Elsewhere it is ignored.
  explicit NumberingCommunicator(Communicator& inner, std::uint32_t session = 0)
      : ForwardingCommunicator(inner), to_begin_(session) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override;

 private:
  class Receipt;
  using Counts = std::map<std::pair<std::size_t, Tag>, std::uint32_t>;  // by peer and tag

  std::uint32_t to_begin_;
  std::uint32_t session_ = 0;
  Counts sent_;
  Counts received_;
};

}  // namespace fedsinkhorn
