#include "comm/counting.hpp"

#include <utility>

#include "comm/watch.hpp"

namespace fedsinkhorn {
namespace {

/// Receives of news are posted ahead; their bytes count when they come.
class CountedReceipt final : public PeerPending {
 public:
  CountedReceipt(std::unique_ptr<Pending> inner, std::size_t from, std::size_t bytes, std::uint64_t& counter)
      : PeerPending(from), inner_(std::move(inner)), bytes_(bytes), counter_(counter) {}

  [[nodiscard]] bool done() override {
    if (!inner_->done()) return false;
    counter_ += std::exchange(bytes_, 0);
    return true;
  }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  std::unique_ptr<Pending> inner_;
  std::size_t bytes_;
  std::uint64_t& counter_;
};

}  // namespace

std::unique_ptr<Pending> CountingCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Tag tag) {
  const Stopwatch::Scope scope(waiting_);
  const auto phase = static_cast<std::size_t>(phase_);
  traffic_.bytes_sent[phase] += data.size();
  ++traffic_.messages_sent[phase];
  return inner().start_send(data, to, tag);
}

std::unique_ptr<Pending> CountingCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Tag tag) {
  const Stopwatch::Scope scope(waiting_);
  std::uint64_t& counter = traffic_.bytes_received[static_cast<std::size_t>(phase_)];
  auto message = inner().start_receive(data, from, tag);
  if (is_news(tag)) return std::make_unique<CountedReceipt>(std::move(message), from, data.size(), counter);
  counter += data.size();
  return message;
}

bool CountingCommunicator::wait_any(std::span<Pending* const> messages, double until) {
  const Stopwatch::Scope scope(waiting_);
  return inner().wait_any(messages, until);
}

}  // namespace fedsinkhorn
