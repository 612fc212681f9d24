// Last messages between the remaining clients after one was lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

/// After ClientLost, clients can only tell each other that they have finished. A client that has waited for this may
/// end its process, which under mpirun ends all of them. Must live until the communicator is no longer used. Nothing
/// here throws: a client that cannot be told or is not heard is ignored.
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
  std::deque<Message> messages_;  // including unfinished ones: their buffers are still in use
};

}  // namespace fedsinkhorn
