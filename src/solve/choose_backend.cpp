#include "solve/choose_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "comm/agreement.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "cost/device_input.hpp"
#include "solve/memory_needs.hpp"

namespace fedsinkhorn {
namespace {

/// With fewer entries, a round on the CPU takes less time than launching it on a device, sending v and receiving u.
constexpr double kEntriesWorthADevice = 4e6;

bool is_for_devices_alone(Precision precision) {
  switch (precision) {
    case Precision::bfloat16:
    case Precision::tf32: return true;
    case Precision::float64:
    case Precision::float32:
    case Precision::mixed:
    case Precision::digits50: break;
  }
  return false;
}

bool wants_devices(const Options& options) {
  return options.backend == "cuda" || is_for_devices_alone(options.precision);
}

/// Targets are one dimension of a CUDA grid, which is limited to this size.
constexpr std::size_t kMostTargets = 65535;

/// The given option that devices do not support; empty if there is none.
std::string beyond_devices(const Options& options) {
  if (options.precision == Precision::digits50) return "`precision` 50";
  if (options.stabilization == Stabilization::log) return "`stabilization` log";
  return "";
}

const KernelEntry& kernel_of(const Options& options) { return kernels().find(options.kernel.text(), "`kernel`"); }

[[noreturn]] void refuse_precision(const KernelEntry& kernel, const KernelOnBackend& there, Precision precision) {
  switch (precision) {
    case Precision::bfloat16:
      throw InputError("`precision`", "bfloat16 is for kernels that are stored",
                       "use `kernel` dense, or tf32 for points");
    case Precision::tf32:
      throw InputError("`precision`", "tf32 is for kernels computed from points",
                       "add `kernel` online, or use bfloat16");
    case Precision::float64:
    case Precision::float32:
    case Precision::mixed:
    case Precision::digits50: break;
  }
  std::vector<std::string_view> names;
  for (const Precision one : there.precisions) names.push_back(name_of(one));
  throw InputError(
      "`precision`",
      fmt::format("{} is not for `kernel` {} on `backend` {}", name_of(precision), kernel.name, there.backend),
      "use " + alternatives(names));
}

/// Checks that the backend has the kernel and the kernel the precision. 50 digits and the log domain use no kernel.
void check_kernel(const Options& options) {
  const KernelEntry& kernel = kernel_of(options);
  if (!beyond_devices(options).empty()) return;
  const std::string_view backend = wants_devices(options) ? "cuda" : "cpu";
  const KernelOnBackend* there = kernel.on(backend);
  if (there == nullptr) {
    throw InputError("`kernel`", fmt::format("{} is not for `backend` {}", kernel.name, backend),
                     kernel.backends.empty() ? "use dense or online"
                                             : fmt::format("use `backend` {}", kernel.backends.front().backend));
  }
  if (!there->has(options.precision)) refuse_precision(kernel, *there, options.precision);
}

void check_device_precision(const Options& options) {
  const std::string precision(name_of(options.precision));
  const KernelEntry& kernel = kernel_of(options);
  const KernelOnBackend* there = kernel.on("cuda");
  if (there != nullptr && !there->has(options.precision)) refuse_precision(kernel, *there, options.precision);
  const std::string_view missing = backends().find("cuda", "`backend`").missing;
  if (options.backend == "cpu" || !missing.empty()) {
    throw InputError(
        "`precision`",
        precision + " is for `backend` cuda" + (missing.empty() ? "" : ", and this is " + std::string(missing)),
        "use float32 or mixed");
  }
}

std::string numbers_of(const std::vector<cuda::DeviceDescription>& devices) {
  std::string text;
  for (const cuda::DeviceDescription& device : devices) {
    if (device.supported) text += fmt::format("{}{}", text.empty() ? "" : ", ", device.index);
  }
  return text;
}

/// on_machine: rank among the clients on this machine that hold costs.
struct PlaceOnMachine {
  std::size_t on_machine = 0;
  bool all_can = true;
};

PlaceOnMachine place_of(const Collectives& clients, bool holds_costs, bool can) {
  const std::array<double, 3> own = {pseudonym(clients, machine_name()), holds_costs ? 1.0 : 0.0,
                                     can || !holds_costs ? 1.0 : 0.0};
  const std::vector<double> all = clients.of(Payload::shape).allgather_numbers(own);
  PlaceOnMachine place;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const double* at = all.data() + k * own.size();
    const bool holds = from_peer(clients, k).truth(at[1], "an answer to whether it holds costs");
    if (k < clients.rank() && at[0] == own[0] && holds) ++place.on_machine;
    place.all_can = from_peer(clients, k).truth(at[2], "an answer to whether it has a device") && place.all_can;
  }
  return place;
}

/// The device where the costs lie, if they lie on one of these; else clients take them in turn.
const cuda::DeviceDescription& device_among(const std::vector<cuda::DeviceDescription>& usable, const CostInput& costs,
                                            std::size_t turn) {
  if (const DeviceCostMatrix* given = costs.device_matrix()) {
    const auto is_theirs = [&](const cuda::DeviceDescription& device) { return device.index == given->device; };
    const auto theirs = std::ranges::find_if(usable, is_theirs);
    if (theirs != usable.end()) return *theirs;
  }
  return usable[turn % usable.size()];
}

/// A number that is almost certainly unique to the device, across machines; 0: none.
double device_number(const Collectives& clients, const cuda::DeviceDescription& device) {
  return pseudonym(clients, machine_name() + " " + device.address);
}

/// The needs of all clients that share the device. own_device: its number here; -1: none.
DeviceNeeds needs_of_all(const Collectives& clients, const Options& options, const CheckedProblem& problem,
                         double device, int own_device) {
  ClientShape shape = shape_to_tell(clients, problem);
  if (!shape.whole_columns && piece_on_device(problem.block(), own_device)) shape.entry_bytes = 0;
  const auto bytes = [&](Precision precision, const KernelName& kernel) {
    Options changed = options;
    changed.backend = "cuda";
    changed.precision = precision;
    changed.kernel = kernel;
    return kernel_bytes_for(changed, shape, 1);
  };
  const Precision unstored = options.precision == Precision::bfloat16 ? Precision::tf32 : options.precision;
  const std::array<double, 5> own = {device, bytes(options.precision, options.kernel),
                                     bytes(Precision::mixed, KernelKind::dense),
                                     bytes(Precision::bfloat16, KernelKind::dense),
                                     problem.costs_from_points ? bytes(unstored, KernelKind::online) : 0};
  const std::vector<double> all = clients.of(Payload::shape).allgather_numbers(own);
  DeviceNeeds sum;
  for (std::size_t client = 0; client < clients.size(); ++client) {
    const double* said = all.data() + client * own.size();
    const auto need = [&](std::size_t i) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      return from_peer(clients, client).number(said[i], 0, infinity, "a need of a device's memory");
    };
    if (said[0] != device) continue;
    sum.asked += need(1);
    sum.mixed += need(2);
    sum.bfloat16 += need(3);
    sum.online += need(4);
  }
  if (options.kernel == KernelKind::online) sum.mixed = sum.bfloat16 = 0;
  sum.online_as_tf32 = unstored != options.precision;
  return sum;
}

}  // namespace

