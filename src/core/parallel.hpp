// The one place that starts threads for inner loops.
#pragma once

#include <cstddef>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace fedsinkhorn {

/// Calls body(chunk, thread) for every chunk in [0, chunks) on up to `threads` threads. Chunks are handed out as
/// threads become free, so a core that is busy elsewhere does not hold up the rest; results must therefore not depend
/// on which thread ran a chunk. If bodies throw, one of the exceptions is thrown again when all have ended.
template <class Body>
void parallel_chunks(int threads, std::size_t chunks, const Body& body) {
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

/// The half-open range of chunk `index` when `count` items are dealt evenly into `chunks`, in multiples of `grain`
/// (the last chunk takes the remainder).
struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
  [[nodiscard]] std::size_t size() const { return last - first; }
};
[[nodiscard]] inline Range chunk_range(std::size_t count, std::size_t chunks, std::size_t index,
                                       std::size_t grain = 1) {
  const std::size_t grains = (count + grain - 1) / grain;
  const std::size_t first = grains * index / chunks * grain;
  const std::size_t last = grains * (index + 1) / chunks * grain;
  return {first < count ? first : count, last < count ? last : count};
}

}  // namespace fedsinkhorn
