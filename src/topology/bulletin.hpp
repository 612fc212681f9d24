// The clients' bulletin during a stretch of iterations without waiting for each other: each publishes its slices of u
// and v, uses the newest slices it has, and never uses one that is too old.
//
// Age. The age of a slice is the number of iterations its user has begun since its owner published it. A client about
// to use a slice older than allowed waits for a newer one. A client that waits publishes its slices once more: they are
// still its newest. So if clients wait for each other, the first one to wait then receives slices from all others that
// are newer than its last iteration: no deadlock. If clients do not share a clock, the fastest message from a client is
// assumed to have taken no time, which corrects its clock.
//
// News. Without a slice it has not used before, a client would only repeat itself, and on shared processors it would
// slow the others down. So it waits for one once everything it computed is published. They cannot all wait: the slices
// published last have not been used by their receivers.
//
// Answers. A slice of v answers one of u if it was computed from it, and vice versa. An iteration on slices that do not
// answer the client's latest is worth half of one on slices that do. So waiting for answers pays off if it takes less
// time than the client's own computation, or than another client may wait for a processor. Clients of similar speed
// thus fall into step, and a slow or distant one is not waited for.
//
// End. A client that wants to end the stretch waits until everything it published has been received, then sends a
// farewell. A client that receives a farewell does the same. Once all farewells have arrived, no message is in flight.
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

/// The times at which a client began its last iterations.
class IterationTimes {
 public:
  /// most: how far back to remember.
  explicit IterationTimes(std::size_t most) : starts_(most + 1, -std::numeric_limits<double>::infinity()) {}

  void begin(double now) { starts_[begun_++ % starts_.size()] = now; }
  /// Iterations begun after that moment; most + 1 means more than `most`.
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
    /// Numbers in each client's message, by kind and client; 0 if it has nothing to publish.
    std::array<std::vector<std::size_t>, 2> numbers;
    /// Whether the message contains a slice, which must not get too old.
    std::array<std::vector<bool>, 2> has_slice;
    double stretch = 1;  ///< its number
    Payload payload = Payload::slice;
    std::int64_t iteration = 0;     ///< iterations made before it
    std::size_t max_staleness = 1;  ///< in iterations
  };
  /// Called with every newest message, in rank order.
  using Apply = std::function<void(SliceKind kind, std::size_t from, std::span<const double> values)>;

  /// What the clients know of each other at construction counts as published now. apply and delays must outlive this.
  Bulletin(Communicator& communicator, const Shape& shape, const Apply& apply, DelayTable& delays);

  /// Publishes this client's message of that kind, computed in the given iteration.
  void publish(SliceKind kind, std::int64_t iteration, std::span<const double> values);
  /// Whether others may soon treat this client as lost because they heard nothing from it.
  [[nodiscard]] bool is_overdue(SliceKind kind) const {
    return communicator_.now() - own_[index(kind)].published > communicator_.timeout() / 4;
  }
  /// Stores the message without sending it; it is published when this client waits.
  void keep(SliceKind kind, std::int64_t iteration, std::span<const double> values);

  /// Receives what has arrived, and checks whether another client wants to end. Does not wait.
  void take();
  /// Waits for an unused slice, unless this client has computed something it has not published yet.
  void await_news();
  /// Call at the start of an iteration.
  void begin_iteration();
  /// Waits for answers that are expected soon.
  void await_answers(SliceKind kind);
  /// Waits until no slice of that kind is too old for the current iteration, or for one about to begin. Returns false
  /// if the stretch is to end instead. Throws ClientLost if a client published nothing within the time limit.
  [[nodiscard]] bool await_fresh(SliceKind kind, bool about_to_begin);
  /// Waits until anything arrives.
  void await_anything();
  /// Call when the slices of that kind are used: records the age of those used for the first time.
  void note_use(SliceKind kind);

  /// Whether another client wants to end the stretch.
  [[nodiscard]] bool is_called() const { return is_called_; }
  /// Ends the stretch, see above. Returns the largest number any client passes; none may exceed `most`.
  [[nodiscard]] std::int64_t part(std::int64_t number, std::int64_t most);
  /// How often this client had to wait.
  [[nodiscard]] std::uint64_t waits() const { return waits_; }

 private:
  struct Subject {  // what one other client publishes of one kind
    std::optional<Inbox> inbox;
    double published = 0;     // by this client's clock
    double clock_ahead = 0;   // best known offset of this client's clock from its owner's
    double iteration = 0;     // its owner's
    double answers = 0;       // see NewsStamp
    double used = 0;          // its owner's iteration that was used last
    double answer_after = 0;  // seconds until it answers; infinite: not worth waiting for
    bool is_new = false;      // not used yet
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
  /// Whether this client uses that client's slices of that kind.
  [[nodiscard]] bool uses(SliceKind kind, std::size_t from) const;
  /// If there is no news: a client whose news would help.
  [[nodiscard]] std::optional<std::size_t> nothing_new() const;
  [[nodiscard]] std::optional<std::size_t> too_old(SliceKind kind, bool about_to_begin) const;
  [[nodiscard]] std::vector<Pending*> everything_awaited();
  /// Waits until culprit(), the client being waited for, returns none.
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
