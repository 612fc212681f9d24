// A communicator of one client, who has nobody to talk to.
#pragma once

#include <stdexcept>

#include "comm/communicator.hpp"

namespace fedsinkhorn {

class Alone final : public Communicator {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> /*data*/, std::size_t /*to*/,
                                                    Tag /*tag*/) override {
    throw std::logic_error("Alone: there is nobody to send to");
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> /*data*/, std::size_t /*from*/,
                                                       Tag /*tag*/) override {
    throw std::logic_error("Alone: there is nobody to receive from");
  }
  void wait(Pending& /*message*/) override {}
  void give_up(bool /*bad_input*/, const char* /*text*/) noexcept override {}
};

}  // namespace fedsinkhorn
