// Rules for what may leave a client.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "comm/forwarding.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {

/// A message about to be sent.
struct Departure {
  Payload kind;
  std::size_t bytes;
  std::size_t to;
};

/// One client's rule, asked before anything is sent.
class PayloadPolicy {
 public:
  virtual ~PayloadPolicy() = default;
  PayloadPolicy() = default;
  PayloadPolicy(const PayloadPolicy&) = delete;
  PayloadPolicy& operator=(const PayloadPolicy&) = delete;

  /// Throws InputError to refuse the message. That ends the solve, and the session, on all clients with that line.
  virtual void check(const Departure& message) = 0;
};

/// Everything may leave, as it is.
class OpenPolicy final : public PayloadPolicy {
 public:
  void check(const Departure& /*message*/) override {}
};

struct PolicyEntry {
  std::string_view name;
  std::string_view sentence;  ///< description for users
  std::function<std::unique_ptr<PayloadPolicy>()> make;
};

/// Forwards what its policy allows; everything until it has one.
class PolicedCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void obey(std::unique_ptr<PayloadPolicy> policy) { policy_ = std::move(policy); }

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    try {
      policy_->check({label.kind, data.size(), to});
    } catch (const InputError& refusal) {
      inner().give_up(true, refusal.marked().c_str());  // the others may be waiting for it
      throw;
    }
    return inner().start_send(data, to, label);
  }

 private:
  std::unique_ptr<PayloadPolicy> policy_ = std::make_unique<OpenPolicy>();
};

}  // namespace fedsinkhorn
