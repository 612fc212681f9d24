// What a client of each topology holds: of the kernel, by its own account, and in all, by the system's. A client of a
// star must grow with its rows alone, one of the others with its block of the kernel.
#include <fmt/format.h>

#include <algorithm>

#include "federated_run.hpp"
#include "sections.hpp"

namespace fedsinkhorn::bench {
namespace {

constexpr const char* kTopologies[] = {"star", "all-to-all", "grid", "row-reduce"};

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

ClientFigures largest(const std::vector<ClientFigures>& clients, std::size_t first) {
  ClientFigures most;
  for (std::size_t k = first; k < clients.size(); ++k) {
    most.kernel_bytes = std::max(most.kernel_bytes, clients[k].kernel_bytes);
    most.peak_bytes = std::max(most.peak_bytes, clients[k].peak_bytes);
  }
  return most;
}

constexpr int kMemoryIterations = 3;

}  // namespace

void measure_memory(const Settings& settings, Report& report) {
  if (!has_mpirun()) {
    report.note("no mpirun: clients would share one process, and its peak");
    return;
  }
  const std::size_t n = settings.size(8000);
  const ProblemOnDisk problem(n);
  constexpr std::size_t kNothing = 16;
  const ProblemOnDisk nothing(kNothing);
  report.note(fmt::format("n = {}, d = 64, float64, 1 thread a client; the largest client counts", n));
  report.note("beyond the program: less what the same client peaks at with 16 points, which is mostly MPI's");
  Table table({"", "clients", "rows", "its part of K", "peak", "beyond the program"});
  for (const int clients : settings.quick ? std::vector{2} : std::vector{2, 4, 8}) {
    const std::size_t rows = n / static_cast<std::size_t>(clients);
    for (const std::string topology : kTopologies) {
      const FederatedRun run = run_ours(problem, {topology, "float64", clients, kMemoryIterations});
      const FederatedRun empty = run_ours(nothing, {topology, "float64", clients, kMemoryIterations});
      const auto add = [&](const std::string& who, const ClientFigures& figures, const ClientFigures& base) {
        table.add({who, fmt::format("{}", clients), fmt::format("{}", rows), megabytes(figures.kernel_bytes),
                   megabytes(figures.peak_bytes), megabytes(figures.peak_bytes - base.peak_bytes)});
        report.value(fmt::format("{}, {} clients, peak MB", who, clients), figures.peak_bytes / 1e6);
      };
      const bool star = topology == "star";
      if (star) add("star, server", run.clients.front(), empty.clients.front());
      add(star ? "star, client" : topology, largest(run.clients, star ? 1 : 0), largest(empty.clients, star ? 1 : 0));
    }
  }
  report.print(table);
}

}  // namespace fedsinkhorn::bench
