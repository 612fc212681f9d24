#include "comm/numbering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "comm/watch.hpp"
#include "core/buffer.hpp"

namespace fedsinkhorn {
namespace {

static_assert(std::is_trivially_copyable_v<MessageHeader> && sizeof(MessageHeader) == 16);

// In both, the buffer comes before the message that uses it, and so goes after it.
class NumberedSend final : public PeerPending {
 public:
  NumberedSend(Communicator& inner, const MessageHeader& header, std::span<const std::byte> data, std::size_t to,
               Tag tag)
      : PeerPending(to), buffer_(sizeof header + data.size()) {
    std::memcpy(buffer_.data(), &header, sizeof header);
    std::ranges::copy(data, buffer_.data() + sizeof header);
    inner_ = inner.start_send(buffer_.span(), to, tag);
  }
  [[nodiscard]] bool done() override { return inner_->done(); }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  Buffer<std::byte> buffer_;
  std::unique_ptr<Pending> inner_;
};

class NumberedReceipt final : public PeerPending {
 public:
  NumberedReceipt(Communicator& inner, const MessageHeader& expected, std::span<std::byte> data, std::size_t from,
                  Tag tag)
      : PeerPending(from),
        communicator_(inner),
        expected_(expected),
        any_number_(is_news(tag)),
        data_(data),
        buffer_(sizeof expected + data.size()),
        inner_(inner.start_receive(buffer_.span(), from, tag)) {}

  [[nodiscard]] bool done() override {
    if (is_done_) return true;
    if (!inner_->done()) return false;
    check();
    std::ranges::copy(buffer_.span().subspan(sizeof expected_), data_.begin());
    is_done_ = true;
    return true;
  }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  void check() const {
    MessageHeader came;
    std::memcpy(&came, buffer_.data(), sizeof came);
    if (came.protocol != expected_.protocol) communicator_.distrust(peer(), "a message in a protocol not known here");
    if (came.tag != expected_.tag) communicator_.distrust(peer(), "a message of another kind than expected");
    if (came.number != expected_.number && !any_number_) {
      communicator_.distrust(
          peer(), fmt::format("message {} of its kind where message {} was expected", came.number, expected_.number));
    }
  }

  Communicator& communicator_;
  MessageHeader expected_;
  bool any_number_;
  bool is_done_ = false;
  std::span<std::byte> data_;
  Buffer<std::byte> buffer_;
  std::unique_ptr<Pending> inner_;
};

MessageHeader header_of(Tag tag, std::uint64_t number) { return {kProtocol, static_cast<std::uint32_t>(tag), number}; }

}  // namespace

std::unique_ptr<Pending> NumberingCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Tag tag) {
  return std::make_unique<NumberedSend>(inner(), header_of(tag, sent_[{to, tag}]++), data, to, tag);
}

std::unique_ptr<Pending> NumberingCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Tag tag) {
  return std::make_unique<NumberedReceipt>(inner(), header_of(tag, received_[{from, tag}]++), data, from, tag);
}

}  // namespace fedsinkhorn
