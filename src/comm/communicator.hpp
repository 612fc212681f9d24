// Messages between clients. A transport (threads of this process, MPI, ...) implements this interface; wrappers
// (counting, a group of clients) forward to another one. Everything above it is written once for all transports.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace fedsinkhorn {

/// Messages of one sender and one tag arrive in the order they were sent; those of other tags do not get in their way.
/// Tags are less than 1024.
enum class Tag : int { control = 0, collective = 1, slice = 2, first_free = 16 };

/// A message under way.
class Pending {
 public:
  virtual ~Pending() = default;
  Pending() = default;
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  /// Whether the buffer may be used again (sent), or is filled (received). Never waits. Throws std::runtime_error if
  /// the transport failed or the message had another size than the buffer.
  [[nodiscard]] virtual bool done() = 0;
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
                                                            Tag tag) = 0;
  [[nodiscard]] virtual std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                               Tag tag) = 0;

  /// Returns when the message is done. Throws ClientLost when the time limit passes first, naming the clients that no
  /// longer answer, and ClientFailed (or InputError, if that was the reason) at once when another client has said that
  /// it gives up. After that, nothing more can be sent or received.
  virtual void wait(Pending& message) = 0;

  /// Tells the others that this client gives up; `text` is what they will throw. Does not throw, does not wait long.
  virtual void give_up(bool bad_input, const char* text) noexcept = 0;

  void send(std::span<const std::byte> data, std::size_t to, Tag tag) { wait(*start_send(data, to, tag)); }
  void receive(std::span<std::byte> data, std::size_t from, Tag tag) { wait(*start_receive(data, from, tag)); }
};

}  // namespace fedsinkhorn
