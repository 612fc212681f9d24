#include "solve/peak_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
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
/// Pages that Linux maps at once around one that is touched, if they are in its cache.
constexpr double kFaultAround = 64 << 10;
/// What it maps beyond a slice of a file: 2 MB if its cache has the file in large pieces, else next to nothing.
constexpr double kFolio = 1 << 20;
/// Code and tables of the solver that a process has not touched before its first solve.
constexpr double kCode = 1.4e6;
/// Stack, allocator's arena and small objects of a client.
constexpr double kClientThread = 0.02e6;
constexpr double kThread = 0.1e6;
/// Buffers of MPI for another process on the same machine, and for how many there are some.
constexpr double kPeer = 0.1e6;
constexpr double kMostPeers = 32;
/// What clients keep of each other, from measuring 200 and 1,000 of them (see bytes_to_meet).
constexpr double kOther = 640;
/// Of a mapped matrix, while a thread evaluates the plan.
constexpr double kEvaluatedAtOnce = 2.2e6;

double number(std::size_t x) { return static_cast<double>(x); }

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
  bool reads_once = true;                   ///< one pass over the kernel per iteration, if the topology allows it
  [[nodiscard]] double targets() const { return number(question.targets); }
  [[nodiscard]] double kernel_entry() const {
    return is_reduced(question.options.precision) ? sizeof(float) : sizeof(double);
  }
  [[nodiscard]] bool reads_matrix() const { return question.dimension == 0; }
  [[nodiscard]] bool stores_kernel() const { return kernel != nullptr && question.options.kernel == KernelKind::dense; }
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
  const MethodEntry& method = methods().find(options.method, "`method`");
  result.reads_once = options.passes == Passes::fused && !method.relaxes;
  if (!in_logs && method.make != nullptr && !method.relaxes) {
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
                  layout.column_slices.size() == clients && of.reads_once;
  return part;
}

double stride_of(const MemoryQuestion& question, std::size_t columns) {
  const bool is_short = is_reduced(question.options.precision);
  return number(is_short ? cpu::padded<float>(columns) : cpu::padded<double>(columns));
}

/// Entries of K of a block; 0 if it is not stored.
double entry_bytes(const Case& of, std::size_t rows, std::size_t columns) {
  return of.stores_kernel() ? number(rows) * stride_of(of.question, columns) * of.kernel_entry() : 0;
}

/// What a block of the kernel takes besides K.
double block_scratch(const Case& of, std::size_t rows, std::size_t columns, bool is_fused) {
  if (of.kernel == nullptr || rows == 0 || columns == 0) return 0;
  const MemoryQuestion& question = of.question;
  const double stride = stride_of(question, columns);
  const KernelSpec spec{question.options.precision, 1, question.threads};
  const auto bytes = [&](std::size_t targets) {
    return of.kernel->bytes(spec, {rows, columns, targets, question.dimension, question.entry_bytes, 0}) -
           entry_bytes(of, rows, columns);
  };
  if (is_fused) return bytes(question.targets);
  // Partial sums and products of matrices are for the fused pass alone.
  const std::size_t copies = WorkCut::fused_chunks(rows, columns, of.stores_kernel() ? 1 : WorkCut::kExponential);
  return bytes(1) - stride * kNumber * number(copies - 1) + (of.targets() - 1) * stride * 2 * kNumber;
}

/// The float64 rows that find the first potentials for a kernel of less precision.
double opener_scratch(const Case& of, const Part& part) {
  const KernelSpec spec{Precision::float64, 1, of.question.threads};
  const KernelOnBackend* online = kernels().find("online", "`kernel`").on("cpu");
  return online->bytes(spec, {part.block_rows, part.block_columns, of.question.targets, of.question.dimension,
                              of.question.entry_bytes, 0});
}

/// K as far as this client holds it.
double stored_bytes(const Case& of, const Part& part) {
  const double of_rows = entry_bytes(of, part.block_rows, part.block_columns);
  return part.whole_columns ? of_rows + entry_bytes(of, of.question.rows, part.columns) : of_rows;
}