void check_backend(const Options& options) {
  (void)backends().find_available(options.backend, "`backend`", "use cpu or auto");
  if (is_for_devices_alone(options.precision)) check_device_precision(options);
  if (const std::string beyond = beyond_devices(options); wants_devices(options) && !beyond.empty()) {
    const bool by_name = options.backend == "cuda";
    throw InputError(by_name ? "`backend`" : "`precision`",
                     fmt::format("{} does not go with {}", by_name ? "cuda" : name_of(options.precision), beyond),
                     by_name ? "use cpu or auto" : "use float64");
  }
  if (!options.devices.empty() && options.backend == "cpu") {
    throw InputError("`devices`", "the backend is cpu", "use `backend` cuda, or leave it out");
  }
  check_kernel(options);
}

std::vector<cuda::DeviceDescription> usable_devices(const std::vector<int>& wanted,
                                                    const std::vector<cuda::DeviceDescription>& found,
                                                    const std::string& why_none) {
  std::vector<cuda::DeviceDescription> usable;
  if (wanted.empty()) {
    std::copy_if(found.begin(), found.end(), std::back_inserter(usable),
                 [](const cuda::DeviceDescription& device) { return device.supported; });
    return usable;
  }
  for (const int index : wanted) {
    const auto device = std::find_if(found.begin(), found.end(), [index](const auto& d) { return d.index == index; });
    if (device != found.end() && device->supported) {
      usable.push_back(*device);
      continue;
    }
    const std::string reason = device == found.end()
                                   ? fmt::format("there is no device {}", index)
                                   : fmt::format("device {} ({}) has compute capability {}.{}, which is not supported",
                                                 index, device->name, device->major, device->minor);
    throw InputError("`devices`", reason, why_none.empty() ? "choose from " + numbers_of(found) : why_none);
  }
  return usable;
}

