// T = passes + element-wise work + exchanges, for the slowest client.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "comm/ring.hpp"
#include "core/names.hpp"
#include "costmodel/exchange_time.hpp"
#include "costmodel/pass_time.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"
#include "solve/check_options.hpp"
#include "solve/memory_needs.hpp"

namespace fedsinkhorn {
namespace {

void require(bool holds, const char* field, const std::string& reason, const char* remedy) {
  if (!holds) throw InputError(field, reason, remedy);
}

void check(const SolveShape& shape) {
  require(shape.rows > 0, "`rows`", "there are none", "give 1 or more");
  require(shape.columns > 0, "`columns`", "there are none", "give 1 or more");
  require(shape.targets > 0, "`targets`", "there are none", "give 1 or more");
  require(shape.clients > 0, "`clients`", "there are none", "give 1 or more");
  require(shape.options.backend != "cuda", "`backend`", "times of devices are not modelled", "leave it out");
}

/// Where the clients of a solve are.
struct Placement {
  std::size_t on_machine = 1;  ///< clients that share a machine
  int threads = 1;             ///< of each
  bool is_crowded = false;     ///< more clients than cores
};

Placement placement_of(const Profile& profile, const SolveShape& shape) {
  const std::size_t each = shape.clients_per_machine > 0 ? shape.clients_per_machine : profile.clients_per_machine;
  Placement place;
  place.on_machine = each == 0 ? shape.clients : std::min(each, shape.clients);
  const int cores = std::max(1, profile.machine.cores);
  place.threads =
      shape.options.threads > 0 ? shape.options.threads : std::max(1, cores / static_cast<int>(place.on_machine));
  place.is_crowded = place.on_machine * static_cast<std::size_t>(place.threads) > static_cast<std::size_t>(cores);
  return place;
}

RoundShape round_shape(const SolveShape& shape, const Options& options, std::size_t client) {
  RoundShape round = even_round(shape.rows, shape.columns, shape.clients, shape.targets, options);
  round.client = client;
  round.adds_securely = policy_of(options).adds_securely;
  return round;
}

/// Adds up what is the same for several steps of a round.
class Tally {
 public:
  explicit Tally(Prediction& prediction) : prediction_(prediction) {}

  void compute(const std::string& term, const PassCost& cost) {
    prediction_.compute_seconds += cost.seconds;
    add_term(term);
    add_note(cost.note);
  }
  void communicate(const RoundExchange& exchange, const ExchangeCost& cost) {
    prediction_.communication_seconds += cost.seconds;
    latency_ += cost.latency_seconds;
    if (cost.seconds > 0)
      add_term(fmt::format("T_{}({} B, c={})", name_of(exchange.exchange), exchange.bytes, exchange.members));
    add_note(cost.note);
  }
  void add_term(const std::string& term) { prediction_.formula += (prediction_.formula.empty() ? "" : " + ") + term; }
  void add_note(const std::string& note) {
    if (note.empty() || std::ranges::find(prediction_.notes, note) != prediction_.notes.end()) return;
    prediction_.notes.push_back(note);
  }
  [[nodiscard]] double latency() const { return latency_; }

