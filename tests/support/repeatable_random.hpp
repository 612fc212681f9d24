// Random numbers of libsodium that are the same in every run, so that keys, pseudonyms and noise are.
#pragma once

#include <sodium.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "core/random.hpp"

namespace fedsinkhorn::testing {

/// This thread's place in them.
inline thread_local Random thread_random{0};

/// Called by the thread of a client before it draws: its numbers do not depend on what other threads draw.
inline void draw_as_client(std::size_t client) { thread_random = Random(1, client); }

/// While it lives, they are not random. No solve may be going on when it begins or ends.
class RepeatableRandom {
 public:
  RepeatableRandom() {
    if (sodium_init() < 0) throw std::runtime_error("no libsodium");  // draws when it is called first
    randombytes_set_implementation(&implementation());
  }
  ~RepeatableRandom() { randombytes_set_implementation(&randombytes_sysrandom_implementation); }
  RepeatableRandom(const RepeatableRandom&) = delete;
  RepeatableRandom& operator=(const RepeatableRandom&) = delete;

 private:
  static std::uint32_t number() { return static_cast<std::uint32_t>(thread_random.bits()); }
  static void fill(void* to, const std::size_t size) {
    auto* const bytes = static_cast<unsigned char*>(to);
    for (std::size_t done = 0; done < size; done += sizeof(std::uint64_t)) {
      const std::uint64_t bits = thread_random.bits();
      std::memcpy(bytes + done, &bits, std::min(size - done, sizeof bits));
    }
  }
  static randombytes_implementation& implementation() {
    static randombytes_implementation one = {
        [] { return "the same in every run"; }, number, nullptr, nullptr, fill, nullptr};
    return one;
  }
};

}  // namespace fedsinkhorn::testing
