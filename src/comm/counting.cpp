#include "comm/counting.hpp"

#include <utility>

#include "comm/watch.hpp"

namespace fedsinkhorn {
namespace {

/// Where the bytes of a receive are counted.
struct Received {
  std::uint64_t& of_phase;
  std::uint64_t& of_kind;

  void add(std::size_t bytes) const {
    of_phase += bytes;
    of_kind += bytes;
  }
};

/// Receives of news are posted ahead; their bytes count when they arrive.
class CountedReceipt final : public PeerPending {
 public:
  CountedReceipt(std::unique_ptr<Pending> inner, std::size_t from, std::size_t bytes, Received counters)
      : PeerPending(from), inner_(std::move(inner)), bytes_(bytes), counters_(counters) {}

  [[nodiscard]] bool done() override {
    if (!inner_->done()) return false;
    counters_.add(std::exchange(bytes_, 0));
    return true;
  }
  [[nodiscard]] Pending* below() override { return inner_.get(); }

 private:
  std::unique_ptr<Pending> inner_;
  std::size_t bytes_;
  Received counters_;
};

}  // namespace

std::unique_ptr<Pending> CountingCommunicator::start_send(std::span<const std::byte> data, std::size_t to,
                                                          Label label) {
  const Stopwatch::Scope scope(waiting_);
  const auto phase = static_cast<std::size_t>(phase_);
  traffic_.bytes_sent[phase] += data.size();
  ++traffic_.messages_sent[phase];
  Tally& kind = traffic_.of(label.kind);
  kind.bytes_sent += data.size();
  ++kind.messages_sent;
  Departures& left = traffic_.left[phase][static_cast<std::size_t>(label.kind)][static_cast<std::size_t>(label.form)];
  left.bytes += data.size();
  ++left.messages;
  return inner().start_send(data, to, label);
}

std::unique_ptr<Pending> CountingCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Label label) {
  const Stopwatch::Scope scope(waiting_);
  const Received counters{traffic_.bytes_received[static_cast<std::size_t>(phase_)],
                          traffic_.of(label.kind).bytes_received};
  auto message = inner().start_receive(data, from, label);
  if (is_news(label.tag)) return std::make_unique<CountedReceipt>(std::move(message), from, data.size(), counters);
  counters.add(data.size());
  return message;
}

bool CountingCommunicator::wait_any(std::span<Pending* const> messages, double until) {
  const Stopwatch::Scope scope(waiting_);
  return inner().wait_any(messages, until);
}

}  // namespace fedsinkhorn
