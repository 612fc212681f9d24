#include "solve/memory_needs.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "comm/digest.hpp"
#include "comm/ring.hpp"
#include "core/memory.hpp"
#include "core/range.hpp"
#include "fedsinkhorn/error.hpp"
#include "iteration/high_precision.hpp"
#include "iteration/pacing.hpp"
#include "method/newton_system.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "topology/news.hpp"

namespace fedsinkhorn {

std::string machine_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

double pseudonym(const Collectives& clients, std::string_view name) {
  return static_cast<double>(digest_of(clients.digest_key(), "name", std::as_bytes(std::span(name)))[0] >> 12U);
}

ClientShape shape_of(const CheckedProblem& problem) {
  ClientShape shape;
  shape.clients = problem.clients;
  shape.rows = problem.n();
  shape.columns = problem.m();
  shape.block_rows = problem.block_rows().size();
  shape.block_columns = problem.block_columns().size();
  shape.all_rows = problem.rows.size();
  shape.whole_columns = problem.layout.whole_columns;
  shape.targets = problem.targets;
  const CostShape costs = problem.costs->shape();
  shape.dimension = costs.dimension;
  shape.entry_bytes = costs.entry_bytes;
  if (problem.costs->device_matrix() != nullptr) {
    shape.copied_bytes =
        static_cast<double>(costs.rows) * static_cast<double>(costs.columns) * static_cast<double>(costs.entry_bytes);
  }
  return shape;
}

ClientShape even_shape(const CostShape& costs, std::size_t targets, const Layout& layout, std::size_t clients,
                       std::size_t k) {
  ClientShape shape;
  shape.clients = clients;
  shape.rows = chunk_range(costs.rows, clients, k).size();
  shape.columns = chunk_range(costs.columns, clients, k).size();
  shape.block_rows = costs.rows * layout.row_slices.size() / clients;
  shape.block_columns = costs.columns * layout.column_slices.size() / clients;
  shape.all_rows = costs.rows;
  shape.whole_columns = layout.whole_columns;
  shape.targets = targets;
  shape.dimension = costs.dimension;
  shape.entry_bytes = costs.entry_bytes;
  return shape;
}

ClientShape shape_to_tell(const Collectives& clients, const CheckedProblem& problem) {
  ClientShape shape = shape_of(problem);
  if (clients.sums() != nullptr) shape.rows = shape.block_rows = problem.rows.given_slices[problem.client].size();
  return shape;
}

double kernel_bytes_for(const Options& options, const ClientShape& shape, int threads) {
  if (options.stabilization == Stabilization::log || is_private(options)) return 0;
  const bool on_device = options.backend == "cuda";
  const KernelOnBackend* kernel = kernels().find(options.kernel.text(), "`kernel`").on(on_device ? "cuda" : "cpu");
  if (kernel == nullptr) return 0;  // refused elsewhere
  const KernelSpec spec{options.precision, 1, threads};
  const bool accelerated = methods().find(resolved_method(options), "`method`").make != nullptr;
  const std::size_t differences = accelerated ? differences_kept(options, shape.targets) : 0;
  const auto block_bytes = [&](std::size_t rows, std::size_t columns) {
    if (on_device && (rows == 0 || columns == 0)) return 0.0;  // kept on the host
    return kernel->bytes(spec, {rows, columns, shape.targets, shape.dimension, shape.entry_bytes, differences});
  };
  double bytes = 0;
  if (shape.block_rows > 0) bytes += block_bytes(shape.block_rows, shape.block_columns);
  if (shape.whole_columns) bytes += block_bytes(shape.all_rows, shape.columns);
  return bytes;
}

double bytes_to_meet(std::size_t clients) {
  // Measured with 200 and 1,000 clients on threads: each has a stack and buffers, and keeps what every other client
  // sent at the start, which travels in several copies.
  constexpr double of_its_own = 256 * 1024;
  constexpr double of_each_other = 640;
  return of_its_own + of_each_other * static_cast<double>(clients - 1);
}

/// Of Newton's method: a matrix, its factor and some rows of the kernel or, if it has many columns, a sparse plan, its
/// graph and its factor.
double newton_bytes(const ClientShape& shape) {
  const auto rows = static_cast<double>(shape.block_rows);
  const auto columns = static_cast<double>(shape.block_columns);
  const auto dense = static_cast<double>(kLargestDense);
  if (columns <= dense) return (3 * columns + std::min(rows, 512.0)) * columns * sizeof(double);
  // Over the rows of all clients; each has its own twice meanwhile.
  const auto all_rows = static_cast<double>(shape.clients == 1 ? shape.block_rows : shape.all_rows);
  const auto most = static_cast<double>(shape.clients == 1 ? kMostCopied : kMostSent);
  if (all_rows <= dense && all_rows * columns <= most) {
    const double own = shape.clients == 1 ? 0 : rows * columns;
    return ((3 * all_rows + columns) * all_rows + own) * sizeof(double);
  }
  constexpr double bytes_of_a_line = 4096;
  return (rows + columns) * bytes_of_a_line + 32 * columns * sizeof(double);
}

/// Of a secure sum over all columns, or of half a matrix with Newton's method: words as they are, masked, on the wire
/// and from others.
double bytes_of_sums(const Options& options, const ClientShape& shape) {
  if (shape.clients == 1 || !policy_of(options).adds_securely) return 0;
  const auto columns = static_cast<double>(shape.block_columns);
  const bool can_be_newton = columns <= static_cast<double>(kLargestDense);
  const double words =
      std::max(static_cast<double>(shape.targets) * columns, can_be_newton ? columns * columns / 2 : 0);
  constexpr double copies = 5;
  return words * sizeof(Word) * copies;
}

double bytes_for(const Options& options, const ClientShape& shape, int threads) {
  if (options.precision == Precision::digits50) return precise_bytes(shape.rows, shape.columns);
  const auto targets = static_cast<double>(shape.targets);
  const auto own = static_cast<double>(shape.rows) + static_cast<double>(shape.columns);
  const auto known = static_cast<double>(shape.block_rows) + static_cast<double>(shape.block_columns) +
                     (shape.whole_columns ? static_cast<double>(shape.all_rows) : 0);
  const auto stride = static_cast<double>(cpu::padded<double>(shape.block_columns));
  double bytes = shape.clients > 1 ? bytes_to_meet(shape.clients) : 0;
  bytes += targets * own * sizeof(double) * 17;                    // scalings, products, potentials, densities, results
  if (known > own) bytes += targets * known * sizeof(double) * 5;  // what is known of the others', and on the wire
  if (topologies().find(resolved_topology(options, shape.clients), "`topology`").is_asynchronous) {
    // Of every client's slices kWindow messages in each direction, and what is known of all.
    bytes += targets * (known + own * static_cast<double>(shape.clients)) * sizeof(double) * (kWindow + 1);
  }
  if (methods().find(resolved_method(options), "`method`").make != nullptr) {
    // Images of v wherever it is held, and differences of the own slice.
    const auto kept = static_cast<double>(most_differences_kept(options, shape.targets));
    const auto columns = static_cast<double>(shape.columns);
    const double held = std::max(columns, static_cast<double>(shape.block_columns));
    bytes += targets * (kept + 1) * (held + 3 * columns) * sizeof(double);
  }
  const MethodEntry& method = methods().find(resolved_method(options), "`method`");
  const bool is_too_large = shape.block_rows + shape.block_columns > kMostLines;
  if (method.needs_whole_rows || (method.make_if_slow != nullptr && !is_too_large))
    bytes += std::min(targets, 8.0) * newton_bytes(shape);
  bytes += static_cast<double>(threads) * cpu::kRowBlock * stride * 4 * sizeof(double);
  bytes += bytes_of_sums(options, shape);
  bytes += 4 * targets * stride * sizeof(double);  // partial sums of the evaluation
  bytes += 2 * known * static_cast<double>(shape.dimension) * sizeof(double);
  if (options.backend == "cuda") return bytes;
  return bytes + shape.copied_bytes + kernel_bytes_for(options, shape, threads);
}

std::uint64_t whole_bytes(double bytes) {
  constexpr double most = 9e18;
  return static_cast<std::uint64_t>(std::min(bytes, most));
}

void require_memory(const Collectives& clients, const Options& options, const CheckedProblem& problem, int threads) {
  // Clients on one machine share its memory.
  const ClientShape shape = shape_to_tell(clients, problem);
  Options online = options;
  online.kernel = KernelKind::online;
  Options mixed = options;
  mixed.precision = Precision::mixed;
  Options float64 = options;
  float64.precision = Precision::float64;
  const std::array<double, 5> own = {pseudonym(clients, machine_name()), bytes_for(options, shape, threads),
                                     bytes_for(online, shape, threads), bytes_for(mixed, shape, threads),
                                     bytes_for(float64, shape, threads)};
  const std::vector<double> all = clients.of(Payload::shape).allgather_numbers(own);
  std::array<double, 4> sums{};
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const double* said = all.data() + k * own.size();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double bytes =
          from_peer(clients, k).number(said[i + 1], 0, std::numeric_limits<double>::infinity(), "a need of memory");
      if (said[0] == own[0]) sums[i] += bytes;
    }
  }
  const std::uint64_t needed = whole_bytes(sums[0]);
  const std::uint64_t with_online = whole_bytes(sums[1]);
  const std::uint64_t with_mixed = whole_bytes(sums[2]);
  const std::uint64_t with_float64 = whole_bytes(sums[3]);

  agree(clients, [&] {
    const std::uint64_t available = available_memory();
    if (needed <= available) return;
    std::string remedy;
    const auto suggest = [&](const char* flag, std::uint64_t bytes) {
      if (bytes <= available) {
        remedy += fmt::format("{}{} needs {}", remedy.empty() ? "" : ", ", flag, human_bytes(bytes));
      }
    };
    if (options.precision == Precision::digits50) {
      suggest("`precision` float64", with_float64);
    } else if (options.kernel != KernelKind::online) {
      suggest("`kernel` online", with_online);
      if (options.precision == Precision::float64) suggest("`precision` mixed", with_mixed);
    }
    throw InputError("memory",
                     fmt::format("this solve needs {} ({} bytes) but {} is available", human_bytes(needed), needed,
                                 human_bytes(available)),
                     remedy.empty() ? "use fewer rows, columns or targets" : remedy);
  });
}

}  // namespace fedsinkhorn
