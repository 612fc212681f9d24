#include "comm/numbering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "comm/watch.hpp"
#include "core/buffer.hpp"

namespace fedsinkhorn {
namespace {

static_assert(std::is_trivially_copyable_v<MessageHeader> && sizeof(MessageHeader) == 24);

constexpr std::size_t kFirst = 0;  // the client that begins sessions

/// The kind of a message and, in the high byte, its form.
std::uint16_t kind_and_form(Label label) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(label.kind) | static_cast<unsigned>(label.form) << 8U);
}

MessageHeader header_of(Label label, std::uint32_t number, std::uint32_t session, std::size_t length) {
  return {kProtocol, static_cast<std::uint16_t>(label.tag), kind_and_form(label), number, session, length};
}

std::string name_of_kind(std::uint16_t kind) {
  const unsigned form = kind >> 8U;
  const unsigned payload = kind & 0xFFU;
  if (payload >= kPayloads.size() || form > static_cast<unsigned>(Form::masked)) return fmt::format("{}", kind);
  return fmt::format("{}{}", form == 0 ? "" : "masked ", name_of(static_cast<Payload>(payload)));
}

// In both classes the buffer is declared before the message that uses it, so it is destroyed after it.
class NumberedSend final : public PeerPending {
 public:
  NumberedSend(Communicator& inner, const MessageHeader& header, std::span<const std::byte> data, std::size_t to,
               Label label)
      : PeerPending(to), buffer_(sizeof header + data.size()) {
    std::memcpy(buffer_.data(), &header, sizeof header);
    std::ranges::copy(data, buffer_.data() + sizeof header);
    inner_ = inner.start_send(buffer_.span(), to, label);
  }
  [[nodiscard]] bool done() override { return inner_->done(); }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  Buffer<std::byte> buffer_;
  std::unique_ptr<Pending> inner_;
};

}  // namespace

class NumberingCommunicator::Receipt final : public PeerPending {
 public:
  Receipt(NumberingCommunicator& owner, std::uint32_t number, std::span<std::byte> data, std::size_t from, Label label)
      : PeerPending(from),
        owner_(owner),
        label_(label),
        number_(number),
        data_(data),
        buffer_(sizeof(MessageHeader) + data.size()),
        inner_(owner.inner().start_receive(buffer_.span(), from, label)) {}

  [[nodiscard]] bool done() override {
    if (is_done_) return true;
    if (!inner_->done()) return false;
    check();
    std::ranges::copy(buffer_.span().subspan(sizeof(MessageHeader)), data_.begin());
    is_done_ = true;
    return true;
  }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  void check() const {
    MessageHeader came;
    std::memcpy(&came, buffer_.data(), sizeof came);
    const bool begins_session = label_.kind == Payload::options && peer() == kFirst && owner_.session_ == 0;
    const MessageHeader expected =
        header_of(label_, number_, begins_session ? came.session : owner_.session_, data_.size());
    if (came.protocol != expected.protocol) refuse("a message in a protocol not known here");
    if (came.tag != expected.tag) refuse("a message of another kind than expected");
    if (came.session != expected.session) refuse("a message of another solve");
    if (came.number != expected.number && !is_news(label_.tag)) {
      refuse(fmt::format("message {} of its kind where message {} was expected", came.number, expected.number));
    }
    if (came.kind != expected.kind) {
      refuse(fmt::format("a message of kind {} where one of kind {} was expected", name_of_kind(came.kind),
                         name_of_kind(expected.kind)));
    }
    if (came.length != expected.length) {
      refuse(fmt::format("a message that says it has {} bytes and has {}", came.length, expected.length));
    }
    owner_.session_ = expected.session;
  }
  void refuse(const std::string& sent) const { owner_.distrust(peer(), sent); }

  NumberingCommunicator& owner_;
  Label label_;
  std::uint32_t number_;
  bool is_done_ = false;
  std::span<std::byte> data_;
  Buffer<std::byte> buffer_;
  std::unique_ptr<Pending> inner_;
};

std::unique_ptr<Pending> NumberingCommunicator::start_send(std::span<const std::byte> data, std::size_t to,
                                                           Label label) {
  if (label.kind == Payload::options && rank() == kFirst) session_ = to_begin_;
  const MessageHeader header = header_of(label, sent_[{to, label.tag}]++, session_, data.size());
  return std::make_unique<NumberedSend>(inner(), header, data, to, label);
}

std::unique_ptr<Pending> NumberingCommunicator::start_receive(std::span<std::byte> data, std::size_t from,
                                                              Label label) {
  return std::make_unique<Receipt>(*this, received_[{from, label.tag}]++, data, from, label);
}

}  // namespace fedsinkhorn
