// Values drawn from the laws of a scenario, the same on every machine.
#pragma once

#include <cstdint>
#include <optional>

#include "core/random.hpp"
#include "fedsinkhorn/scenario.hpp"

namespace fedsinkhorn {

/// The random numbers of one message or one stretch of work. Many need none, and making a generator takes longer than
/// everything else about a message, so it is made for the first number.
class Draws {
 public:
  /// See Random.
  Draws(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Finite. Positive if all values of the law are.
  [[nodiscard]] double from(const Law& law);
  /// The extra seconds: 0 for most messages.
  [[nodiscard]] double from(const Lateness& late);

 private:
  [[nodiscard]] Random& random() { return random_ ? *random_ : random_.emplace(seed_, stream_); }

  std::uint64_t seed_;
  std::uint64_t stream_;
  std::optional<Random> random_;
};

}  // namespace fedsinkhorn
