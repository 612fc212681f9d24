// Faults on purpose, for tests: wrappers under which a network is slow, disorderly or lossy, or a client dead. Each is
// one fault, on any transport; they can be stacked. What they draw depends on the seed, the client's rank and the
// sequence of messages it starts, on nothing else. What a transport says to itself (Tag::control) passes below them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <vector>

#include "comm/forwarding.hpp"
#include "core/random.hpp"

namespace fedsinkhorn {

// ---------------------------------------------------------------------------------------------------------------------
// Messages that come late

/// Holds messages back. Nothing runs beside the client: what is due is started from its next call, whichever that is,
/// and while it waits. Ordinary messages of one receiver and tag keep their order; news may overtake each other.
/// A message is not done before it has been started; ending it before that drops it. All must end before this does.
class HoldingCommunicator : public ForwardingCommunicator {
 public:
  explicit HoldingCommunicator(Communicator& inner) : ForwardingCommunicator(inner) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to, Label label) final;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from, Label label) final;
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) final;
  void look_up() final;

 protected:
  /// Seconds to hold back the next message; 0: none, it goes at once. Called once for every message.
  [[nodiscard]] virtual double hold_for(std::size_t to, Tag tag) = 0;
  /// Called when a message to that receiver and tag has been started.
  virtual void after_start(std::size_t /*to*/, Tag /*tag*/) {}

  [[nodiscard]] bool is_holding(std::size_t to, Tag tag) const;
  /// Starts what is held for that receiver and tag.
  void let_go(std::size_t to, Tag tag);

 private:
  class Outgoing;
  class Incoming;

  void start(Outgoing& message);
  /// Nothing while wait_any is at work below: it calls done() of the messages, and sees to what is due itself.
  void start_what_is_due();

  std::multimap<double, Outgoing*> held_;  // by when they are due; of equal ones the first comes first
  bool is_waiting_ = false;
};

struct Delays {
  double least = 0.001;  ///< seconds
  double most = 0.001;   ///< evenly spread between the two
  double probability = 1;
  std::uint64_t seed = 1;
};

/// A slow network: a share of the messages sets out late.
class DelayedCommunicator final : public HoldingCommunicator {
 public:
  DelayedCommunicator(Communicator& inner, const Delays& delays);

 private:
  [[nodiscard]] double hold_for(std::size_t to, Tag tag) override;

  Delays delays_;
  Random random_;
};

struct Losses {
  double retry = 0.001;  ///< seconds after which what was lost is sent again
  double probability = 0.1;
  int most = 3;  ///< of one message, one after the other
  std::uint64_t seed = 1;
};

/// A lossy network below a protocol that sends again: what is lost sets out later, perhaps several times so.
class DroppedCommunicator final : public HoldingCommunicator {
 public:
  DroppedCommunicator(Communicator& inner, const Losses& losses);

 private:
  [[nodiscard]] double hold_for(std::size_t to, Tag tag) override;

  Losses losses_;
  Random random_;
};

struct Swaps {
  double probability = 0.5;
  double limit = 0.001;  ///< seconds; if the next one has not come by then, the two are not swapped
  std::uint64_t seed = 1;
};

/// Holds some news back until the next one to that receiver and tag has been started, so that it overtakes them. Other
/// messages are not touched.
class ReorderedCommunicator final : public HoldingCommunicator {
 public:
  ReorderedCommunicator(Communicator& inner, const Swaps& swaps);

 private:
  [[nodiscard]] double hold_for(std::size_t to, Tag tag) override;
  void after_start(std::size_t to, Tag tag) override;

  Swaps swaps_;
  Random random_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Messages that come twice

struct Copies {
  double probability = 0.5;
  std::uint64_t seed = 1;
};

/// Some news come twice: the copy fills the receive of that sender and tag that is started next once the first has
/// been seen to be done; those started before still wait for others. The copy is made here, at the receiver: a second
/// one under way might never be taken, and a transport whose sends are done when taken could not be rid of it.
class DuplicatedCommunicator final : public ForwardingCommunicator {
 public:
  DuplicatedCommunicator(Communicator& inner, const Copies& copies);

  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override;

