// The one place that starts threads for inner loops.
#pragma once

#include <cstddef>
#include <exception>

#include "core/range.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace fedsinkhorn {

/// Calls body(chunk, thread) for every chunk in [0, chunks) on up to `threads` threads. Chunks are handed out as
/// threads become free, so a core that is busy elsewhere does not hold up the rest; results must therefore not depend
/// on which thread ran a chunk. If bodies throw, one of the exceptions is thrown again when all have ended.
template <class Body>
void parallel_chunks([[maybe_unused]] int threads, std::size_t chunks, const Body& body) {
#ifdef _OPENMP
  if (threads > 1 && chunks > 1) {
    std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) default(none) shared(chunks, body, failure)
    for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
      try {
        body(chunk, static_cast<std::size_t>(omp_get_thread_num()));
      } catch (...) {
#pragma omp critical(fedsinkhorn_parallel_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    return;
  }
#endif
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) body(chunk, std::size_t{0});
}

}  // namespace fedsinkhorn
