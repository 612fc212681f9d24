#include "registry/registry.hpp"

#include "backend/cpu/cpu_block.hpp"
#include "backend/cuda/cuda_block.hpp"
#include "build_info.hpp"

namespace fedsinkhorn {
namespace {

bool are_points(const CostInput& costs) { return costs.points() != nullptr; }

PolicyEntry policy(std::string_view name, std::string_view sentence, const PayloadRules& rules, bool adds_securely) {
  return {name,  sentence,      [=] { return std::make_unique<TablePolicy>(name, rules, !adds_securely); },
          rules, adds_securely, adds_securely};
}

constexpr std::string_view kReleases = "nothing but releases with noise leaves";

PolicyEntry private_policy(const PayloadRules& rules, bool adds_securely) {
  return {"private", kReleases,     [=] { return std::make_unique<TablePolicy>("private", rules, false); },
          rules,     adds_securely, true};
}

}  // namespace

Registry<TopologyEntry>& topologies() {
  static Registry<TopologyEntry> entries = {
      TopologyEntry{.name = "centralized",
                    .layout = centralized_layout,
                    .exchanges = centralized_exchanges,
                    .round = centralized_round,
                    .several_clients = false},
      TopologyEntry{.name = "all-to-all",
                    .layout = all_to_all_layout,
                    .exchanges = all_to_all_exchanges,
                    .round = all_to_all_round,
                    .keeps_bits = true,
                    .only_open = "its clients tell each other u and v, from which rows of the costs follow"},
      TopologyEntry{.name = "star",
                    .layout = star_layout,
                    .exchanges = star_exchanges,
                    .round = star_round,
                    .route = Route::through_root,
                    .keeps_bits = true,
                    .only_open = "its server holds all costs, and sees u and v"},
      TopologyEntry{.name = "grid",
                    .layout = grid_layout,
                    .exchanges = grid_exchanges,
                    .round = grid_round,
                    .takes_local_steps = false,
                    .only_open = "no client of it has whole rows, so clients tell each other parts of u"},
      TopologyEntry{.name = "row-reduce",
                    .layout = row_reduce_layout,
                    .exchanges = row_reduce_exchanges,
                    .round = row_reduce_round},
      TopologyEntry{.name = "async",
                    .layout = all_to_all_layout,
                    .make = make_asynchronous,
                    .round = asynchronous_round,
                    .only_open = "its clients tell each other u and v, from which rows of the costs follow",
                    .is_asynchronous = true},
  };
  return entries;
}

Registry<MethodEntry>& methods() {
  static Registry<MethodEntry> entries = {
      MethodEntry{
          .name = "auto", .make = make_anderson, .anneals = true, .make_if_slow = make_newton, .on_device = true},
      MethodEntry{.name = "anderson", .make = make_anderson, .on_device = true},
      MethodEntry{
          .name = "newton", .make = make_newton, .anneals = true, .is_thorough = true, .needs_whole_rows = true},
      MethodEntry{.name = "overrelaxed", .make = make_overrelaxation, .relaxes = true},
      MethodEntry{.name = "sinkhorn", .on_device = true},
  };
  return entries;
}

Registry<BackendEntry>& backends() {
  static Registry<BackendEntry> entries = {
      BackendEntry{"auto", ""},
      BackendEntry{"cpu", ""},
      BackendEntry{"cuda", build_info::kCuda ? "" : "built without CUDA"},
  };
  return entries;
}

Registry<KernelEntry>& kernels() {
  using enum Precision;
  static Registry<KernelEntry> entries = {
      KernelEntry{.name = "dense",
                  .backends = {{.backend = "cpu",
                                .make = make_cpu_block<make_dense_kernel>,
                                .bytes = dense_kernel_bytes,
                                .precisions = {float64, float32, mixed}},
                               {.backend = "cuda",
                                .make = cuda::make_dense_block,
                                .bytes = cuda::dense_block_bytes,
                                .precisions = {float64, float32, mixed, bfloat16}}}},
      KernelEntry{.name = "online",
                  .backends = {{.backend = "cpu",
                                .make = make_cpu_block<make_online_kernel>,
                                .bytes = online_kernel_bytes,
                                .precisions = {float64, float32, mixed}},
                               {.backend = "cuda",
                                .make = cuda::make_online_block,
                                .bytes = cuda::online_block_bytes,
                                .precisions = {float64, float32, mixed, tf32},
                                .takes = are_points,
                                .needs = "points"}}},
  };
  return entries;
}

Registry<TransportEntry>& transports() {
  static Registry<TransportEntry> entries = {
      TransportEntry{.name = "threads", .run = run_threads},
      TransportEntry{
          .name = "mpi", .missing = build_info::kMpi ? "" : "built without MPI", .join = make_mpi_communicator},
      TransportEntry{
          .name = "simulated",
          .run = [](std::size_t clients, const RunSettings& settings,
                    const ClientBody& body) { run_simulated(clients, settings.timeout, settings.scenario, body); },
          .simulates = true},
  };
  return entries;
}

Registry<PolicyEntry>& policies() {
  static Registry<PolicyEntry> entries = {
      policy("open", "every message may leave, as it is", kOpen, false),
      policy("sums", "data leaves only inside sums over all clients, behind masks", kSums, true),
      PolicyEntry{.name = "private",
                  .sentence = kReleases,
                  .make = {},
                  .rules = releases_alone(May::never, May::never),
                  .keeps_apart = true,
                  .asks_mechanism = true},
  };
  return entries;
}

Registry<MechanismEntry>& mechanisms() {
  static Registry<MechanismEntry> entries = {
      MechanismEntry{.name = "marginal",
                     .sentence = "the columns' plan mass, with noise in shares inside a secure sum",
                     .policy = private_policy(releases_alone(May::masked, May::plain), true),
                     .topologies = {"row-reduce", "centralized"},
                     .check = check_marginal,
                     .run = run_marginal,
                     .public_columns = true},
      MechanismEntry{.name = "scalings",
                     .sentence = "log u and log v, clipped and with noise, as in the paper",
                     .policy = private_policy(releases_alone(May::plain, May::never), false),
                     .topologies = {"all-to-all", "star", "async"},
                     .check = check_scalings,
                     .run = run_scalings},
  };
  return entries;
}

const PolicyEntry& policy_of(const Options& options) {
  const PolicyEntry& policy = policies().find(options.policy, "`policy`");
  return policy.asks_mechanism ? mechanisms().find(options.mechanism, "`mechanism`").policy : policy;
}

bool is_private(const Options& options) { return policies().find(options.policy, "`policy`").asks_mechanism; }

}  // namespace fedsinkhorn
