#include "machine_load.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace fedsinkhorn::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double used_by(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

MachineLoad::MachineLoad() : start_(now()) {}

MachineLoad::Used MachineLoad::now() {
  Used used;
  used.ours = used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN);
  // cpu  user nice system idle iowait irq softirq steal ..., in ticks
  std::ifstream file("/proc/stat");
  std::string label;
  file >> label;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  double value = 0;
  for (int field = 0; field < 8 && file >> value; ++field) {
    const bool idle = field == 3 || field == 4;
    used.total += value / ticks;
    if (!idle) used.all += value / ticks;
  }
  return used;
}

std::string MachineLoad::text() const {
  const Used end = now();
  const double total = end.total - start_.total;
  if (!(total > 0)) return {};
  const double others = (end.all - start_.all) - (end.ours - start_.ours);
  return fmt::format("others used {:.0f} % of the processors", 100 * std::clamp(others / total, 0.0, 1.0));
}

}  // namespace fedsinkhorn::bench
