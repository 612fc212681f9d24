#include "machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/caches.hpp"
#include "core/memory.hpp"
#include "core/processors.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::string name = "unknown";
  std::string family;
  std::string model;
  while (std::getline(file, line) && !line.empty()) {  // the first processor's lines end with an empty one
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find('\t'));
    const std::string value = line.substr(colon + 2);
    if (key == "model name") name = value;
    if (key == "cpu family") family = value;
    if (key == "model") model = value;
  }
  // Virtual machines hide the name ("AMD EPYC Processor"), seldom the family and model.
  return family.empty() ? name : fmt::format("{} (family {}, model {})", name, family, model);
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : "unknown";
}

std::string forced_by(const char* variable) {
  const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here writes it
  return value == nullptr || *value == '\0' ? "" : fmt::format(", by {}={}", variable, value);
}

}  // namespace

nlohmann::ordered_json describe_machine() {
  return {
      {"processor", fmt::format("{}; {} of {} to run on", processor(), processors_allowed(), processors_online())},
      {"caches", describe(caches()) + forced_by(kForcedCaches)},
      {"simd", fmt::format("{} of {}{}", cpu::simd("auto").name, fmt::join(cpu::simd_variants(), ", "),
                           forced_by(cpu::kForcedSimd))},
      {"huge pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
      {"memory", fmt::format("{}, {} available", human_bytes(total_memory()), human_bytes(available_memory()))},
  };
}

}  // namespace fedsinkhorn::bench
