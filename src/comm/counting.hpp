// A wrapper that counts messages by phase of the solve and by kind.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "comm/forwarding.hpp"
#include "comm/stopwatch.hpp"

namespace fedsinkhorn {

/// The purpose of messages: agreeing on the problem; the rounds of the iteration; building kernels around new
/// potentials and measuring; costs and potentials at the end.
enum class Phase : std::size_t { setup, rounds, rebuilds, results };
inline constexpr std::size_t kPhases = 4;

/// Names of the phases, in order.
inline constexpr std::array<std::string_view, kPhases> kPhaseNames = {"setup", "rounds", "rebuilds", "results"};

/// Of one kind of payload.
struct Tally {
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages_sent = 0;
};

struct Departures {
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

struct Traffic {
  std::array<std::uint64_t, kPhases> bytes_sent{};
  std::array<std::uint64_t, kPhases> bytes_received{};
  std::array<std::uint64_t, kPhases> messages_sent{};
  std::array<Tally, kPayloads.size()> kinds{};
  /// What was sent, by phase, kind and form.
  std::array<std::array<std::array<Departures, 2>, kPayloads.size()>, kPhases> left{};

  [[nodiscard]] Tally& of(Payload kind) { return kinds[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const Tally& of(Payload kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};

/// Forwards everything. Payload bytes count when a message is started; those of received news when they arrive, since
/// receives are also posted for news that never come. The transport's framing and its rare control messages are not
/// counted. Time spent waiting and starting messages goes to `waiting`.
class CountingCommunicator final : public ForwardingCommunicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : ForwardingCommunicator(inner), waiting_(inner) {}

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override;
  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) override;

  void set_phase(Phase phase) { phase_ = phase; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  [[nodiscard]] double seconds() const { return waiting_.seconds(); }

 private:
  Phase phase_ = Phase::setup;
  Traffic traffic_;
  Stopwatch waiting_;
};

}  // namespace fedsinkhorn
