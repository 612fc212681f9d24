#include "solve/peak_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/cpu/work_cut.hpp"
#include "comm/ring.hpp"
#include "core/range.hpp"
#include "iteration/pacing.hpp"
#include "registry/registry.hpp"
#include "simd/simd.hpp"
#include "solve/check_options.hpp"
#include "topology/news.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kNumber = sizeof(double);
constexpr double kHugePage = 2 << 20;
/// Pages that Linux maps at once around one that is touched, if they are in its cache.
constexpr double kFaultAround = 64 << 10;
/// Code and tables of the solver that a process has not touched before its first solve.
constexpr double kCode = 1.6e6;
/// Stack, allocator's arena and small objects of a client.
constexpr double kClientThread = 0.2e6;
constexpr double kThread = 0.1e6;

double number(std::size_t x) { return static_cast<double>(x); }

/// Of a Buffer: large ones are made of huge pages.
double resident(double bytes) { return bytes < 4 * kHugePage ? bytes : std::ceil(bytes / kHugePage) * kHugePage; }

/// What one client holds.
struct Part {
  std::size_t rows = 0;  ///< own
  std::size_t columns = 0;
  std::size_t block_rows = 0;
  std::size_t block_columns = 0;
  std::size_t known_rows = 0;  ///< of which it knows u
  std::size_t known_columns = 0;
  bool whole_columns = false;  ///< also holds all rows of its own columns
  bool is_fused = false;       ///< reads the kernel once per iteration
  [[nodiscard]] double own() const { return number(rows) + number(columns); }
  [[nodiscard]] double known() const { return number(known_rows) + number(known_columns); }
};

/// The question with what its options say, looked up once.
struct Case {
  const MemoryQuestion& question;
  const TopologyEntry& topology;
  bool is_private = false;
  bool adds_securely = false;
  const KernelOnBackend* kernel = nullptr;  ///< null: none is held
  double history = 0;                       ///< differences that an acceleration keeps
  [[nodiscard]] double targets() const { return number(question.targets); }
  [[nodiscard]] bool reads_file() const { return question.dimension == 0; }
};

Case case_of(const MemoryQuestion& question) {
  Options options = question.options;
  options.clients = question.clients;
  options.method = resolved_method(options);
  const std::string topology = resolved_topology(options, question.clients);
  Case result{question, topologies().find(topology, "`topology`")};
  result.is_private = is_private(options);
  result.adds_securely = question.clients > 1 && policy_of(options).adds_securely;
  const bool in_logs = result.is_private || options.stabilization == Stabilization::log;
  if (!in_logs) result.kernel = kernels().find(options.kernel.text(), "`kernel`").on("cpu");
  if (!in_logs && methods().find(options.method, "`method`").make != nullptr) {
    const double iterations = std::max(0.0, static_cast<double>(options.max_iterations));
    result.history = std::min(number(differences_kept(options, question.targets)), iterations);
  }
  return result;
}

Part part_of(const Case& of, std::size_t client) {
  const MemoryQuestion& question = of.question;
  const std::size_t clients = question.clients;
  const Layout layout = of.topology.layout(client, clients, question.options);
  Part part;
  part.rows = chunk_range(question.rows, clients, client).size();
  part.columns = chunk_range(question.columns, clients, client).size();
  for (std::size_t k = layout.row_slices.first; k < layout.row_slices.last; ++k) {
    part.block_rows += chunk_range(question.rows, clients, k).size();
  }
  for (std::size_t k = layout.column_slices.first; k < layout.column_slices.last; ++k) {
    part.block_columns += chunk_range(question.columns, clients, layout.column_clients[k]).size();
  }
  part.whole_columns = layout.whole_columns;
  part.known_rows = layout.whole_columns ? question.rows : part.block_rows;
  part.known_columns = part.block_rows > 0 ? part.block_columns : part.columns;
  part.is_fused = !layout.whole_columns && of.topology.route != Route::through_root && layout.row_slices.size() == 1 &&
                  layout.column_slices.size() == clients && question.options.passes == Passes::fused;
  return part;
}

/// A block of the kernel as far as its memory is touched.
double block_bytes(const Case& of, std::size_t rows, std::size_t columns, bool is_fused) {
  if (of.kernel == nullptr || rows == 0 || columns == 0) return 0;
  const MemoryQuestion& question = of.question;
  const KernelSpec spec{question.options.precision, 1, question.threads};
  double bytes = of.kernel->bytes(spec, {rows, columns, question.targets, question.dimension, question.entry_bytes, 0});
  const bool is_stored = question.options.kernel == KernelKind::dense;
  const auto stride = number(is_reduced(spec.precision) ? cpu::padded<float>(columns) : cpu::padded<double>(columns));
  if (!is_fused && question.targets <= WorkCut::kFewTargets) {
    // Partial sums are for the fused pass alone.
    const std::size_t copies = WorkCut::fused_chunks(rows, columns, is_stored ? 1 : WorkCut::kExponential);
    bytes -= of.targets() * stride * kNumber * number(copies - 1);
  }
  const double stored = is_stored ? number(rows) * stride * (is_reduced(spec.precision) ? 4 : 8) : 0;
  return bytes - stored + resident(stored);
}

double kernel_bytes(const Case& of, const Part& part) {
  double bytes = block_bytes(of, part.block_rows, part.block_columns, part.is_fused);
  if (part.whole_columns) bytes += block_bytes(of, of.question.rows, part.columns, false);
  return bytes;
}

/// Rows and columns of the client's blocks, counted as often as they occur.
double lines_of_blocks(const Case& of, const Part& part) {
  double lines = number(part.block_rows) + number(part.block_columns);
  if (part.whole_columns) lines += number(of.question.rows) + number(part.columns);
  return lines;
}

