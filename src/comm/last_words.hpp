// What clients that are left have to say to each other after one was lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// After ClientLost nothing can be exchanged any more but this: that a client has done what it had to. Who waits for it
/// may then end the process, which under mpirun ends all of them. Lives until nothing more is done with the
/// communicator. Nothing here throws: a client that cannot be told, or is not heard, is done without.
class LastWords {
 public:
  explicit LastWords(Communicator& communicator) : communicator_(communicator) {}

  void tell_done(std::size_t client) noexcept;
  /// Returns when all of them are done, or at the limit.
  void await_done(std::span<const std::size_t> clients, std::chrono::milliseconds limit) noexcept;

 private:
  struct Message {
    std::byte word{};
    std::unique_ptr<Pending> pending;
  };
  void wait(std::span<Message* const> messages, std::chrono::milliseconds limit) const;

  Communicator& communicator_;
  std::deque<Message> messages_;  // those that never came to an end, too: their buffers are still in use
};

}  // namespace fedsinkhorn
