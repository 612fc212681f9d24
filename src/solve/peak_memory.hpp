// The largest resident set a solve is expected to reach, before it is started.
//
// memory_needs.hpp has a bound that is safe to refuse by; this is what will be measured, to about 10 % (n of 2,000 to
// 10,000, up to 8 clients). Not for 50 digits, devices or Newton's method: runs that method auto hands over to it need
// more. Pages of a mapped matrix count while they are resident. Under memory pressure the system takes them back, so a
// run may get by with less: the kernel and the vectors are what it needs.
#pragma once

#include <cstddef>
#include <string>

#include "fedsinkhorn/options.hpp"

namespace fedsinkhorn {

/// A solve before it is started, as far as memory depends on it.
struct MemoryQuestion {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t clients = 1;
  std::size_t dimension = 0;    ///< of points; 0: a cost matrix
  std::size_t held_bytes = 0;   ///< of a cost matrix that a process keeps in memory; 0: it is mapped row by row
  std::size_t entry_bytes = 8;  ///< per entry of the file
  bool symmetric = false;       ///< the costs; all-to-all and async then read their columns as rows
  Options options;              ///< on the CPU, with even slices
  int threads = 1;              ///< of each client
  bool one_process = true;      ///< clients are threads of one process; else each is a process
  double process_bytes = 0;     ///< of a process that has not read any problem yet: process_bytes_now()
};

/// In bytes. If clients are threads of one process, `process` is what is measured, else the others are.
struct PeakMemory {
  double client = 0;    ///< process of the client that needs most, other than a server that holds the kernel
  double server = 0;    ///< process of client 0 in a star; with server sums, of the one that adds up; else 0
  double process = 0;   ///< of all clients together
  std::string formula;  ///< of client 0, in symbols: n x m costs, c clients, N targets, process: process_bytes
};

/// Throws InputError if the options name something unknown.
[[nodiscard]] PeakMemory peak_memory_of(const MemoryQuestion& question);

}  // namespace fedsinkhorn
