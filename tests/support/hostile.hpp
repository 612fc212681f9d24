// A client that follows the protocol but for some messages, which it changes on their way out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "comm/numbering.hpp"
#include "comm/watch.hpp"

namespace fedsinkhorn::testing {

/// The rank of the hostile client, where it does not matter which it is.
inline constexpr std::size_t kHostile = 1;

/// What is done to one message.
struct Attack {
  enum class Kind : std::uint8_t { number, bytes, flip, shorten, lengthen, replay, drop, repeat, header, whole };
  static constexpr std::size_t kKinds = 10;

  std::size_t message = 0;  ///< which of those it sends, from 0 on
  Kind kind = Kind::number;
  std::size_t position =
      0;                    ///< which number or byte, counted from the front of what the header leaves, modulo its size
  std::uint64_t value = 0;  ///< which of the special numbers (number), or bits
};

/// Numbers that a careless reader stumbles over.
inline constexpr std::array kSpecialNumbers = {std::numeric_limits<double>::quiet_NaN(),
                                               std::numeric_limits<double>::infinity(),
                                               -std::numeric_limits<double>::infinity(),
                                               1e18,
                                               -1.0,
                                               0.5,
                                               0.0,
                                               1.0,
                                               1e300,
                                               -1e300,
                                               4294967296.0,
                                               9007199254740993.0,
                                               5e-324};

/// Goes below a NumberingCommunicator, so it sees messages as they travel.
class HostileCommunicator final : public ForwardingCommunicator {
 public:
  HostileCommunicator(Communicator& inner, std::vector<Attack> attacks)
      : ForwardingCommunicator(inner), attacks_(std::move(attacks)) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    const std::size_t number = sent_++;
    auto& earlier = earlier_[{to, label.tag, data.size()}];
    std::vector<std::byte> message(data.begin(), data.end());
    bool is_dropped = false;
    bool is_repeated = false;
    for (const Attack& attack : attacks_) {
      if (attack.message != number) continue;
      if (attack.kind == Attack::Kind::replay && !earlier.empty()) message = earlier;
      is_dropped |= attack.kind == Attack::Kind::drop;
      is_repeated |= attack.kind == Attack::Kind::repeat;
      change(attack, message);
    }
    earlier.assign(data.begin(), data.end());
    if (is_dropped) return std::make_unique<Kept>(to);
    if (is_repeated) (void)inner().start_send(message, to, label);
    return std::make_unique<Kept>(inner(), std::move(message), to, label);
  }

  /// Messages so far.
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  class Kept final : public PeerPending {
   public:
    explicit Kept(std::size_t to) : PeerPending(to) {}
    Kept(Communicator& inner, std::vector<std::byte> message, std::size_t to, Label label)
        : PeerPending(to), message_(std::move(message)), inner_(inner.start_send(message_, to, label)) {}
    [[nodiscard]] bool done() override { return inner_ == nullptr || inner_->done(); }
    [[nodiscard]] Pending* below() override { return inner_.get(); }

   private:
    std::vector<std::byte> message_;
    std::unique_ptr<Pending> inner_;
  };

  static void change(const Attack& attack, std::vector<std::byte>& message) {
    const std::size_t header = std::min(sizeof(MessageHeader), message.size());
    const std::span<std::byte> payload = std::span(message).subspan(header);
    const auto put = [&](std::uint64_t bits) {
      if (payload.size() < sizeof bits) return;
      const std::size_t at = attack.position % (payload.size() / sizeof bits) * sizeof bits;
      std::memcpy(payload.data() + at, &bits, sizeof bits);
    };
    switch (attack.kind) {
      case Attack::Kind::number: {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &kSpecialNumbers[attack.value % kSpecialNumbers.size()], sizeof bits);
        put(bits);
        break;
      }
      case Attack::Kind::bytes: put(attack.value); break;
      case Attack::Kind::flip:
        if (!payload.empty()) payload[attack.position % payload.size()] ^= static_cast<std::byte>(attack.value | 1U);
        break;
      case Attack::Kind::shorten: message.resize(message.size() - std::min<std::size_t>(message.size(), 8)); break;
      case Attack::Kind::lengthen: message.resize(message.size() + 8); break;
      case Attack::Kind::header:
        if (header > 0) message[attack.position % header] ^= static_cast<std::byte>(attack.value | 1U);
        break;
      case Attack::Kind::whole:
        for (std::size_t i = 0; i < payload.size(); ++i) {
          payload[i] = static_cast<std::byte>(attack.value >> (8 * ((i + attack.position) % 8)));
        }
        break;
      case Attack::Kind::replay:
      case Attack::Kind::drop:
      case Attack::Kind::repeat: break;
    }
  }

  struct Lane {
    std::size_t to;
    Tag tag;
    std::size_t size;
    // clang-tidy 14 takes the default comparison for a 0 that should be nullptr.
    [[nodiscard]] auto operator<=>(const Lane&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  std::vector<Attack> attacks_;
  std::size_t sent_ = 0;
  std::map<Lane, std::vector<std::byte>> earlier_;  // the last message of each
};

}  // namespace fedsinkhorn::testing
