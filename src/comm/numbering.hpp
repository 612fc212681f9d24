// A wrapper that puts a header in front of every message, so that none is mistaken for the one awaited.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "comm/forwarding.hpp"

namespace fedsinkhorn {

/// In front of every message.
struct MessageHeader {
  std::uint32_t protocol = 0;  ///< version of the program's protocol
  std::uint16_t tag = 0;
  std::uint16_t kind = 0;     ///< a Payload; in the high byte, its Form
  std::uint32_t number = 0;   ///< counts the sender's messages to this receiver with this tag, from 0, modulo 2^32
  std::uint32_t session = 0;  ///< number of the solve; 0 until the clients have agreed on it
  std::uint64_t length = 0;   ///< bytes that follow
};

/// Changes whenever two versions of the program would misunderstand each other.
inline constexpr std::uint32_t kProtocol = 0x46530005;

/// Adds 24 bytes to every message. Messages with the same sender and tag arrive in order, so the receiver knows the
/// next number. If a message was replayed, left out or sent in another step of a collective, the number differs, and
/// the sender is no longer trusted (Communicator::distrust). The same holds for a wrong session, kind or length. The
/// numbers of news are not checked: news may overtake each other and arrive twice by design, and their stamps tell
/// their age (topology/news.hpp).
/// A receive abandoned before it is done does not return its number: nothing more comes from that sender.
///
/// A session begins with the options that client 0 sends to the others: they and all later messages carry its number.
class NumberingCommunicator final : public ForwardingCommunicator {
 public:
  /// session: at client 0, the number of the session it will begin; ignored elsewhere.
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
