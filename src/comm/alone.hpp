// Communicator of a single client, which sends no messages.
#pragma once

#include <stdexcept>

#include "comm/communicator.hpp"
#include "core/stopwatch.hpp"

namespace fedsinkhorn {

class Alone final : public Communicator {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t size() const override { return 1; }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> /*data*/, std::size_t /*to*/,
                                                    Label /*label*/) override {
    nobody();
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> /*data*/, std::size_t /*from*/,
                                                       Label /*label*/) override {
    nobody();
  }
  [[nodiscard]] bool wait_any(std::span<Pending* const> /*messages*/, double /*until*/) override { nobody(); }
  void miss(const Pending& /*message*/) override { nobody(); }
  void distrust(std::size_t /*client*/, const std::string& /*sent*/) override { nobody(); }
  void break_off(const std::string& /*line*/) override { nobody(); }
  [[nodiscard]] double timeout() const override { return 0; }
  void look_up() override {}
  [[nodiscard]] double now() const override { return seconds_now(); }
  void give_up(bool /*bad_input*/, const char* /*text*/) noexcept override {}

 private:
  [[noreturn]] static void nobody() { throw std::logic_error("Alone: there is nobody to talk to"); }
};

}  // namespace fedsinkhorn
