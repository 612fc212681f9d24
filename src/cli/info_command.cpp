// fedsinkhorn info: describes this build and this machine.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "build_info.hpp"
#include "cli/commands.hpp"
#include "core/caches.hpp"
#include "core/memory.hpp"
#include "core/processors.hpp"
#include "device/devices.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"
#include "watch/watch_server.hpp"

namespace fedsinkhorn {
namespace {

template <class Entries>
std::string names(const Entries& entries) {
  std::string text;
  for (const auto& entry : entries) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  return text;
}

void print_info() {
  const auto line = [](const char* name, const std::string& value) { fmt::print("{:<12} {}\n", name, value); };
  line("version", build_info::kVersion);
  line("compiler", fmt::format("{}, {}", build_info::kCompiler, build_info::kBuildType));
  const std::vector<std::string> variants = cpu::simd_variants();
  const std::string used = cpu::simd("auto").name;
  line("simd", fmt::format("{} (best first){}", fmt::join(variants, ", "),
                           used == variants.front() ? "" : fmt::format("; {}={}", cpu::kForcedSimd, used)));
  line("caches", describe(caches()));
  line("threads", fmt::format("{} of {} cores", processors_allowed(), processors_online()));
  line("memory", fmt::format("{}, {} available", human_bytes(total_memory()), human_bytes(available_memory())));
  line("topologies", names(topologies()));
  line("methods", names(methods()));
  line("MPI", build_info::kMpi ? "yes" : "not in this build");
  line("live pages", serves_pages() ? "yes" : "not in this build");
  if (!build_info::kCuda) return line("CUDA", "not in this build");
  if (const std::string why_none = cuda::why_no_device(); !why_none.empty()) line("CUDA", why_none);
  for (const cuda::DeviceDescription& device : cuda::devices()) {
    line("CUDA",
         fmt::format("device {}: {}, compute capability {}.{}, {}, {}", device.index, device.name, device.major,
                     device.minor, human_bytes(device.memory),
                     device.supported ? human_bytes(cuda::free_memory(device.index)) + " free" : "not supported"));
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  app.add_subcommand("info", "Show version, compiler, instruction sets, memory and optional parts")
      ->callback(print_info);
}

}  // namespace fedsinkhorn
