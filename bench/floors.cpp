#include "floors.hpp"

#include <atomic>
#include <cstring>
#include <vector>

#include "core/buffer.hpp"
#include "core/parallel.hpp"
#include "core/range.hpp"
#include "core/stopwatch.hpp"

namespace fedsinkhorn::bench {
namespace {

/// Keeps the compiler from dropping work whose result nobody wants.
std::atomic<double> drain;

constexpr std::size_t kPieces = 64;

}  // namespace

void read_once(const cpu::Simd& simd, std::span<const double> memory, int threads) {
  parallel_chunks(threads, kPieces, [&](std::size_t piece, std::size_t) {
    const Range range = chunk_range(memory.size(), kPieces, piece, cpu::kRowPadding<double>);
    drain.store(simd.read.sum(memory.data() + range.first, range.size()), std::memory_order_relaxed);
  });
}

void exponentials(const cpu::Simd& simd, std::size_t count, int threads) {
  std::vector<double> arguments(1024);  // in the first-level cache
  for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = -20.0 * static_cast<double>(k) / 1024;
  parallel_chunks(threads, kPieces, [&](std::size_t, std::size_t) {
    drain = simd.read.exp_sum(arguments.data(), arguments.size(), count / kPieces / arguments.size() + 1);
  });
}

double fresh_write_seconds(std::size_t bytes, int threads) {
  const Timer timer;
  Buffer<unsigned char> memory(bytes);
  parallel_chunks(threads, kPieces, [&](std::size_t piece, std::size_t) {
    const Range range = chunk_range(bytes, kPieces, piece, 64);
    std::memset(memory.data() + range.first, 1, range.size());
  });
  drain = static_cast<double>(memory[bytes / 2]);
  return timer.seconds();
}

}  // namespace fedsinkhorn::bench