 private:
  Prediction& prediction_;
  double latency_ = 0;
};

/// The client with most to compute: slices are even, so the first or the last; the first is a star's server.
Round slowest_round(const TopologyEntry& topology, const SolveShape& shape, const Options& options) {
  Round first = topology.round(round_shape(shape, options, 0));
  if (shape.clients == 1) return first;
  Round last = topology.round(round_shape(shape, options, shape.clients - 1));
  return last.work.entries() > first.work.entries() ? last : first;
}

void add_passes(const Profile& profile, const SolveShape& shape, const Options& options, const RoundWork& work,
                const Placement& place, Tally& tally) {
  PassQuestion question;
  question.kernel = options.kernel.text();
  question.precision = options.precision;
  question.dimension = question.kernel == "online" ? shape.dimension : 0;
  question.targets = shape.targets;
  question.clients = place.on_machine;
  question.computing = work.works_alone ? 1 : place.on_machine;
  question.threads = place.threads;
  const bool has_two_blocks = work.column_block_rows > 0;
  const double held =
      has_two_blocks ? work.entries() : static_cast<double>(work.rows) * static_cast<double>(work.columns);
  question.working_set = static_cast<double>(question.computing) * held *
                         std::max(1.0, bytes_of_entry(question.kernel, question.precision));
  question.rows = work.rows;
  question.columns = work.columns;
  if (work.is_fused) {
    question.verb = "fused";
    tally.compute(fmt::format("t_fused({}x{}, N={})", work.rows, work.columns, shape.targets),
                  pass_cost(profile, question));
    return;
  }
  question.verb = "apply";
  tally.compute(fmt::format("t_mv({}x{}, N={})", work.rows, work.columns, shape.targets), pass_cost(profile, question));
  question.verb = "apply-transposed";
  if (has_two_blocks) {
    question.rows = work.column_block_rows;
    question.columns = work.column_block_columns;
  }
  tally.compute(fmt::format("t_mv'({}x{}, N={})", question.rows, question.columns, shape.targets),
                pass_cost(profile, question));
}

/// Computing and storing the kernel, and evaluating costs at the end, which takes about as long for every target.
double setup_seconds(const Profile& profile, const SolveShape& shape, const Options& options, const RoundWork& work,
                     const Placement& place) {
  PassQuestion question;
  question.kernel = options.kernel.text();
  question.precision = options.precision;
  question.clients = place.on_machine;
  question.computing = work.works_alone ? 1 : place.on_machine;
  question.threads = place.threads;
  question.rows = work.rows;
  question.columns = work.columns;
  question.working_set = 1e12;  // costs are not in any cache
  question.verb = "build";
  double build = pass_cost(profile, question).seconds;
  const double evaluation = static_cast<double>(shape.targets) * build;
  if (work.column_block_rows > 0) {
    question.rows = work.column_block_rows;
    question.columns = work.column_block_columns;
    build += pass_cost(profile, question).seconds;
  }
  return build + evaluation;
}

void add_bytes(const TopologyEntry& topology, const SolveShape& shape, const Options& options, const Round& round,
               Prediction& prediction) {
  constexpr std::size_t kFew = 64;  // every client says what it sends
  Sent all;
  const auto add = [&](const Sent& sent) {
    all = all + sent;
    prediction.bytes_per_client = std::max(prediction.bytes_per_client, sent.bytes);
  };
  if (shape.clients <= kFew) {
    for (std::size_t k = 0; k < shape.clients; ++k) add(topology.round(round_shape(shape, options, k)).sent());
  } else {
    add(round.sent());
    all = {};
    for (const RoundExchange& exchange : round.exchanges) {
      for (const MessagePhase& phase : exchange.phases) {
        const Sent of_group = phase.sent_by_all();
        all = all + Sent{exchange.groups * of_group.bytes, exchange.groups * of_group.messages};
      }
    }
  }
  for (const RoundExchange& exchange : round.exchanges) {  // a server sends, too, and is no client
    if (shape.clients > kFew || exchange.exchange != Exchange::served_sum) continue;
    for (const MessagePhase& phase : exchange.phases) all = all + phase.sent_by(0);
  }
  prediction.bytes_per_iteration = all.bytes;
  prediction.messages_per_iteration = all.messages;
}

/// Inputs that stay in memory: points, costs that were converted, and costs that a computed kernel reads again and
/// again. Of costs that are stored as a kernel, the system takes the pages back.
double input_bytes(const SolveShape& shape, const Options& options, double entries) {
  if (shape.dimension > 0) return 8.0 * static_cast<double>((shape.rows + shape.columns) * shape.dimension);
  if (shape.held_bytes > 0) return static_cast<double>(shape.held_bytes);
  return options.kernel == KernelKind::dense && !is_private(options) ? 0 : 8.0 * entries;
}

void add_memory(const Profile& profile, const TopologyEntry& topology, const SolveShape& shape, const Options& options,
                const Placement& place, Prediction& prediction) {
  constexpr double program = 2e6;  // code and tables that are not touched before the first solve
  CostShape costs;
  costs.rows = shape.rows;
  costs.columns = shape.columns;
  costs.dimension = shape.dimension;
  const double process = profile.process_bytes + program;
  const bool has_root = topology.route == Route::through_root && shape.clients > 1;
  prediction.process_memory_bytes =
      process + input_bytes(shape, options, static_cast<double>(shape.rows) * static_cast<double>(shape.columns));
  // The first may be a server; the slices of the others differ by a line at most.
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
    if (k == shape.clients) break;
    const double clients_like_it = k == 0 ? 1 : static_cast<double>(shape.clients - 1);
    const Layout layout = topology.layout(k, shape.clients, options);
    const ClientShape client = even_shape(costs, shape.targets, layout, shape.clients, k);
    const double held = bytes_for(options, client, place.threads);
    const double entries =
        static_cast<double>(client.block_rows) * static_cast<double>(client.block_columns) +
        (client.whole_columns ? static_cast<double>(client.all_rows) * static_cast<double>(client.columns) : 0);
    const double in_all = process + held + (entries > 0 ? input_bytes(shape, options, entries) : 0);
    double& most = has_root && k == 0 ? prediction.server_memory_bytes : prediction.memory_bytes;
    most = std::max(most, in_all);
    prediction.process_memory_bytes += clients_like_it * held;
  }
  if (options.server != Server::sums) return;
  const double words = static_cast<double>(shape.clients * shape.targets * shape.columns) * sizeof(Word);
  prediction.server_memory_bytes = process + words;
  prediction.process_memory_bytes += words;
}

/// A simulation moves the messages of this library, and they cost their clients no time.
LinkModel simulated_links(LinkModel links) {
  links.overhead = 0;
  links.algorithm = "direct";
  return links;
}

/// Exchanges overlap where all of them go by links; measured times are of each by itself.
std::vector<ExchangeCost> exchange_costs(const Profile& profile, const Round& round, bool is_simulated,
                                         double pass_seconds) {
  if (is_simulated && profile.links) return round_by_links(simulated_links(*profile.links), round, pass_seconds);
  const bool has_times = std::ranges::any_of(
      round.exchanges, [&](const RoundExchange& exchange) { return is_measured(profile, exchange.exchange); });
  if (profile.links && !has_times) return round_by_links(*profile.links, round, pass_seconds);
  std::vector<ExchangeCost> costs;
  for (const RoundExchange& exchange : round.exchanges) costs.push_back(exchange_cost(profile, exchange));
  return costs;
}

std::string bottleneck_of(const Prediction& prediction, double latency, const Options& options) {
  if (prediction.compute_seconds >= prediction.communication_seconds) {
    return options.kernel.text() == "dense" ? "reading the kernel" : "computing the kernel";
  }
  return latency > prediction.communication_seconds / 2 ? "latency of messages" : "bandwidth of links";
}

}  // namespace

