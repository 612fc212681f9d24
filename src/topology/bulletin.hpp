// The clients' bulletin during a stretch of iterations they make without waiting for each other: everybody publishes
// slices of u and v, everybody uses the newest there are, and nobody uses any that are too old.
//
// Age. A slice is as old as the number of iterations the client that uses it has begun since its owner published it. A
// client about to use one older than allowed waits for a newer one. A client that waits says so by publishing what it
// has once more: it is still its newest. Of clients that wait for each other the first to do so thereby gets news from
// all others that are younger than its last iteration, so they cannot wait for ever. Where clients do not share a
// clock, the fastest message from a client is taken to have needed no time, which puts its clock right.
//
// News. Without a slice it has not used before, a client would only repeat itself, and where clients share processors
// it would keep the others from having news. So it waits for one as soon as all it has computed is published. They
// cannot all wait: what was published last has not been used by those it is for.
//
// Answers. A slice of v answers one of u if it was computed with it, and the other way round. A client that uses slices
// which do not answer its latest makes an iteration worth half of one that does, so it pays to wait for answers if that
// takes less than its own part of the work, or less than another client may have to wait for a processor. Clients of
// like speed thereby fall into step, and one that is slower than the others, or far away, is not waited for.
//
// End. A client that wants the stretch to end waits until everything it published has been taken, and says farewell;
// who hears that does the same. When all farewells have come, nothing is under way any more.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "topology/delays.hpp"
#include "topology/news.hpp"

namespace fedsinkhorn {

/// The moments at which a client began its last iterations.
class IterationTimes {
 public:
  /// most: how far back one wants to know.
  explicit IterationTimes(std::size_t most) : starts_(most + 1, -std::numeric_limits<double>::infinity()) {}

  void begin(double now) { starts_[begun_++ % starts_.size()] = now; }
  /// Iterations begun after that moment; one more than `most` stands for all above.
  [[nodiscard]] std::size_t begun_after(double moment) const {
    std::size_t count = 0;
    while (count < starts_.size() && starts_[(begun_ + starts_.size() - 1 - count) % starts_.size()] > moment) ++count;
    return count;
  }

 private:
  std::vector<double> starts_;  // a ring
  std::size_t begun_ = 0;
};

class Bulletin {
 public:
  struct Shape {
    /// Numbers in every client's message of a kind, by kind and client; 0 for who has nothing to say.
    std::array<std::vector<std::size_t>, 2> numbers;
    /// Whether there is a slice in it, which must not get too old.
    std::array<std::vector<bool>, 2> has_slice;
    double stretch = 1;             ///< its number
    std::int64_t iteration = 0;     ///< made before it
    std::size_t max_staleness = 1;  ///< in iterations
  };
  /// Called with every newest message, in the order of the ranks.
  using Apply = std::function<void(SliceKind kind, std::size_t from, std::span<const double> values)>;

  /// What the clients know of each other when this is made counts as published now. apply and delays outlive it.
  Bulletin(Communicator& communicator, const Shape& shape, const Apply& apply, DelayTable& delays);

  /// Publishes this client's message of that kind as of the end of its given iteration.
  void publish(SliceKind kind, std::int64_t iteration, std::span<const double> values);
  /// Whether others may soon give this client up, having heard nothing.
  [[nodiscard]] bool is_overdue(SliceKind kind) const {
    return communicator_.now() - own_[index(kind)].published > communicator_.timeout() / 4;
  }
  /// Keeps it for when this client waits, without sending it.
  void keep(SliceKind kind, std::int64_t iteration, std::span<const double> values);

  /// Takes what has come, and notices whether another client wants the end. Does not wait.
  void take();
  /// Waits for a slice that has not been used, unless some of what this client computed is not published yet.
  void await_news();
  /// An iteration begins.
  void begin_iteration();
  /// Waits for answers that are about to come.
  void await_answers(SliceKind kind);
  /// Waits until no slice of that kind is too old to be used: in the iteration that runs, or in one about to begin.
  /// False if the stretch is to end instead. Throws ClientLost if a client published nothing within the time limit.
  [[nodiscard]] bool await_fresh(SliceKind kind, bool about_to_begin);
  /// Waits until anything comes.
  void await_anything();
  /// The slices of that kind are being used: notes the age of those used for the first time.
  void note_use(SliceKind kind);

  /// Whether another client wants the end.
  [[nodiscard]] bool is_called() const { return is_called_; }
  /// The end: see above. Returns the largest number any client gives; none can give more than `most`.
  [[nodiscard]] std::int64_t part(std::int64_t number, std::int64_t most);
  /// Times this client had to wait.
  [[nodiscard]] std::uint64_t waits() const { return waits_; }

 private:
  struct Subject {  // what one other client publishes of one kind
    std::optional<Inbox> inbox;
    double published = 0;     // on this client's clock
    double clock_ahead = 0;   // of this client's clock before its owner's, as far as is known
    double iteration = 0;     // of its owner
    double answers = 0;       // see NewsStamp
    double used = 0;          // the iteration of its owner that was used last
    double answer_after = 0;  // seconds in which it answers; infinite: not worth waiting for
    bool is_new = false;      // not used so far
  };
  struct Own {  // what this client publishes of one kind
    std::vector<double> message;
    std::vector<std::optional<Outbox>> outboxes;  // by client
    double iteration = 0;                         // published last
    double published = 0;                         // when
    double took = 0;                              // seconds to compute it
  };
  struct Farewell {
    std::array<double, 2> incoming{};
    std::array<double, 2> outgoing{};
    std::unique_ptr<Pending> receipt;
    std::unique_ptr<Pending> send;  // until it is done
    bool has_come = false;
    bool has_gone = false;
  };

  void catch_up();
  void send(SliceKind kind);
  [[nodiscard]] bool has_told_all() const;
  /// Whether that client's slices of that kind are used by this one.
  [[nodiscard]] bool uses(SliceKind kind, std::size_t from) const;
  /// A client whose news would do, if there are none.
  [[nodiscard]] std::optional<std::size_t> nothing_new() const;
  [[nodiscard]] std::optional<std::size_t> too_old(SliceKind kind, bool about_to_begin) const;
  [[nodiscard]] std::vector<Pending*> everything_awaited();
  /// Waits until culprit(), the client one depends on, is none.
  template <class Culprit>
  void wait_until_none(const Culprit& culprit);
  [[nodiscard]] const Pending& awaited_from(std::size_t client);
  [[nodiscard]] Subject& subject(SliceKind kind, std::size_t from) { return subjects_[index(kind)][from]; }
  [[nodiscard]] Own& own(SliceKind kind) { return own_[index(kind)]; }
  [[nodiscard]] static std::size_t index(SliceKind kind) { return static_cast<std::size_t>(kind); }
  [[nodiscard]] static SliceKind other(SliceKind kind) { return kind == SliceKind::u ? SliceKind::v : SliceKind::u; }

  Communicator& communicator_;
  const Shape shape_;
  const Apply& apply_;
  DelayTable& delays_;
  IterationTimes times_;
  std::array<std::vector<Subject>, 2> subjects_;  // by kind and client
  std::array<Own, 2> own_;
  std::vector<Farewell> farewells_;
  std::vector<std::uint64_t> heard_from_;  // messages, by client
  double used_at_ = 0;                     // when slices were last used
  std::int64_t iterations_ = 0;
  bool is_called_ = false;
  std::uint64_t waits_ = 0;
};

}  // namespace fedsinkhorn
