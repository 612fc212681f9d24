#include "comm/policy.hpp"

#include <fmt/format.h>

namespace fedsinkhorn {

void TablePolicy::check(const Departure& message) {
  const May may = rules_[static_cast<std::size_t>(message.kind)];
  if (may == May::plain || (may == May::masked && message.form == Form::masked)) return;
  throw InputError("`policy`", fmt::format("{} keeps messages of kind {} from leaving {}", name_, name_of(message.kind),
                                           may == May::masked ? "in plain" : "at all"));
}

std::unique_ptr<Pending> PolicedCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Label label) {
  if (policy_ == nullptr) return inner().start_send(data, to, label);
  try {
    policy_->check({label.kind, data.size(), to, label.form});
  } catch (const InputError& refusal) {
    inner().give_up(true, refusal.marked().c_str());  // the others may be waiting for it
    throw;
  }
  return inner().start_send(data, to, label);
}

void PolicedCommunicator::give_up(bool bad_input, const char* text) noexcept {
  inner().give_up(bad_input, tells_reasons() ? text : line_without_reason(rank()).c_str());
}

std::string line_without_reason(std::size_t client) {
  return fmt::format("client {0} cannot go on; the reason is not shared: see the standard error of client {0}", client);
}

}  // namespace fedsinkhorn