double kernel_scratch(const Case& of, const Part& part) {
  const double of_rows = block_scratch(of, part.block_rows, part.block_columns, part.is_fused);
  return part.whole_columns ? of_rows + block_scratch(of, of.question.rows, part.columns, false) : of_rows;
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

/// Scalings, products, potentials, masses and positions, for as long as a solve takes.
double vector_bytes(const Case& of, const Part& part) {
  const double positions = number(of.question.rows) + number(of.question.columns) + 4 * lines_of_blocks(of, part);
  // v and the parts of K' u; unless both are formed in one pass, also u and the parts of K v.
  double passed = number(part.known_columns) + number(part.whole_columns ? part.columns : part.block_columns);
  if (!part.is_fused) passed += number(part.known_rows) + number(part.block_rows);
  return (positions + of.targets() * (4 * part.own() + passed)) * kNumber;
}

/// Images of v, differences and residuals that an acceleration keeps.
double history_bytes(const Case& of, const Part& part) {
  if (of.history == 0) return 0;
  return of.targets() * (of.history + 1) * (number(part.known_columns) + 2 * number(part.columns)) * kNumber;
}

double evaluation_bytes(const Case& of, const Part& part) {
  constexpr std::size_t chunks_of_many_targets = 4;
  const std::size_t fine = WorkCut::fused_chunks(part.block_rows, part.block_columns, WorkCut::kExponential);
  const bool many = of.question.targets > WorkCut::kFewTargets;
  const double chunks = number(many ? std::min(fine, chunks_of_many_targets) : fine);
  const double block = number(part.block_rows) + number(part.block_columns);
  const double rows_at_once = of.reads_matrix() && of.question.targets == 1 ? 0 : number(cpu::kRowBlock);
  return (of.targets() * ((chunks + 1) * number(part.block_columns) + 2 * block + 7 * part.own()) +
          static_cast<double>(of.question.threads) * rows_at_once * number(part.block_columns)) *
         kNumber;
}

/// Results: every client gets all of g, client 0 all of f; as they come and as they are given back, each with its
/// rests.
double result_bytes(const Case& of, const Part& part, bool gets_f) {
  const double gathered = number(of.question.columns) + (gets_f ? number(of.question.rows) : 0);
  return 4 * of.targets() * (gathered + part.own()) * kNumber;
}

double message_bytes(const Case& of, const Part& part) {
  if (of.question.clients == 1) return 0;
  // Asynchronous clients also remember what they knew after the last round.
  const double numbers = (of.topology.is_asynchronous ? 3 : 1) * part.known();
  const double others = number(of.question.clients - 1);
  const double of_transport = others * kOther + (of.question.one_process ? 0 : std::min(others, kMostPeers) * kPeer);
  return of.targets() * numbers * kNumber + of_transport;
}

/// Slices that asynchronous clients have sent and expect between rounds.
double news_bytes(const Case& of, const Part& part) {
  if (!of.topology.is_asynchronous || of.question.clients == 1) return 0;
  const double numbers = part.known() * (kWindow + 1) + part.own() * number(of.question.clients - 1);
  return of.targets() * numbers * kNumber;
}

/// Of a mechanism: what is known, released and about to be.
double release_bytes(const Case& of, const Part& part) {
  return of.is_private ? 4 * of.targets() * part.known() * kNumber : 0;
}

/// Of a secure sum over all columns: words as they are, masked, on the wire and from others.
double word_bytes(const Case& of) {
  return of.adds_securely ? 6 * of.targets() * number(of.question.columns) * sizeof(Word) : 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// Pages of a mapped matrix

double file_bytes(const MemoryQuestion& question) {
  if (question.dimension > 0 || question.held_bytes > 0) return 0;
  return number(question.rows) * number(question.columns) * number(question.entry_bytes);
}

/// Pages with these costs. Of long rows, only what is near the columns that are read.
double pages_of(const MemoryQuestion& question, std::size_t rows, std::size_t columns) {
  const double entry = number(question.entry_bytes);
  const double row = number(question.columns) * entry;
  const double pages = number(rows) * std::min(row, number(columns) * entry + kFaultAround);
  return rows == 0 ? 0 : std::min(pages + kFolio, file_bytes(question));
}

/// Pages of all blocks of a client.
double pages_of_blocks(const Case& of, const Part& part) {
  const MemoryQuestion& question = of.question;
  double pages = pages_of(question, part.block_rows, part.block_columns);
  if (part.whole_columns && !question.symmetric) pages += pages_of(question, question.rows, part.columns);
  return std::min(pages, file_bytes(question));
}

// ---------------------------------------------------------------------------------------------------------------------

/// A stage of a solve.
struct Stage {
  double own = 0;    ///< bytes of the client
  double pages = 0;  ///< of the matrix, which clients of one process share
};

/// What is resident in one client.
struct Resident {
  double always = 0;
  Stage opening;   ///< the first round, before a kernel is stored
  Stage building;  ///< the end of the pass that stores it
  Stage iterating;
  Stage evaluating;
  Stage gathering;  ///< results, after the kernel is gone
};

/// A fused pass lets pages go as it builds the kernel. Other first rounds sum logarithms over columns, which keeps the
/// pages until the end, and build the kernel afterwards. In reduced precision another kernel opens the first round; for
/// many targets it keeps the pages, too.
Resident resident_of(const Case& of, std::size_t client) {
  const Part part = part_of(of, client);
  const MemoryQuestion& question = of.question;
  const auto threads = static_cast<double>(question.threads);
  const bool few = question.targets <= WorkCut::kFewTargets;
  const double held = stored_bytes(of, part) + kernel_scratch(of, part);
  const double pages = question.dimension > 0 ? 0 : pages_of_blocks(of, part);

  Resident resident;
  resident.always = point_bytes(of, part) + vector_bytes(of, part) + message_bytes(of, part) + threads * kThread;
  resident.iterating = {
      held + history_bytes(of, part) + word_bytes(of) + news_bytes(of, part) + release_bytes(of, part),
      of.stores_kernel() ? 0 : pages};
  if (of.is_private) return resident;
  const double at_once = threads * kEvaluatedAtOnce + (question.one_process ? 0 : kFolio);
  resident.evaluating = {held + evaluation_bytes(of, part) + word_bytes(of) / 3, std::min(pages, at_once)};
  resident.gathering.own = result_bytes(of, part, client == 0 && !of.adds_securely);
  if (part.block_rows == 0) return resident;
  const bool opens_apart = is_reduced(question.options.precision);
  if (part.is_fused && opens_apart) resident.opening = {opener_scratch(of, part), few ? 0 : pages};
  if (!of.stores_kernel()) return resident;
  if (!part.is_fused) resident.opening = {0, pages};
  if (part.is_fused && few) {
    const auto chunks = number(WorkCut::fused_chunks(part.block_rows, part.block_columns, 1));
    resident.building = {held, pages * std::min(1.0, threads / chunks)};
  }
  // Columns read as rows stay.
  if (part.whole_columns && question.symmetric)
    resident.iterating.pages = pages_of(question, part.columns, question.rows);
  return resident;
}

/// The stage that needs most, with pages that there are.
Stage worst_stage(const MemoryQuestion& question, const Resident& resident) {
  Stage worst;
  for (Stage stage :
       {resident.opening, resident.building, resident.iterating, resident.evaluating, resident.gathering}) {
    stage.pages = std::min(stage.pages, file_bytes(question));
    if (stage.own + stage.pages > worst.own + worst.pages) worst = stage;
  }
  return worst;
}

double peak_of(const MemoryQuestion& question, const Resident& resident) {
  const Stage worst = worst_stage(question, resident);
  return resident.always + worst.own + worst.pages;
}

/// Adds as many clients like this one.
void add(const Resident& client, double count, bool few_targets, Resident& all) {
  // Clients do not keep step: of what passes by quickly, half of them have most at the same time.
  const double together = few_targets ? 0.5 : 1;
  const auto add_stage = [&](const Stage& stage, double share, Stage& sum) {
    sum.own += count * stage.own;
    sum.pages += count * share * stage.pages;
  };
  all.always += count * (client.always + kClientThread);
  add_stage(client.opening, 1, all.opening);
  add_stage(client.building, together, all.building);
  add_stage(client.iterating, 1, all.iterating);
  add_stage(client.evaluating, together, all.evaluating);
  add_stage(client.gathering, 1, all.gathering);
}

/// Points, mapped whole.
double point_files(const MemoryQuestion& question) {
  const double lines = number(question.rows) + number(question.columns);
  return lines * number(question.dimension) * number(question.entry_bytes);
}

/// With the masses of several targets.
double small_files(const MemoryQuestion& question) {
  const double masses = question.targets > 1 ? number(question.targets) * number(question.columns) * kNumber : 0;
  return point_files(question) + masses;
}

/// The server that adds up has the words of all clients.
double sum_server_bytes(const Case& of) {
  return number(of.question.clients) * of.targets() * number(of.question.columns) * sizeof(Word);
}

/// Of a client with this part: "8 n m / c + 8 N 30 (n + m) + process".
std::string formula_of(const Case& of, const Part& part, const Resident& resident) {
  const MemoryQuestion& question = of.question;
  const Stage worst = worst_stage(question, resident);
  const double stored = stored_bytes(of, part);
  const bool has_kernel = stored > 0 && worst.own >= stored;
  const double others = resident.always + worst.own - (has_kernel ? stored : 0);
  const double lines = number(question.rows) + number(question.columns);
  std::string formula;
  if (has_kernel) {
    const double entry = of.kernel_entry();
    const bool is_whole = part.block_rows == question.rows && part.block_columns == question.columns;
    formula = fmt::format("{} n m{} + ", part.whole_columns ? 2 * entry : entry, is_whole ? "" : " / c");
  }
  if (worst.pages > 0) {
    formula +=
        fmt::format("{:.2g} n m of the file + ", worst.pages / (number(question.rows) * number(question.columns)));
  }
  if (question.held_bytes > 0) formula += "costs in memory + ";
  const double vectors = lines > 0 ? others / (of.targets() * kNumber * lines) : 0;
  return formula + fmt::format("8 N {:.0f} (n + m) + process", vectors);
}

}  // namespace

PeakMemory peak_memory_of(const MemoryQuestion& question) {
  const Case of = case_of(question);
  const std::size_t clients = question.clients;
  const double start = question.process_bytes + kCode + small_files(question) + number(question.held_bytes);
  const Resident first = resident_of(of, 0);
  PeakMemory peak;
  peak.formula = formula_of(of, part_of(of, 0), first);
  peak.client = peak.process = start + peak_of(question, first);
  if (clients == 1) return peak;

  // The slices of the others differ by one line at most.
  const Resident second = resident_of(of, 1);
  const Resident last = resident_of(of, clients - 1);
  const double others = number(clients - 1);
  Resident all;
  const bool few_targets = question.targets <= WorkCut::kFewTargets;
  add(first, 1, few_targets, all);
  add(second, others / 2, few_targets, all);
  add(last, others / 2, few_targets, all);
  peak.process = start + peak_of(question, all);
  const double of_others = start + std::max(peak_of(question, second), peak_of(question, last));
  if (of.topology.route == Route::through_root) {
    peak.server = peak.client;
    peak.client = of_others - point_files(question) - number(question.held_bytes);  // the server alone opens them
  } else {
    peak.client = std::max(peak.client, of_others);
  }
  if (question.options.server == Server::sums) {
    peak.server = question.process_bytes + sum_server_bytes(of);
    peak.process += sum_server_bytes(of) + kThread;
  }
  return peak;
}

}  // namespace fedsinkhorn