/// Coordinates as float64: of x, and of y in panels.
double point_bytes(const Case& of, const Part& part) {
  return lines_of_blocks(of, part) * number(of.question.dimension) * kNumber;
}

/// Scalings, products, potentials and masses.
double vector_bytes(const Case& of, const Part& part) {
  const double positions = number(of.question.rows) + number(of.question.columns) + 4 * lines_of_blocks(of, part);
  return (positions + of.targets() * (10 * part.own() + 4 * part.known())) * kNumber;
}

double history_bytes(const Case& of, const Part& part) {
  return of.targets() * (of.history + 1) * (number(part.known_columns) + 2 * number(part.columns)) * kNumber;
}

/// Of the sums over the plan at the end, which go by chunks of rows.
std::size_t evaluation_chunks(const Case& of, const Part& part) {
  constexpr std::size_t of_many_targets = 4;
  const std::size_t fine = WorkCut::fused_chunks(part.block_rows, part.block_columns, WorkCut::kExponential);
  return of.question.targets <= WorkCut::kFewTargets ? fine : std::min(fine, of_many_targets);
}

double evaluation_bytes(const Case& of, const Part& part) {
  if (of.is_private) return 0;
  const auto stride = number(part.block_columns);
  const double chunks = number(evaluation_chunks(of, part));
  return of.targets() * ((chunks + 1) * stride + 2 * part.known() + 7 * part.own()) * kNumber;
}

double message_bytes(const Case& of, const Part& part) {
  if (of.question.clients == 1) return 0;
  double bytes = of.targets() * part.known() * kNumber;
  if (of.adds_securely) bytes += 5 * of.targets() * number(of.question.columns) * sizeof(Word);
  if (of.topology.is_asynchronous && !of.is_private) {
    const double sent = part.own() * number(of.question.clients - 1);
    bytes += of.targets() * (part.known() * (kWindow + 1) + sent) * kNumber;
  }
  return bytes;
}

/// What a client holds by itself, whether it shares its process or not.
double own_bytes(const Case& of, const Part& part) {
  return kernel_bytes(of, part) + point_bytes(of, part) + vector_bytes(of, part) + history_bytes(of, part) +
         evaluation_bytes(of, part) + message_bytes(of, part) +
         number(static_cast<std::size_t>(of.question.threads)) * kThread;
}

/// Of the mapped files, as long as this client has pages of them.
double mapped_bytes(const Case& of, const Part& part) {
  const MemoryQuestion& question = of.question;
  const double entry = number(question.entry_bytes);
  if (!of.reads_file()) return (number(question.rows) + number(question.columns)) * number(question.dimension) * entry;
  const double row = number(question.columns) * entry;
  const bool keeps_pages = question.options.kernel == KernelKind::online || of.is_private;
  // Of long rows, only the part around the columns that are read.
  const auto touched = [&](std::size_t rows, std::size_t columns) {
    return rows == 0 ? 0 : number(rows) * std::min(row, number(columns) * entry + kFaultAround);
  };
  const double file = number(question.rows) * row;
  double bytes = 0;
  if (keeps_pages) {
    bytes = touched(part.block_rows, part.block_columns);
    if (part.whole_columns)
      bytes += question.symmetric ? touched(part.columns, question.rows) : touched(question.rows, part.columns);
    return std::min(bytes, file);
  }
  const std::size_t chunks = std::max<std::size_t>(1, evaluation_chunks(of, part));
  const double at_once = std::min(number(chunks), static_cast<double>(question.threads));
  bytes = touched(part.block_rows, part.block_columns) / number(chunks) * at_once;
  if (part.whole_columns && question.symmetric) bytes += touched(part.columns, question.rows);
  return std::min(bytes, file);
}

/// The server that adds up words has those of all clients.
double sum_server_bytes(const Case& of) { return 3 * of.targets() * number(of.question.columns) * sizeof(Word); }

std::string formula_of(const Case& /*of*/) { return ""; }

}  // namespace

PeakMemory peak_memory_of(const MemoryQuestion& question) {
  const Case of = case_of(question);
  const std::size_t clients = question.clients;
  const double start = question.process_bytes + kCode;
  const bool has_root = of.topology.route == Route::through_root;
  const auto alone = [&](const Part& part) { return start + own_bytes(of, part) + mapped_bytes(of, part); };

  const Part first = part_of(of, 0);
  PeakMemory peak;
  peak.formula = formula_of(of);
  peak.process = start + own_bytes(of, first);
  double mapped = mapped_bytes(of, first);
  if (clients == 1) {
    peak.process += mapped;
    peak.client = alone(first);
    return peak;
  }
  // The slices of the others differ by one line at most.
  const Part second = part_of(of, 1);
  const Part last = part_of(of, clients - 1);
  const double others = number(clients - 1);
  peak.process += others * (kClientThread + (own_bytes(of, second) + own_bytes(of, last)) / 2);
  mapped += others * (mapped_bytes(of, second) + mapped_bytes(of, last)) / 2;
  const double files = of.reads_file() ? number(question.rows) * number(question.columns) * number(question.entry_bytes)
                                       : mapped_bytes(of, first);
  peak.process += std::min(mapped, files);
  peak.client = std::max(alone(second), alone(last));
  if (has_root) {
    peak.server = alone(first);
  } else {
    peak.client = std::max(peak.client, alone(first));
  }
  if (question.options.server == Server::sums) {
    peak.server = start + sum_server_bytes(of);
    peak.process += sum_server_bytes(of);
  }
  return peak;
}

}  // namespace fedsinkhorn
