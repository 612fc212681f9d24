// Rules for what may leave a client.
#pragma once

#include <array>
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
  Form form = Form::plain;
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
  /// Whether the others may read why this client refuses its input. The reason may contain names of files and values.
  [[nodiscard]] virtual bool tells_reasons() const { return true; }
};

/// How payloads of a kind may leave. What may leave in plain may also leave masked.
enum class May : unsigned char { never, masked, plain };
/// By kind.
using PayloadRules = std::array<May, kPayloads.size()>;

/// Follows a table. A kind that is not in it never leaves.
class TablePolicy final : public PayloadPolicy {
 public:
  TablePolicy(std::string_view name, const PayloadRules& rules, bool tells_reasons)
      : name_(name), rules_(rules), tells_reasons_(tells_reasons) {}

  void check(const Departure& message) override;
  [[nodiscard]] bool tells_reasons() const override { return tells_reasons_; }

 private:
  std::string_view name_;
  PayloadRules rules_;
  bool tells_reasons_;
};

/// Everything may leave, as it is. There is no need for keys.
inline constexpr PayloadRules kOpen = {May::plain, May::plain, May::plain, May::plain, May::plain, May::plain,
                                       May::plain, May::plain, May::plain, May::never, May::never};
/// Data leaves in sums alone: options, shapes, error texts (without reasons), control messages and public keys are not
/// data.
inline constexpr PayloadRules kSums = {May::plain,  May::plain, May::masked, May::masked, May::masked, May::masked,
                                       May::masked, May::plain, May::plain,  May::plain,  May::never};
/// Nothing about data leaves but releases.
[[nodiscard]] constexpr PayloadRules releases_alone(May release, May keys) {
  return {May::plain, May::plain, May::never, May::never, May::never, May::never,
          May::never, May::plain, May::plain, keys,       release};
}

struct PolicyEntry {
  std::string_view name;
  std::string_view sentence;  ///< description for users
  std::function<std::unique_ptr<PayloadPolicy>()> make;
  PayloadRules rules = kOpen;   ///< for those who explain it
  bool adds_securely = false;   ///< numbers of clients are combined by SecureSums
  bool keeps_apart = false;     ///< results about a client's rows stay with it
  bool asks_mechanism = false;  ///< what may leave is up to the mechanism (see policy_of)
};

/// Forwards what its policy allows; everything until it has one.
class PolicedCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  void obey(std::unique_ptr<PayloadPolicy> policy) { policy_ = std::move(policy); }

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override;
  [[nodiscard]] bool tells_reasons() const override { return policy_ == nullptr || policy_->tells_reasons(); }
  void give_up(bool bad_input, const char* text) noexcept override;

 private:
  std::unique_ptr<PayloadPolicy> policy_;
};

/// What the others are told if reasons stay with a client.
[[nodiscard]] std::string line_without_reason(std::size_t client);

}  // namespace fedsinkhorn