void check_costs(const KernelEntry& kernel, std::string_view backend, const CostInput& costs) {
  const KernelOnBackend* there = kernel.on(backend);
  if (there == nullptr || there->can_take(costs)) return;
  throw InputError("`kernel`", fmt::format("{} on `backend` {} needs {}", kernel.name, backend, there->needs),
                   backend == "cpu" ? "use dense" : "use dense, or `backend` cpu");
}

void require_devices(const Collectives& clients, const CostInput& costs, const Options& options, bool holds_costs) {
  if (!wants_devices(options) && options.devices.empty()) return;
  agree(clients, [&] {
    if (!holds_costs) return;
    if (wants_devices(options)) check_costs(kernel_of(options), "cuda", costs);
    const std::string why_none = cuda::why_no_device();
    if (!options.devices.empty()) (void)usable_devices(options.devices, cuda::devices(), why_none);
    if (!wants_devices(options) || why_none.empty()) return;
    if (options.backend == "cuda") throw InputError("`backend`", why_none, "use cpu or auto");
    throw InputError("`precision`",
                     fmt::format("{} is for `backend` cuda, and {}", name_of(options.precision), why_none),
                     "use float32 or mixed");
  });
}

void require_device_memory(const cuda::DeviceDescription& device, std::uint64_t free_memory, const DeviceNeeds& needs) {
  const auto free = static_cast<double>(free_memory);
  if (needs.asked <= free) return;
  std::string remedy;
  const auto suggest = [&](const char* flag, double bytes) {
    if (bytes == 0 || bytes >= needs.asked || bytes > free) return;
    remedy += fmt::format("{}{} needs {}", remedy.empty() ? "" : ", ", flag, human_bytes(whole_bytes(bytes)));
  };
  suggest("`precision` mixed", needs.mixed);
  suggest("`precision` bfloat16", needs.bfloat16);
  suggest(needs.online_as_tf32 ? "`kernel` online `precision` tf32" : "`kernel` online", needs.online);
  throw InputError("memory",
                   fmt::format("this solve needs {} ({} bytes) on device {} ({}), where {} is free",
                               human_bytes(whole_bytes(needs.asked)), whole_bytes(needs.asked), device.index,
                               device.name, human_bytes(free_memory)),
                   remedy.empty() ? "use fewer rows, columns or targets, more devices, or `backend` cpu" : remedy);
}

Computing choose_backend(const Collectives& clients, const Options& options, const CheckedProblem& problem) {
  Computing by_processors{&backends().find("cpu", "`backend`")};
  const double entries = static_cast<double>(problem.rows.size()) * static_cast<double>(problem.columns.size());
  const bool wanted = wants_devices(options);
  // So far the same on all clients: no messages are needed.
  if (!wanted && (options.backend == "cpu" || !beyond_devices(options).empty() || entries < kEntriesWorthADevice)) {
    return by_processors;
  }

  const bool holds_costs = problem.layout.row_slices.size() > 0;
  std::vector<cuda::DeviceDescription> usable;
  if (holds_costs) usable = usable_devices(options.devices, cuda::devices(), cuda::why_no_device());
  const KernelOnBackend* kernel = kernel_of(options).on("cuda");
  const bool can = !usable.empty() && kernel != nullptr && kernel->has(options.precision) &&
                   kernel->can_take(*problem.costs) && problem.targets <= kMostTargets;
  const PlaceOnMachine place = place_of(clients, holds_costs, can);
  if (wanted && problem.targets > kMostTargets) {
    throw InputError(options.backend == "cuda" ? "`backend`" : "`precision`",
                     fmt::format("devices take {} targets at most", kMostTargets),
                     "use `backend` cpu, or fewer targets");
  }
  if (!place.all_can) return by_processors;  // if devices are wanted, require_devices has thrown before

  Computing by_device{&backends().find("cuda", "`backend`")};
  cuda::DeviceDescription device;
  if (!usable.empty()) device = device_among(usable, *problem.costs, place.on_machine);
  const DeviceNeeds needs = needs_of_all(clients, options, problem, usable.empty() ? 0 : device_number(clients, device),
                                         usable.empty() ? -1 : device.index);
  std::uint64_t free_memory = 0;
  if (!usable.empty()) {
    by_device.device = device.index;
    by_device.device_name = device.name;
    free_memory = cuda::free_memory(device.index);
  }
  if (wanted) {
    agree(clients, [&] {
      if (!usable.empty()) require_device_memory(device, free_memory, needs);
    });
    return by_device;
  }
  const bool fits = usable.empty() || needs.asked <= static_cast<double>(free_memory);
  return greatest_of_all(clients, fits ? 0 : 1) == 0 ? by_device : by_processors;
}

}  // namespace fedsinkhorn
