// What all transports have in common: waiting does not last for ever, and no client is left alone when another fails.
//
// Beside the messages proper, clients send each other notices on Tag::control, which are read while waiting:
//   "who is there?"  A client whose wait takes longer than the time limit calls the roll. Whoever hears that answers by
//                    calling it too, and will fail as well. Who is not heard within a second and a half is lost.
//   "I give up"      The end, and what to throw. Whoever comes to a verdict sends it before throwing it, so that all
//                    clients say the same.
//
// Where only client 0 can be reached by all (keep_to_root), the others talk to it alone. It calls the roll for all of
// them and passes on what one of them says. Whoever does not hear it takes it for lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/transports.hpp"

namespace fedsinkhorn {

/// A transport's message, which knows whom it goes to or comes from.
class PeerPending : public Pending {
 public:
  explicit PeerPending(std::size_t peer) : peer_(peer) {}
  [[nodiscard]] std::size_t peer() const { return peer_; }

 protected:
  /// For a message from anybody, when it has come.
  void set_peer(std::size_t peer) { peer_ = peer; }

 private:
  std::size_t peer_;
};

class WatchedCommunicator : public Communicator {
 public:
  ~WatchedCommunicator() override;

  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) final;
  void miss(const Pending& message) final;
  void distrust(std::size_t client, const std::string& sent) final;
  [[nodiscard]] double timeout() const final { return Seconds(timeout_).count(); }
  void look_up() final;
  [[nodiscard]] double now() const final;
  [[nodiscard]] double time_slice() const final { return kTimeSlice; }
  void give_up(bool bad_input, const char* text) noexcept final;
  void keep_to_root(bool keeps) final { keeps_to_root_ = keeps; }

 protected:
  using Clock = std::chrono::steady_clock;

  explicit WatchedCommunicator(Seconds timeout);

  /// Starts listening to notices. For the end of the transport's constructor, when it is able to receive.
  void listen();
  /// Withdraws what listen() began. For the beginning of the transport's destructor.
  void stop_listening() noexcept;

  /// Like start_receive, of whatever comes first on Tag::control; its peer() is known when it is done. One for all
  /// clients, so that listening costs the same however many there are.
  [[nodiscard]] virtual std::unique_ptr<PeerPending> start_receive_control(std::span<std::byte> data) = 0;

  /// Lets time pass between two looks at messages: returns at `until`, or earlier, and at once if a message has come in
  /// since it last returned. turn: how many times it has been called during this wait.
  virtual void idle(std::uint64_t turn, Clock::time_point until) = 0;

  /// Whether this client has given up, or thrown what another sent. Nothing more should be sent or received.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  // Of the order of what schedulers give a thread while others want its processor.
  static constexpr double kTimeSlice = 1e-3;

  struct Notice;
  struct Incoming;
  struct Outgoing;

  void look_for_notices();
  void listen_again();
  /// The same if it has not been done lately. Throws if the roll has been called.
  void look_now_and_then(Clock::time_point now);
  /// Looks for notices until the condition holds; false if that takes longer than `limit`.
  template <class Condition>
  bool look_until(Clock::duration limit, const Condition& condition);
  void tell_all(const Notice& notice);
  void tell(const Notice& notice, std::size_t client);
  /// Whether this client may send notices to that one.
  [[nodiscard]] bool reaches(std::size_t client) const { return !keeps_to_root_ || rank() == 0 || client == 0; }
  [[noreturn]] void call_the_roll(const Pending* waited_for);
  /// The same where client 0 calls it: waits for its verdict.
  [[noreturn]] void answer_the_root(const Pending* waited_for);
  [[noreturn]] void end_without_exchange(const Pending* waited_for);
  [[noreturn]] void end_with(const std::string& line, std::vector<std::size_t> lost);

  Clock::duration timeout_;
  Clock::time_point next_look_{};
  std::unique_ptr<Incoming> incoming_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<bool> heard_;  // who has called the roll
  bool keeps_to_root_ = false;
  bool roll_is_called_ = false;
  bool is_over_ = false;
};

}  // namespace fedsinkhorn
