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

/// Messages of one sender and one tag arrive in the order they were sent; those of other tags do not get in their way.
/// Tags are less than kTags.
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

/// News replace what was said before, so the order matters less: on some networks one may overtake another, or come
/// twice. To send one is done only when the other side has taken it, so that who waits for that before sending many
/// more does not fill anybody's memory.
[[nodiscard]] constexpr bool is_news(Tag tag) {
  const int of_group = static_cast<int>(tag) % kTags;
  return of_group == static_cast<int>(Tag::news_u) || of_group == static_cast<int>(Tag::news_v);
}

/// On which way a message travels, and what it is about. Both sides name the same.
struct Label {
  Tag tag;
  Payload kind;
};

/// A message under way.
class Pending {
 public:
  virtual ~Pending() = default;
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// Whether the buffer may be used again (sent), or is filled (received). Never waits. Throws std::runtime_error if
  /// the transport failed, and ClientLost if the message had another size than the buffer (see distrust).
  [[nodiscard]] virtual bool done() = 0;
  /// The message of the layer below that this one is done with, if it is a wrapper of one.
  [[nodiscard]] virtual Pending* below() { return nullptr; }
};

/// One client's end. Used by one thread at a time; every client has an object of its own.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual std::size_t rank() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;

  /// The buffer stays alive and untouched until the message is done. Sizes may be zero; both sides name the same one.
  /// `to` and `from` are other clients.
  [[nodiscard]] virtual std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                            Label label) = 0;
  [[nodiscard]] virtual std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                               Label label) = 0;

  /// True as soon as one of the messages is done, false at `until` (see now). Throws ClientFailed (or InputError, or
  /// ClientLost, if that was the reason) at once when another client has said that it gives up. After that, nothing
  /// more can be sent or received.
  [[nodiscard]] virtual bool wait_any(std::span<Pending* const> messages, double until) = 0;
  /// The time limit has passed without this message: finds out who no longer answers, and throws ClientLost, always.
  virtual void miss(const Pending& message) = 0;
  /// What that client sent cannot be: its program is broken, of another version, or hostile. Tells the others, and
  /// throws ClientLost naming it, always. sent: as in "client 3 sent <a length of 1e18>". See from_peer.hpp.
  virtual void distrust(std::size_t client, const std::string& sent) = 0;
  /// Seconds to wait for another client.
  [[nodiscard]] virtual double timeout() const = 0;
  /// For a client that computes for long without waiting: what wait_any would throw is thrown here. Cheap.
  virtual void look_up() = 0;

  /// Seconds on a clock that all clients of this machine, or of this simulation, share. In a simulation time passes in
  /// wait_any and worked() alone: a loop that merely asks done() would never end.
  [[nodiscard]] virtual double now() const = 0;
  /// Whether all clients have that clock.
  [[nodiscard]] virtual bool shares_clock() const { return true; }
  /// Whether it is a simulation's: not that of who waits for the result.
  [[nodiscard]] virtual bool clock_is_virtual() const { return false; }
  /// Whether all clients are in this process, and so share its processors and its memory.
  [[nodiscard]] virtual bool shares_process() const { return true; }
  /// Clients that compute on this machine at the same time, this one included.
  [[nodiscard]] virtual std::size_t clients_on_machine() const { return size(); }
  /// Seconds another client may have to wait for a processor before it can answer. 0 where each has one of its own, as
  /// in a simulation.
  [[nodiscard]] virtual double time_slice() const { return 0; }
  /// This client has computed with so many entries of a matrix. Time passes by itself, except in a simulation. Called
  /// from destructors.
  virtual void worked(double /*entries*/) noexcept {}

  /// Tells the others that this client gives up; `text` is what they will throw. Does not throw, does not wait long.
  virtual void give_up(bool bad_input, const char* text) noexcept = 0;

  /// Whether other clients may be out of reach, client 0 excepted (a star, a firewall): notices then go by way of
  /// client 0, which passes them on. All clients say so at the same point of the program.
  virtual void keep_to_root(bool /*keeps*/) {}

  /// Returns when the message is done. Throws like wait_any and, when the time limit passes first, like miss.
  void wait(Pending& message) {
    if (message.done()) return;
    Pending* const one = &message;
    if (!wait_any({&one, 1}, now() + timeout())) miss(message);
  }
  void send(std::span<const std::byte> data, std::size_t to, Label label) { wait(*start_send(data, to, label)); }
  void receive(std::span<std::byte> data, std::size_t from, Label label) { wait(*start_receive(data, from, label)); }
};

}  // namespace fedsinkhorn
