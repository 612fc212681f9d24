// What a client sends, in numbers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fedsinkhorn {

struct Sent {
  std::uint64_t bytes = 0;  ///< payloads; headers are not counted
  std::uint64_t messages = 0;

  [[nodiscard]] bool operator==(const Sent&) const = default;
  [[nodiscard]] Sent operator+(const Sent& other) const { return {bytes + other.bytes, messages + other.messages}; }
};

}  // namespace fedsinkhorn
