#include "core/memory.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

namespace fedsinkhorn {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> kibibytes_in(const char* path, const std::string& field) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::uint64_t kibibytes = 0;
    if (words >> name >> kibibytes && name == field + ":") return kibibytes * 1024;
  }
  return std::nullopt;
}

// Reads a file with one number; "max" (no limit) and a missing file give nothing.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Control groups nest: the tightest limit up the hierarchy applies.
std::uint64_t control_group_leaves() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::uint64_t least = kUnlimited;
  while (std::getline(file, line)) {
    if (!line.starts_with("0::")) continue;
    std::string group = line.substr(3);
    while (true) {
      const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group);
      const auto limit = number_in(folder + "/memory.max");
      const auto used = number_in(folder + "/memory.current");
      if (limit && used) least = std::min(least, *limit > *used ? *limit - *used : 0);
      const auto slash = group.rfind('/');
      if (group.empty() || group == "/" || slash == std::string::npos) break;
      group = slash == 0 ? "/" : group.substr(0, slash);
    }
  }
  return least;
}

std::uint64_t address_space_leaves() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const auto pages = number_in("/proc/self/statm").value_or(0);
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

std::uint64_t available_memory() {
  return std::min({kibibytes_in("/proc/meminfo", "MemAvailable").value_or(kUnlimited), control_group_leaves(),
                   address_space_leaves()});
}

std::uint64_t total_memory() { return kibibytes_in("/proc/meminfo", "MemTotal").value_or(0); }

std::uint64_t peak_memory() { return kibibytes_in("/proc/self/status", "VmHWM").value_or(0); }

void forget_peak_memory() {
  malloc_trim(0);  // what is free and still held would count
  std::ofstream file("/proc/self/clear_refs");
  file << "5\n";
}

double process_bytes_now() { return static_cast<double>(kibibytes_in("/proc/self/status", "VmRSS").value_or(0)); }

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array units = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace fedsinkhorn
