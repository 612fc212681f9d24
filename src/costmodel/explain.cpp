#include "costmodel/explain.hpp"

#include <algorithm>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
double seconds_of_iteration(const Result& result) {
  constexpr std::size_t kFirst = 5;
  std::vector<double> steps;
  const std::vector<TraceRow>& trace = result.trace;
  for (std::size_t k = trace.size() > 2 * kFirst ? kFirst : 1; k < trace.size(); ++k) {
    const auto iterations = static_cast<double>(trace[k].iteration - trace[k - 1].iteration);
    if (iterations > 0) steps.push_back((trace[k].seconds - trace[k - 1].seconds) / iterations);
  }
  if (steps.empty()) return result.iterations > 0 ? result.solve_seconds / static_cast<double>(result.iterations) : 0;
  std::ranges::nth_element(steps, steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2));
  return steps[steps.size() / 2];
}

CalibrationPlan plan_for(const SolveShape& shape) {
  constexpr std::size_t kLarge = 4160;
  constexpr std::size_t kBeyondCaches = 7500;
  CalibrationPlan plan;
  plan.clients = {shape.clients};
  plan.kernels = {shape.options.kernel.text()};
  plan.precisions = {shape.options.precision};
  plan.targets = {shape.targets};
  const std::size_t size = std::clamp<std::size_t>(std::max(shape.rows, shape.columns), 64, kLarge);
  plan.sizes = {size / 2, size};
  if (std::max(shape.rows, shape.columns) > kLarge) plan.sizes.push_back(kBeyondCaches);
  plan.online_size = size;
  plan.dimensions = {std::max<std::size_t>(shape.dimension, 1)};
  plan.with_secure_sums = policy_of(shape.options).adds_securely;
  plan.threads = shape.options.threads;
  return plan;
}

void explain(const Profile& profile, bool is_of_this_process, const SolveShape& shape, Result& result) {
  SolveShape as_run = shape;
  as_run.rows = result.rows;
  as_run.columns = result.columns;
  as_run.targets = result.targets;
  as_run.options.topology = result.topology;
  if (!result.privacy.mechanism.empty()) {
    result.explanation_notes.emplace_back("private runs sum in logs, which is not modelled");
    return;
  }
  as_run.iterations = result.iterations;
  Prediction prediction;
  try {
    prediction = predict(profile, as_run);
  } catch (const InputError& error) {
    result.explanation_notes.emplace_back(error.what());
    return;
  }
  result.explained_by = profile.name;
  result.explanation_notes = prediction.notes;
  for (const std::string& doubt : doubts_about(profile)) result.explanation_notes.push_back(doubt);
  const auto iterations = static_cast<double>(std::max<std::int64_t>(1, result.iterations));
  double bytes = 0;
  double memory = 0;
  for (const ClientReport& client : result.clients) {
    bytes += static_cast<double>(client.sent.rounds) / iterations;
    memory = std::max(memory, static_cast<double>(client.peak_memory_bytes));
  }
  // A server's bytes are not in the result, nor those of other clients, processes of their own, with policy sums.
  const bool is_of_one = result.clients.size() < result.client_count;
  const std::uint64_t sent_by_clients = is_of_one ? prediction.bytes_per_client
                                        : shape.options.server == Server::sums
                                            ? prediction.bytes_per_client * prediction.clients
                                            : prediction.bytes_per_iteration;
  if (is_of_one) {
    result.explanation_notes.emplace_back(
        "bytes and memory are those of one client: policy sums keeps the others' to themselves");
  }
  if (is_of_this_process) {
    result.explanation_notes.emplace_back("memory is compared where a profile is given: this run calibrated itself");
  }
  const bool share_process = result.transport != "mpi";
  const double predicted_memory = share_process ? prediction.process_memory_bytes
                                                : std::max(prediction.memory_bytes, prediction.server_memory_bytes);
  result.explanation = {
      {"seconds_per_iteration", prediction.seconds_per_iteration, seconds_of_iteration(result)},
      {"bytes_per_iteration", static_cast<double>(sent_by_clients), bytes},
      {"memory_bytes", predicted_memory, result.clock_is_virtual || is_of_this_process ? 0 : memory},
      {"total_seconds", prediction.total_seconds,
       result.clock_is_virtual ? result.virtual_seconds : result.wall_seconds},
  };
  result.explanation_formula = prediction.formula;
  if (result.newton.steps > 0) {
    result.explanation_notes.emplace_back("Newton steps are not predicted: they take longer, and more memory");
  }
}

}  // namespace fedsinkhorn
