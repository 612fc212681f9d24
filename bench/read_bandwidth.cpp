#include "read_bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include "core/buffer.hpp"
#include "core/stopwatch.hpp"
#include "floors.hpp"

namespace fedsinkhorn::bench {

void run_reading_child(const std::string& arguments) {
  using Clock = std::chrono::system_clock;
  std::size_t bytes = 0;
  double start = 0;
  double seconds = 0;
  if (std::sscanf(arguments.c_str(), "%zu,%lf,%lf", &bytes, &start, &seconds) != 3 || bytes == 0) {
    throw std::runtime_error("--reading " + arguments + ": not bytes,start,seconds");
  }
  Buffer<double> memory(cpu::padded<double>(bytes / sizeof(double) + 1));
  std::ranges::fill(memory.span(), 1.0);
  const cpu::Simd& simd = cpu::simd("auto");
  const Clock::time_point begin{std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(start))};
  if (Clock::now() > begin) throw std::runtime_error("--reading: the others have started already");
  std::this_thread::sleep_until(begin);
  const Timer timer;
  double reads = 0;
  do {
    read_once(simd, memory.span(), 1);
    ++reads;
  } while (timer.seconds() < seconds);
  fmt::print("{}\n", reads * static_cast<double>(memory.size() * sizeof(double)) / timer.seconds());
}

}  // namespace fedsinkhorn::bench
