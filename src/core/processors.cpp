#include "core/processors.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace fedsinkhorn {

int processors_online() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

int processors_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more than 1024 processors; all are then assumed available.
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors_online();
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace fedsinkhorn
