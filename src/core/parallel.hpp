// Inner loops on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/thread_pool.hpp"

namespace fedsinkhorn {

/// Creates the threads that loops of the calling thread will use. Throws InputError if the system refuses them.
inline void reserve_threads(int threads) {
  if (threads > 1) (void)ThreadPool::of_this_thread(static_cast<std::size_t>(threads));
}

/// Calls body(chunk, thread) for every chunk in [0, chunks) on up to `threads` threads, including the calling one.
/// thread < threads, and no two chunks run with the same thread number at the same time. Each thread begins with its
/// own share of consecutive chunks, the same in every loop of this shape, then takes chunks left in other shares, so
/// that a busy core does not hold up the rest. Results must not depend on which thread ran a chunk. If bodies throw,
/// one of the exceptions is rethrown after all have ended. A loop inside a body runs on its thread alone.
template <class Body>
void parallel_chunks(int threads, std::size_t chunks, const Body& body) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();  // the pool counts them in 32 bits
  if (threads <= 1 || chunks <= 1 || chunks > most || ThreadPool::is_at_work()) {
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk, std::size_t{0});
    return;
  }
  const std::size_t team = std::min(static_cast<std::size_t>(threads), chunks);
  const auto call = [](const void* closure, std::size_t chunk, std::size_t thread) {
    (*static_cast<const Body*>(closure))(chunk, thread);
  };
  ThreadPool::of_this_thread(static_cast<std::size_t>(threads))
      .run(team, static_cast<std::uint32_t>(chunks), {call, &body});
}

}  // namespace fedsinkhorn
