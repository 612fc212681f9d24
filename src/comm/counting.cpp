#include "comm/counting.hpp"

namespace fedsinkhorn {

std::unique_ptr<Pending> CountingCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Tag tag) {
  const Stopwatch::Scope scope(waiting_);
  const auto phase = static_cast<std::size_t>(phase_);
  traffic_.bytes_sent[phase] += data.size();
  ++traffic_.messages_sent[phase];
  return inner_.start_send(data, to, tag);
}

std::unique_ptr<Pending> CountingCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Tag tag) {
  const Stopwatch::Scope scope(waiting_);
  traffic_.bytes_received[static_cast<std::size_t>(phase_)] += data.size();
  return inner_.start_receive(data, from, tag);
}

void CountingCommunicator::wait(Pending& message) {
  const Stopwatch::Scope scope(waiting_);
  inner_.wait(message);
}

}  // namespace fedsinkhorn
