#include "topology/news.hpp"

#include <algorithm>
#include <utility>

namespace fedsinkhorn {

Inbox::Inbox(Communicator& communicator, std::size_t from, Tag tag, std::size_t values, double stretch)
    : communicator_(communicator), from_(from), tag_(tag), stretch_(stretch), newest_(kStampNumbers + values) {
  for (Receive& receive : posted_) {
    receive.buffer.resize(newest_.size());
    post(receive);
  }
}

void Inbox::post(Receive& receive) {
  receive.message = communicator_.start_receive(std::as_writable_bytes(std::span(receive.buffer)), from_, tag_);
}

std::size_t Inbox::take() {
  std::size_t newer = 0;
  while (posted_[next_].message->done()) {
    Receive& receive = posted_[next_];
    const NewsStamp stamp{receive.buffer[0], receive.buffer[1], receive.buffer[2], receive.buffer[3]};
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

void Outbox::publish(std::span<const double> message, double answers) {
  const auto free = std::find_if(sends_.begin(), sends_.end(),
                                 [](const Send& send) { return !send.message || send.message->done(); });
  is_behind_ = free == sends_.end();
  if (is_behind_) return;
  free->message.reset();
  free->buffer.assign(message.begin(), message.end());
  free->buffer[3] = answers;
  free->message = communicator_.start_send(std::as_bytes(std::span(std::as_const(free->buffer))), to_, tag_);
}

bool Outbox::is_empty() {
  return !is_behind_ && std::all_of(sends_.begin(), sends_.end(),
                                    [](const Send& send) { return !send.message || send.message->done(); });
}

void Outbox::add_to(std::vector<Pending*>& list) const {
  for (const Send& send : sends_) {
    if (send.message && !send.message->done()) list.push_back(send.message.get());
  }
}

}  // namespace fedsinkhorn
