// What transports have in common: no wait lasts forever, and if a client fails, the others are told.
//
// Besides ordinary messages, clients send each other notices on Tag::control, which are read while waiting:
//   "who is there?"  A client whose wait exceeds the time limit calls the roll. A client that hears this answers by
//                    calling it too, and will fail as well. A client not heard within 1.5 s is lost.
//   "I give up"      The end, and what to throw. A client that reaches a verdict sends it before throwing it, so that
//                    all clients report the same.
//
// If only client 0 can be reached by all (keep_to_root), the others talk only to it. It calls the roll for all of them
// and forwards what one of them says, which is marked for that. A client that does not hear client 0 considers it lost.
// A server (keep_to_server) takes the same part.
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

/// A transport's message, which knows its receiver or sender.
class PeerPending : public Pending {
 public:
  explicit PeerPending(std::size_t peer) : peer_(peer) {}
  [[nodiscard]] std::size_t peer() const { return peer_; }

 protected:
  /// For a message from any client, when it has arrived.
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
  void break_off(const std::string& line) final;
  [[nodiscard]] double timeout() const final { return Seconds(timeout_).count(); }
  void look_up() final;
  [[nodiscard]] double now() const final;
  [[nodiscard]] double time_slice() const final { return kTimeSlice; }
  void give_up(bool bad_input, const char* text) noexcept final;
  void keep_to_root(bool keeps) final {
    keeps_to_root_ = keeps;
    root_ = 0;
  }
  void keep_to_server() final {
    keeps_to_root_ = true;
    root_ = size() - 1;
  }

 protected:
  using Clock = std::chrono::steady_clock;

  explicit WatchedCommunicator(Seconds timeout);

  /// Starts listening for notices. Call at the end of the transport's constructor, when it can receive.
  void listen();
  /// Withdraws what listen() started. Call at the beginning of the transport's destructor.
  void stop_listening() noexcept;

  /// Like start_receive, for the first message from any client on Tag::control; peer() is known when it is done. One
  /// receive for all clients: the cost of listening does not depend on their number.
  [[nodiscard]] virtual std::unique_ptr<PeerPending> start_receive_control(std::span<std::byte> data) = 0;

  /// Passes the time between two checks for messages: returns at `until` or earlier, and at once if a message has
  /// arrived since it last returned. turn: how often it has been called during this wait.
  virtual void idle(std::uint64_t turn, Clock::time_point until) = 0;

  /// Whether this client has given up or thrown what another sent. Nothing more should be sent or received.
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  // About what schedulers give a thread while others wait for its processor.
  static constexpr double kTimeSlice = 1e-3;

  struct Notice;
  struct Incoming;
  struct Outgoing;

  void look_for_notices();
  void listen_again();
  /// Looks for notices if it has not done so recently. Throws if the roll has been called.
  void look_now_and_then(Clock::time_point now);
  /// Looks for notices until the condition holds; false if that takes longer than `limit`.
  template <class Condition>
  bool look_until(Clock::duration limit, const Condition& condition);
  void tell_all(const Notice& notice);
  void tell(const Notice& notice, std::size_t client);
  /// Whether this client may send notices to that one.
  [[nodiscard]] bool reaches(std::size_t client) const { return !keeps_to_root_ || rank() == root_ || client == root_; }
  [[noreturn]] void call_the_roll(const Pending* waited_for);
  /// The same if client 0 calls it: waits for its verdict.
  [[noreturn]] void answer_the_root(const Pending* waited_for);
  [[noreturn]] void end_without_exchange(const Pending* waited_for);
  [[noreturn]] void end_with(const std::string& line, std::vector<std::size_t> lost);

  Clock::duration timeout_;
  Clock::time_point next_look_{};
  std::unique_ptr<Incoming> incoming_;
  std::vector<std::unique_ptr<Outgoing>> outgoing_;
  std::vector<bool> heard_;  // clients that have called the roll
  bool keeps_to_root_ = false;
  std::size_t root_ = 0;
  bool roll_is_called_ = false;
  bool is_over_ = false;
};

}  // namespace fedsinkhorn
