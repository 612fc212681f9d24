// Slices that are published repeatedly: only the newest counts, and nobody waits.
//
// At most kWindow messages from one client to another are in flight; until one of them is received, newer ones replace
// each other at the sender. So memory stays bounded however slow the receiver is, and the receiver gets the slice that
// was newest when it last received one. With several in flight, one late message does not hold up the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// Precedes the values of every message.
struct NewsStamp {
  double stretch = 0;    ///< the stretch of iterations it belongs to; others are out of date
  double iteration = 0;  ///< of the sender
  double published = 0;  ///< when it was, or still was, the sender's newest (Communicator::now)
  double answers = 0;    ///< the receiver's iteration whose slice of the other kind was used to compute it
};
inline constexpr std::size_t kStampNumbers = 4;
inline constexpr std::size_t kWindow = 4;

/// What one other client publishes under one tag.
class Inbox {
 public:
  /// values: numbers per message, without the stamp. Messages from other stretches are ignored.
  Inbox(Communicator& communicator, std::size_t from, Label label, std::size_t values, double stretch);

  /// Receives what has arrived. Returns how many messages were newer than the newest before.
  std::size_t take();
  /// The newest message received; iteration -1 if there is none.
  [[nodiscard]] const NewsStamp& stamp() const { return stamp_; }
  [[nodiscard]] std::span<const double> values() const { return std::span(newest_).subspan(kStampNumbers); }
  /// The message to wait for.
  [[nodiscard]] Pending& next() { return *posted_[next_].message; }

 private:
  // The buffer is declared before the message that uses it, so it is destroyed after it.
  struct Receive {
    std::vector<double> buffer;
    std::unique_ptr<Pending> message;
  };
  void post(Receive& receive);

  Communicator& communicator_;
  std::size_t from_;
  Label label_;
  double stretch_;
  std::array<Receive, kWindow> posted_;
  std::size_t next_ = 0;  // receives complete in the order they were posted
  NewsStamp stamp_{0, -1, 0, -1};
  std::vector<double> newest_;
};

/// What this client publishes to one other under one tag.
class Outbox {
 public:
  Outbox(Communicator& communicator, std::size_t to, Label label)
      : communicator_(communicator), to_(to), label_(label) {}

  /// Sends a copy with `answers` in its stamp. If there is no room, remembers to send later.
  void publish(std::span<const double> message, double answers);
  /// Removes what has been received. Sends what publish could not, in its current state.
  void catch_up(std::span<const double> message, double answers);
  /// Whether everything had been received at the last catch_up.
  [[nodiscard]] bool is_empty() const;
  /// Adds the rest to a list of messages to wait for. Both use the state at the last catch_up, so nothing that happens
  /// in between is missed.
  void add_to(std::vector<Pending*>& list) const;

 private:
  struct Send {
    std::vector<double> buffer;
    std::unique_ptr<Pending> message;
  };

  void clear_away();

  Communicator& communicator_;
  std::size_t to_;
  Label label_;
  std::array<Send, kWindow> sends_;
  bool is_behind_ = false;
};

}  // namespace fedsinkhorn