 private:
  class Copied;
  using Letters = std::vector<std::vector<std::byte>>;

  Copies copies_;
  Random random_;
  std::map<std::pair<std::size_t, Tag>, Letters> kept_;  // by sender and tag
};

// ---------------------------------------------------------------------------------------------------------------------
// Clients that stop

/// When so many messages have been started (sent or received), or at this time (see Communicator::now).
struct Moment {
  std::uint64_t messages = std::numeric_limits<std::uint64_t>::max();
  double time = std::numeric_limits<double>::infinity();
};

/// Something happens to a client. Before every call that starts a message, waits or looks up, and during waits, it is
/// seen whether the moment has come.
class StruckCommunicator : public ForwardingCommunicator {
 public:
  StruckCommunicator(Communicator& inner, const Moment& moment) : ForwardingCommunicator(inner), moment_(moment) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to, Label label) final;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from, Label label) final;
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) final;
  void miss(const Pending& message) final;
  void look_up() final;

 protected:
  [[nodiscard]] bool has_come() const { return started_ >= moment_.messages || now() >= moment_.time; }
  /// Called before every call once the moment has come.
  virtual void strike() = 0;

 private:
  void strike_if_due();

  Moment moment_;
  std::uint64_t started_ = 0;
};

/// Does nothing for a while, once.
class PausedCommunicator final : public StruckCommunicator {
 public:
  /// Lets so many seconds pass without anything happening.
  using Rest = std::function<void(double seconds)>;
  static void sleep(double seconds);

  /// In a simulation, where sleeping takes no time, `rest` waits for nothing: inner.wait_any({}, inner.now() +
  /// seconds).
  PausedCommunicator(Communicator& inner, const Moment& moment, double seconds, Rest rest = sleep);

 private:
  void strike() override;

  double seconds_;
  Rest rest_;
  bool has_rested_ = false;
};

/// Thrown by a dead client when the test is over.
class Killed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Falls silent: every call lasts until the test is over, and then throws Killed. It does not say that it gives up
/// either: the others have to find out by their time limit. What was received before may still be looked at.
class KilledCommunicator final : public StruckCommunicator {
 public:
  /// The test asks for a stop when it is over.
  KilledCommunicator(Communicator& inner, const Moment& moment, std::stop_token over);
  /// until_over returns when the test is over. In a simulation it must let the others' time pass.
  KilledCommunicator(Communicator& inner, const Moment& moment, std::function<void()> until_over);

  void give_up(bool bad_input, const char* text) noexcept override;

 private:
  void strike() override;

  std::function<void()> until_over_;
};

// ---------------------------------------------------------------------------------------------------------------------

/// Everything a network can do that clients must live with, together: messages are lost, late, overtaken and doubled.
class BadNetwork {
 public:
  /// probability: that a message is lost, or late, by about so many seconds. News are overtaken and doubled more often.
  BadNetwork(Communicator& inner, std::uint64_t seed, double seconds = 0.0005, double probability = 0.02)
      : dropped_(inner, {.retry = seconds, .probability = probability, .seed = seed}),
        delayed_(dropped_, {.least = 0, .most = seconds, .probability = probability, .seed = seed + 1}),
        reordered_(delayed_, {.probability = 0.3, .limit = seconds, .seed = seed + 2}),
        duplicated_(reordered_, {.probability = 0.3, .seed = seed + 3}) {}

  [[nodiscard]] Communicator& communicator() { return duplicated_; }

 private:
  DroppedCommunicator dropped_;
  DelayedCommunicator delayed_;
  ReorderedCommunicator reordered_;
  DuplicatedCommunicator duplicated_;
};

}  // namespace fedsinkhorn
