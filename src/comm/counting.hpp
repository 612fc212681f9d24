// A wrapper that counts what passes through it, by phase of the solve.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "comm/communicator.hpp"
#include "core/stopwatch.hpp"

namespace fedsinkhorn {

/// What messages are for: agreeing on the problem; the rounds of the iteration; building kernels around new potentials,
/// and measuring; costs and potentials at the end.
enum class Phase : std::size_t { setup, rounds, rebuilds, results };
inline constexpr std::size_t kPhases = 4;

struct Traffic {
  std::array<std::uint64_t, kPhases> bytes_sent{};
  std::array<std::uint64_t, kPhases> bytes_received{};
  std::array<std::uint64_t, kPhases> messages_sent{};
};

/// Forwards everything. Payload bytes are counted when a message is started; the transport's own framing is not, nor
/// are the rare control messages below it. Time spent in wait and in starting messages goes to `waiting`.
class CountingCommunicator final : public Communicator {
 public:
  /// The inner one must outlive this.
  explicit CountingCommunicator(Communicator& inner) : inner_(inner) {}

  [[nodiscard]] std::size_t rank() const override { return inner_.rank(); }
  [[nodiscard]] std::size_t size() const override { return inner_.size(); }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to, Tag tag) override;
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from, Tag tag) override;
  void wait(Pending& message) override;
  void give_up(bool bad_input, const char* text) noexcept override { inner_.give_up(bad_input, text); }

  void set_phase(Phase phase) { phase_ = phase; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  [[nodiscard]] double seconds() const { return waiting_.seconds(); }

 private:
  Communicator& inner_;
  Phase phase_ = Phase::setup;
  Traffic traffic_;
  Stopwatch waiting_;
};

}  // namespace fedsinkhorn
