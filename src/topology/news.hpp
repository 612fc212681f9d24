// Slices that are published again and again: the newest is what counts, and nobody waits.
//
// Of what a client publishes to another at most kWindow messages are under way; while none of them has been taken,
// newer ones replace each other at the sender. So memory does not grow however slow the receiver is, and a receiver
// gets the newest there was when it last took one. Several may be under way so that one late message does not hold up
// the rest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// In front of the values of every message.
struct NewsStamp {
  double stretch = 0;    ///< which stretch of iterations it is from; others are out of date
  double iteration = 0;  ///< of the sender
  double published = 0;  ///< when it was, or was still, the sender's newest (Communicator::now)
  double answers = 0;    ///< the receiver's iteration whose slice of the other kind it was computed with
};
inline constexpr std::size_t kStampNumbers = 4;
inline constexpr std::size_t kWindow = 4;

/// What one other client publishes under one tag.
class Inbox {
 public:
  /// values: numbers in a message, without the stamp. Everything until the end of this object is of that stretch.
  Inbox(Communicator& communicator, std::size_t from, Tag tag, std::size_t values, double stretch);

  /// Looks through what has come. Returns how many messages there were that are newer than the newest before.
  std::size_t take();
  /// The newest that has been taken; until there is one, its iteration is -1.
  [[nodiscard]] const NewsStamp& stamp() const { return stamp_; }
  [[nodiscard]] std::span<const double> values() const { return std::span(newest_).subspan(kStampNumbers); }
  /// What to wait for if one more is wanted.
  [[nodiscard]] Pending& next() { return *posted_[next_].message; }

 private:
  // The buffer comes before the message that uses it, and so goes after it.
  struct Receive {
    std::vector<double> buffer;
    std::unique_ptr<Pending> message;
  };
  void post(Receive& receive);

  Communicator& communicator_;
  std::size_t from_;
  Tag tag_;
  double stretch_;
  std::array<Receive, kWindow> posted_;
  std::size_t next_ = 0;  // receives are filled in the order they were posted
  NewsStamp stamp_{0, -1, 0, -1};
  std::vector<double> newest_;
};

/// What this client publishes to one other under one tag.
class Outbox {
 public:
  Outbox(Communicator& communicator, std::size_t to, Tag tag) : communicator_(communicator), to_(to), tag_(tag) {}

  /// Sends a copy with that answer in its stamp, or remembers that something is to be sent when room is there.
  void publish(std::span<const double> message, double answers);
  /// Clears away what has been taken. Sends what publish could not, in the shape it has by now.
  void catch_up(std::span<const double> message, double answers);
  /// Whether everything had been taken when catch_up was called last.
  [[nodiscard]] bool is_empty() const;
  /// Adds what had not to a list of things to wait for. Both go by the same look, so that nothing is missed that
  /// happens between them.
  void add_to(std::vector<Pending*>& list) const;

 private:
  struct Send {
    std::vector<double> buffer;
    std::unique_ptr<Pending> message;
  };

  void clear_away();

  Communicator& communicator_;
  std::size_t to_;
  Tag tag_;
  std::array<Send, kWindow> sends_;
  bool is_behind_ = false;
};

}  // namespace fedsinkhorn
