// Base of wrappers: forwards everything they do not change.
#pragma once

#include "comm/communicator.hpp"

namespace fedsinkhorn {

class ForwardingCommunicator : public Communicator {
 public:
  /// inner must outlive this.
  explicit ForwardingCommunicator(Communicator& inner) : inner_(inner) {}

  [[nodiscard]] std::size_t rank() const override { return inner_.rank(); }
  [[nodiscard]] std::size_t size() const override { return inner_.size(); }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    return inner_.start_send(data, to, label);
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    return inner_.start_receive(data, from, label);
  }
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) override {
    return inner_.wait_any(messages, until);
  }
  void miss(const Pending& message) override { inner_.miss(message); }
  void distrust(std::size_t client, const std::string& sent) override { inner_.distrust(client, sent); }
  void break_off(const std::string& line) override { inner_.break_off(line); }
  [[nodiscard]] double timeout() const override { return inner_.timeout(); }
  void look_up() override { inner_.look_up(); }
  [[nodiscard]] double now() const override { return inner_.now(); }
  [[nodiscard]] bool shares_clock() const override { return inner_.shares_clock(); }
  [[nodiscard]] bool clock_is_virtual() const override { return inner_.clock_is_virtual(); }
  [[nodiscard]] bool shares_process() const override { return inner_.shares_process(); }
  [[nodiscard]] std::size_t clients_on_machine() const override { return inner_.clients_on_machine(); }
  [[nodiscard]] double time_slice() const override { return inner_.time_slice(); }
  void worked(double entries) noexcept override { inner_.worked(entries); }
  void give_up(bool bad_input, const char* text) noexcept override { inner_.give_up(bad_input, text); }
  [[nodiscard]] bool tells_reasons() const override { return inner_.tells_reasons(); }
  void keep_to_root(bool keeps) override { inner_.keep_to_root(keeps); }
  void keep_to_server() override { inner_.keep_to_server(); }

 protected:
  [[nodiscard]] Communicator& inner() const { return inner_; }

 private:
  Communicator& inner_;
};

}  // namespace fedsinkhorn