Prediction predict(const Profile& profile, const SolveShape& shape) {
  check(shape);
  Options options = shape.options;
  options.clients = shape.clients;
  options.topology = resolved_topology(options, shape.clients);
  const TopologyEntry& topology = topologies().find(options.topology, "`topology`");
  require(shape.clients == 1 || topology.several_clients, "`topology`",
          fmt::format("{} is for one client", options.topology), "use row-reduce");
  require(topology.round != nullptr, "`topology`", fmt::format("{} does not state its rounds", options.topology),
          "register it with `round`");
  check_method(options, shape.clients);
  const Placement place = placement_of(profile, shape);
  const Round round = slowest_round(topology, shape, options);
  const bool is_simulated = options.transport == "simulated";

  Prediction prediction;
  prediction.topology = options.topology;
  prediction.kernel = options.kernel.text();
  prediction.precision = name_of(options.precision);
  prediction.policy = options.policy;
  prediction.clients = shape.clients;
  prediction.threads = place.threads;
  Tally tally(prediction);
  add_passes(profile, shape, options, round.work, place, tally);
  const double pass_seconds = prediction.compute_seconds / (round.work.is_fused ? 1 : 2);
  if (!is_simulated) {
    const std::size_t most_rows = (shape.rows + shape.clients - 1) / shape.clients;
    const std::size_t most_columns = (shape.columns + shape.clients - 1) / shape.clients;
    const auto rows = static_cast<double>(most_rows);
    const auto columns = static_cast<double>(most_columns);
    const double element_wise =
        static_cast<double>(shape.targets) * (rows * profile.seconds_per_row + columns * profile.seconds_per_column);
    if (element_wise > 0) tally.compute("t_ew", {element_wise});
  }
  const std::vector<ExchangeCost> costs = exchange_costs(profile, round, is_simulated, pass_seconds);
  for (std::size_t k = 0; k < costs.size(); ++k) tally.communicate(round.exchanges[k], costs[k]);
  const auto local_steps = static_cast<double>(std::max<std::int64_t>(1, options.local_steps));
  if (local_steps > 1) {
    prediction.communication_seconds /= local_steps;
    tally.add_note(fmt::format("exchanges once in {} iterations", options.local_steps));
  }
  if (is_private(options)) {
    tally.add_note("private runs sum in logs: their passes take longer than predicted here, and are not modelled");
  }
  prediction.seconds_per_iteration = prediction.compute_seconds + prediction.communication_seconds;
  if (topology.is_asynchronous) {
    prediction.seconds_per_iteration = std::max(prediction.compute_seconds, prediction.communication_seconds);
    prediction.formula = "max of passes and news: " + prediction.formula;
  }
  if (place.is_crowded) {
    tally.add_note(fmt::format("{} clients of {} thread{} on {} cores: more threads than cores, times are rough",
                               place.on_machine, place.threads, place.threads == 1 ? "" : "s", profile.machine.cores));
  }
  prediction.bottleneck = bottleneck_of(prediction, tally.latency(), options);
  add_bytes(topology, shape, options, round, prediction);
  for (std::uint64_t* sent :
       {&prediction.bytes_per_iteration, &prediction.messages_per_iteration, &prediction.bytes_per_client}) {
    *sent = static_cast<std::uint64_t>(static_cast<double>(*sent) / local_steps);
  }
  add_memory(profile, topology, shape, options, place, prediction);
  prediction.setup_seconds = setup_seconds(profile, shape, options, round.work, place);
  if (shape.iterations > 0) {
    prediction.total_seconds =
        prediction.setup_seconds + static_cast<double>(shape.iterations) * prediction.seconds_per_iteration;
  }
  return prediction;
}

Scenario scenario_of(const Profile& profile, const SolveShape& shape) {
  require(profile.links.has_value(), "`profile`", fmt::format("{} has no links", profile.name), "add `links` to it");
  SolveShape simulated = shape;
  simulated.options.transport = "simulated";
  const Prediction prediction = predict(profile, simulated);
  const TopologyEntry& topology = topologies().find(prediction.topology, "`topology`");
  const Round round = slowest_round(topology, simulated, simulated.options);
  Scenario scenario;
  scenario.latency = ConstantLaw{profile.links->latency};
  scenario.bandwidth = ConstantLaw{profile.links->bandwidth};
  scenario.shares_ports = profile.links->shares_ports;
  // A simulation charges every entry of every pass and target the same.
  scenario.seconds_per_entry = prediction.compute_seconds / (round.work.entries() * static_cast<double>(shape.targets));
  return scenario;
}

}  // namespace fedsinkhorn
