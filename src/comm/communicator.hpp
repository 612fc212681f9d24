// Messages between clients. A transport (threads of this process, MPI, ...) implements this interface; wrappers
// (counting, a group of clients) forward to another one. Everything above it is written once for all transports.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "comm/payload.hpp"

namespace fedsinkhorn {

/// Messages with the same sender and tag arrive in the order they were sent, unaffected by other tags. Tags are less
/// than kTags.
enum class Tag : int {
  control = 0,
  collective = 1,
  slice = 2,
  farewell = 3,
  news_u = 4,
  news_v = 5,
  last_words = 6,
  first_free = 16
};
inline constexpr int kTags = 1024;

/// News replace earlier news, so order matters less: on some networks one may overtake another or arrive twice. Sending
/// news is done only when the receiver has taken it. Waiting for that before sending more bounds the receiver's memory.
[[nodiscard]] constexpr bool is_news(Tag tag) {
  const int of_group = static_cast<int>(tag) % kTags;
  return of_group == static_cast<int>(Tag::news_u) || of_group == static_cast<int>(Tag::news_v);
}

/// A message's tag, kind and form; the same on both sides.
struct Label {
  Tag tag;
  Payload kind;
  Form form = Form::plain;
};

/// A message in flight.
class Pending {
 public:
  virtual ~Pending() = default;
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// Whether the buffer may be reused (send) or is filled (receive). Never waits. Throws std::runtime_error if the
  /// transport failed, and ClientLost if the message and the buffer differ in size (see distrust).
  [[nodiscard]] virtual bool done() = 0;
  /// The message of the layer below that this one wraps, if any; both are done together.
  [[nodiscard]] virtual Pending* below() { return nullptr; }
};

/// One client's endpoint. Used by one thread at a time; every client has its own.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;

  /// The buffer must stay alive and untouched until the message is done. Sizes may be zero; both sides give the same
  /// size. `to` and `from` are other clients.
  [[nodiscard]] virtual std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                            Label label) = 0;
  [[nodiscard]] virtual std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                               Label label) = 0;

  /// True as soon as one of the messages is done, false at `until` (see now). When another client gives up, throws at
  /// once: ClientFailed, or its InputError or ClientLost. Nothing can be sent or received after that.
  [[nodiscard]] virtual bool wait_any(std::span<Pending* const> messages, double until) = 0;
  /// Call when the time limit passed without this message. Finds out who does not answer; always throws ClientLost.
  virtual void miss(const Pending& message) = 0;
  /// Call when that client sent something impossible: its program is broken, of another version, or hostile. Tells the
  /// others; always throws ClientLost naming it. sent: as in "client 3 sent <a length of 1e18>". See from_peer.hpp.
  virtual void distrust(std::size_t client, const std::string& sent) = 0;
  /// Call when messages do not fit together and nobody can be named. Tells the others; always throws ClientLost with
  /// that line.
  virtual void break_off(const std::string& line) = 0;
  /// Seconds to wait for another client.
  [[nodiscard]] virtual double timeout() const = 0;
  /// For long computations without waiting: throws what wait_any would throw. Cheap.
  virtual void look_up() = 0;

  /// Seconds on a clock shared by all clients on this machine or in this simulation. In a simulation, time passes only
  /// in wait_any and worked(): a loop that only calls done() never ends.
  [[nodiscard]] virtual double now() const = 0;
  /// Whether all clients share that clock.
  [[nodiscard]] virtual bool shares_clock() const { return true; }
  /// Whether the clock is a simulation's, not real time.
  [[nodiscard]] virtual bool clock_is_virtual() const { return false; }
  /// Whether all clients are in this process and share its processors and memory.
  [[nodiscard]] virtual bool shares_process() const { return true; }
  /// Clients that compute on this machine at the same time, including this one.
  [[nodiscard]] virtual std::size_t clients_on_machine() const { return size(); }
  /// Seconds another client may have to wait for a processor before it can answer. 0 if each has its own, as in a
  /// simulation.
  [[nodiscard]] virtual double time_slice() const { return 0; }
  /// Reports that this client has processed that many matrix entries. Makes time pass in a simulation; otherwise it
  /// passes by itself. Called from destructors.
  virtual void worked(double /*entries*/) noexcept {}

  /// Whether the others may read why this client refuses its input (see comm/policy.hpp).
  [[nodiscard]] virtual bool tells_reasons() const { return true; }

  /// Tells the others that this client gives up; they will throw `text`. Does not throw or wait long.
  virtual void give_up(bool bad_input, const char* text) noexcept = 0;

  /// Whether clients other than client 0 may be unreachable (a star, a firewall). If so, notices go through client 0,
  /// which forwards them. All clients call this at the same point of the program.
  virtual void keep_to_root(bool /*keeps*/) {}
  /// The same with the last one, a server, in the place of client 0.
  virtual void keep_to_server() {}

  /// Returns when the message is done. Throws like wait_any and, if the time limit passes first, like miss.
  void wait(Pending& message) {
    if (message.done()) return;
    Pending* const one = &message;
    if (!wait_any({&one, 1}, now() + timeout())) miss(message);
  }
  void send(std::span<const std::byte> data, std::size_t to, Label label) { wait(*start_send(data, to, label)); }
  void receive(std::span<std::byte> data, std::size_t from, Label label) { wait(*start_receive(data, from, label)); }
};

}  // namespace fedsinkhorn
