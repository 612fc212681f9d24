#include "topology/news.hpp"

#include <algorithm>
#include <utility>

#include "comm/from_peer.hpp"

namespace fedsinkhorn {

Inbox::Inbox(Communicator& communicator, std::size_t from, Label label, std::size_t values, double stretch)
    : communicator_(communicator), from_(from), label_(label), stretch_(stretch), newest_(kStampNumbers + values) {
  for (Receive& receive : posted_) {
    receive.buffer.resize(newest_.size());
    post(receive);
  }
}

void Inbox::post(Receive& receive) {
  receive.message = communicator_.start_receive(std::as_writable_bytes(std::span(receive.buffer)), from_, label_);
}

std::size_t Inbox::take() {
  std::size_t newer = 0;
  while (posted_[next_].message->done()) {
    Receive& receive = posted_[next_];
    const NewsStamp stamp{receive.buffer[0], receive.buffer[1], receive.buffer[2], receive.buffer[3]};
    const FromPeer peer(communicator_, from_);
    (void)peer.count(stamp.iteration, kMostCount, "an iteration");
    (void)peer.finite(stamp.published, "a time");
    (void)peer.finite(stamp.answers, "an iteration that was answered");
    const bool is_newer = stamp.iteration > stamp_.iteration ||
                          (stamp.iteration == stamp_.iteration && stamp.published > stamp_.published);
    if (stamp.stretch == stretch_ && is_newer) {
      stamp_ = stamp;
      std::swap(newest_, receive.buffer);
      ++newer;
    }
    post(receive);
    next_ = (next_ + 1) % kWindow;
  }
  return newer;
}

void Outbox::clear_away() {
  for (Send& send : sends_) {
    if (send.message && send.message->done()) send.message.reset();
  }
}

void Outbox::publish(std::span<const double> message, double answers) {
  clear_away();
  const auto free = std::find_if(sends_.begin(), sends_.end(), [](const Send& send) { return !send.message; });
  is_behind_ = free == sends_.end();
  if (is_behind_) return;
  free->buffer.assign(message.begin(), message.end());
  free->buffer[3] = answers;
  free->message = communicator_.start_send(std::as_bytes(std::span(std::as_const(free->buffer))), to_, label_);
}

void Outbox::catch_up(std::span<const double> message, double answers) {
  if (is_behind_) return publish(message, answers);
  clear_away();
}

bool Outbox::is_empty() const {
  return !is_behind_ && std::all_of(sends_.begin(), sends_.end(), [](const Send& send) { return !send.message; });
}

void Outbox::add_to(std::vector<Pending*>& list) const {
  for (const Send& send : sends_) {
    if (send.message) list.push_back(send.message.get());
  }
}

}  // namespace fedsinkhorn
