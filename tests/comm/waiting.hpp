// How long tests of transports wait, and for what.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/transports.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn::test {

using Ranks = std::vector<std::size_t>;

inline constexpr Seconds kAmple{120};      ///< no test should ever meet it
inline constexpr Seconds kVeryAmple{300};  ///< nor this, whatever a hostile client does
inline constexpr Seconds kShort{0.2};

inline void receive_a_number(Communicator& communicator, std::size_t from) {
  double number = 0;
  communicator.receive(std::as_writable_bytes(std::span(&number, 1)), from, on(Tag::first_free));
}

}  // namespace fedsinkhorn::test
