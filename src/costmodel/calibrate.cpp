#include "costmodel/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include "comm/collectives.hpp"
#include "comm/transports.hpp"
#include "core/caches.hpp"
#include "core/memory.hpp"
#include "core/processors.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"

namespace fedsinkhorn {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t at = line.find(": ");
    return at == std::string::npos ? "" : line.substr(at + 2);
  }
  return "unknown";
}

/// Ranks share the machine's cores; clients of one process those that it may use.
int cores_to_share() { return started_by_mpi() ? processors_online() : processors_allowed(); }

int threads_of(const CalibrationPlan& plan, std::size_t clients) {
  return plan.threads > 0 ? plan.threads : std::max(1, cores_to_share() / static_cast<int>(clients));
}

/// Tells client 0's listener what comes next.
class Steps {
 public:
  Steps(const CalibrationPlan& plan, bool speaks) : plan_(plan), speaks_(speaks && plan.on_step) {}
  void begin(double share, double length) {
    share_ = share;
    length_ = length;
    count_ = 0;
  }
  /// Steps within a part are not counted beforehand; their shares shrink.
  void operator()(const std::string& what) {
    if (speaks_) plan_.on_step(what, share_ + length_ * (1 - 1 / (1 + 0.05 * count_++)));
  }

 private:
  const CalibrationPlan& plan_;
  bool speaks_;
  double share_ = 0, length_ = 1;
  double count_ = 0;
};

/// What is measured with one number of clients: all compute, one computes, exchanges.
void measure_with(Communicator& group, const CalibrationPlan& plan, Steps& steps, Profile& profile) {
  const std::size_t clients = group.size();
  CalibrationPlan here = plan;
  here.threads = threads_of(plan, clients);
  const auto step = [&](const std::string& what) { steps(what); };
  if (plan.with_passes) {
    measure_passes(group, clients, false, here, step, profile.passes);
    if (clients > 1) measure_passes(group, clients, true, here, step, profile.passes);
  }
  if (clients == 1) return;
  LinkModel links = profile.links.value_or(LinkModel{});
  measure_exchanges(group, here, step, profile.exchanges, links);
  profile.links = links;
}

/// Client 0 tells those from `first` on that a measurement is over. They must not keep a core busy until then, so they
/// look rarely, whatever the transport does while it waits.
void meet_quietly(Communicator& everyone, std::size_t first) {
  const Label label{Tag::slice, Payload::control};
  std::array<std::byte, 1> word{};
  if (everyone.rank() == 0) {
    for (std::size_t k = first; k < everyone.size(); ++k) everyone.send(word, k, label);
  } else if (everyone.rank() >= first) {
    const std::unique_ptr<Pending> message = everyone.start_receive(word, 0, label);
    const double until = everyone.now() + everyone.timeout();
    while (!message->done()) {
      everyone.look_up();
      if (everyone.now() > until) everyone.miss(*message);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

Profile empty_profile(const char* transport) {
  Profile profile;
  profile.name = "calibrated";
  profile.transport = transport;
  profile.machine = this_machine_now();
  profile.process_bytes = process_bytes_now();
  return profile;
}

}  // namespace

std::vector<std::size_t> sizes_for_caches() {
  constexpr double kOfTheLast =
      2;  // times the last-level cache is beyond it, and so are 450 MB where it says too little
  const double wanted = std::sqrt(kOfTheLast * static_cast<double>(caches().last) / sizeof(double));
  const auto largest = static_cast<std::size_t>(std::clamp(wanted, 7500.0, 11000.0));
  std::vector<std::size_t> sizes = {520, 1040, 1480, 2080, 2940, 4160, 5880};
  std::erase_if(sizes, [&](std::size_t size) { return size >= largest; });
  sizes.push_back(largest);
  return sizes;
}

std::vector<std::size_t> numbers_of_clients(std::size_t most) {
  std::vector<std::size_t> numbers;
  for (std::size_t k = 1; k < most; k *= 2) numbers.push_back(k);
  numbers.push_back(std::max<std::size_t>(most, 1));
  return numbers;
}

ProfileMachine this_machine_now() {
  return {processor_name(), cpu::simd("auto").name, cores_to_share(), total_memory(), caches().last};
}

Profile calibrate_threads(const CalibrationPlan& plan) {
  Profile profile = empty_profile("threads");
  Steps steps(plan, true);
  const double parts = static_cast<double>(plan.clients.size()) + 1;
  double done = 0;
  for (const std::size_t clients : plan.clients) {
    steps.begin(done / parts, 1 / parts);
    run_threads(clients, {Seconds(plan.timeout), {}}, [&](Communicator& group) {
      Profile others;  // client 0's is kept
      Steps silent(plan, false);
      const bool is_first = group.rank() == 0;
      measure_with(group, plan, is_first ? steps : silent, is_first ? profile : others);
    });
    done += 1;
  }
  steps.begin(done / parts, 1 / parts);
  if (plan.with_passes) {
    steps("element-wise work");
    measure_element_wise(threads_of(plan, 1), profile);
  }
  return profile;
}

Profile calibrate_as_client(Communicator& everyone, const CalibrationPlan& plan) {
  Profile profile = empty_profile("mpi");
  const bool is_first = everyone.rank() == 0;
  const std::size_t on_machine = everyone.clients_on_machine();
  profile.clients_per_machine = on_machine == everyone.size() ? 0 : on_machine;
  Steps steps(plan, is_first);
  const double parts = static_cast<double>(plan.clients.size()) + 1;
  double done = 0;
  for (const std::size_t clients : plan.clients) {
    steps.begin(done / parts, 1 / parts);
    if (everyone.rank() < clients) {
      std::vector<std::size_t> members(clients);
      std::iota(members.begin(), members.end(), std::size_t{0});
      const std::unique_ptr<Communicator> group = make_group(everyone, members, 3);
      measure_with(*group, plan, steps, profile);
    }
    meet_quietly(everyone, clients);
    done += 1;
  }
  steps.begin(done / parts, 1 / parts);
  if (plan.with_passes && is_first) {
    steps("element-wise work");
    measure_element_wise(threads_of(plan, 1), profile);
  }
  meet_quietly(everyone, 1);
  return profile;
}

}  // namespace fedsinkhorn
