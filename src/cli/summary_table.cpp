#include "cli/summary_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/exit_status.hpp"
#include "cli/refusal.hpp"
#include "core/memory.hpp"
#include "core/names.hpp"
#include "core/printable.hpp"
#include "core/processors.hpp"
#include "io/hint.hpp"
#include "io/privacy_report.hpp"
#include "io/sums_report.hpp"

namespace fedsinkhorn {
namespace {

std::string solve_outcome(const Result& result, const Options& options) {
  switch (result.status) {
    case Status::converged: return fmt::format("converged in {} iterations", result.iterations);
    case Status::iteration_limit: return fmt::format("not converged: iteration limit {}", options.max_iterations);
    case Status::diverged: return fmt::format("diverged at iteration {}", result.iterations);
    case Status::client_lost: return fmt::format("a client was lost at iteration {}", result.iterations);
    case Status::budget_spent: return fmt::format("budget spent after {} iterations", result.iterations);
    case Status::sums_limit: return fmt::format("limit of sums reached after {} iterations", result.iterations);
    case Status::interrupted: break;
  }
  return fmt::format("interrupted at iteration {}", result.iterations);
}

/// Maxima over the clients.
std::string solve_clients_line(const Result& result) {
  double computing = 0;
  double communicating = 0;
  std::uint64_t sent = 0;
  for (const ClientReport& client : result.clients) {
    computing = std::max(computing, client.compute_seconds);
    communicating = std::max(communicating, client.communication_seconds);
    sent = std::max(sent, client.sent.total());
  }
  return fmt::format("{} by {} over {}; each computing up to {:.3g} s, communicating {:.3g} s, sending {}",
                     result.clients.size(), result.topology, result.transport, computing, communicating,
                     human_bytes(sent));
}

std::string processors_line(const Result& result) {
  if (!result.device.empty()) return fmt::format("{} ({})", result.device, result.backend);
  return fmt::format("{} thread{}{}, {}", result.threads, result.threads == 1 ? "" : "s",
                     result.clients.size() > 1 ? " a client" : "", result.simd);
}

bool has_mass_one(const Result& result) { return std::abs(result.mass - 1) < 1e-5; }

std::string summary_line(const std::string& name, const std::string& value) {
  return fmt::format("  {:<12} {}\n", name, printable_line(value));
}

/// For one target, "cost" of summary.json. For several, the sums, also in summary.json; for a few, also a line each.
std::string costs_lines(const Result& result) {
  constexpr std::size_t kFew = 8;
  const Costs& cost = result.cost;
  std::string text;
  std::string summed;
  if (result.targets > 1) {
    const auto done = std::count_if(result.per_target.begin(), result.per_target.end(),
                                    [](const TargetResult& target) { return target.status == Status::converged; });
    text += summary_line("converged", fmt::format("{} of {} targets", done, result.targets));
    for (std::size_t k = 0; k < result.per_target.size() && result.targets <= kFew; ++k) {
      const Costs& own = result.per_target[k].cost;
      text += summary_line(fmt::format("target {}", k),
                           fmt::format("<P, C> {:.12g}, Shannon entropy {:.12g}, objective {:.12g}", own.linear,
                                       own.shannon_entropy, own.objective));
    }
    summed = fmt::format("  (sum of {} targets)", result.targets);
  }
  text += summary_line("<P, C>", fmt::format("{:.12g}{}", cost.linear, summed));
  text += summary_line("entropy", fmt::format("{:.12g}  (Shannon {:.12g})", cost.entropy, cost.shannon_entropy));
  text += summary_line("objective", fmt::format("{:.12g}  (dual {:.12g}, with KL {:.12g})", cost.objective, cost.dual,
                                                cost.kl_objective));
  return text;
}

/// Of a private run: nothing that was not released.
std::string released_lines(const Result& result) {
  std::string text;
  if (!std::isnan(result.error.b)) {
    text += summary_line(
        "error", fmt::format("columns {:.2e} as released, noise included ({})", result.error.b, name_of(result.norm)));
  }
  if (!std::isnan(result.cost.linear))
    text += summary_line("<P, C>", fmt::format("{:.6g} as released", result.cost.linear));
  for (const auto& [name, value] : privacy_lines(result.privacy)) text += summary_line(name, value);
  return text;
}

/// What is coarser than float32.
std::string what_is_coarse(Precision precision) {
  if (precision == Precision::bfloat16) return ", kernel entries to 2^-9";
  if (precision == Precision::tf32) return ", products of coordinates to 2^-11 or better";
  return "";
}

}  // namespace

namespace {

/// Predicted beside measured, a line each.
std::string explanation_lines(const Result& result) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("  {:<12} {}\n", name, value);
  };
  if (!result.explanation.empty())
    line("predicted", fmt::format("by profile {}; then measured, and their ratio", result.explained_by));
  for (const PredictedAndMeasured& figure : result.explanation) {
    const std::string ratio = figure.measured > 0 ? fmt::format("{:.2f}", figure.predicted / figure.measured) : "-";
    line("", fmt::format("{:<22} {:>12.5g} {:>12.5g} {:>6}", figure.what, figure.predicted, figure.measured, ratio));
  }
  if (!result.explanation_formula.empty()) line("", "T = " + result.explanation_formula);
  for (const std::string& note : result.explanation_notes) line("", "note: " + note);
  return text;
}

}  // namespace

std::string summary_table(const Result& result, const Options& options, double epsilon, const std::string& output) {
  std::string text;
  const auto line = [&](const char* name, const std::string& value) { text += summary_line(name, value); };
  text += solve_outcome(result, options) + "\n";
  line("problem", fmt::format("{} x {}{}, epsilon {:g}", result.rows, result.columns,
                              result.targets > 1 ? fmt::format(", {} targets", result.targets) : "", epsilon));
  const bool is_private = !result.privacy.mechanism.empty();
  if (is_private) {
    text += released_lines(result);
  } else {
    line("error", fmt::format("rows {:.2e}, columns {:.2e} ({}{}{})", result.error.a, result.error.b,
                              name_of(result.norm), result.targets > 1 ? ", worst target" : "",
                              has_mass_one(result) ? "" : fmt::format(", of a mass of {:g}", result.mass)));
    text += costs_lines(result);
  }
  const double iterations = static_cast<double>(std::max<std::int64_t>(1, result.iterations));
  const double in_all = result.clock_is_virtual ? result.virtual_seconds : result.wall_seconds;
  line("time", fmt::format("{:.3g} s iterating ({:.3g} ms each), {:.3g} s in all", result.solve_seconds,
                           1e3 * result.solve_seconds / iterations, in_all));
  std::string method = result.method;
  if (result.levels > 0) method += fmt::format(", {} levels of epsilon", result.levels);
  if (result.rejected > 0) method += fmt::format(", {} rejected rounds", result.rejected);
  if (result.newton.steps > 0) method += fmt::format(", {} Newton steps", result.newton.steps);
  if (result.newton.products > 0) method += fmt::format(" with {} products", result.newton.products);
  line("method", method);
  if (result.newton.from > 0) {
    line("", fmt::format("Newton after iteration {}: {}", result.newton.from, result.newton.reason));
  }
  if (result.clients.size() > 1) line("clients", solve_clients_line(result));
  const SumsSeen seen{result.sums, result.client_count};
  if (const std::string privacy = privacy_sentence(seen, options); !privacy.empty()) {
    line("policy", fmt::format("{}: {}", options.policy, privacy));
  }
  if (are_rows_determined(seen)) line("warning", kRowsAreDetermined);
  if (result.clock_is_virtual) {
    line("simulated", fmt::format("{:.6g} virtual seconds, seed {}; times above are virtual, too",
                                  result.virtual_seconds, options.scenario.seed));
  }
  const std::string kernel = fmt::format("{} kernel of {}", name_of(options.kernel), human_bytes(result.kernel_bytes));
  line("ran on",
       fmt::format("{}, {}, {}", processors_line(result), is_private ? "sums in logs" : kernel,
                   options.precision == Precision::digits50 ? "50 digits" : std::string(name_of(options.precision))));
  if (is_reduced(options.precision)) {
    line("precision", fmt::format("reduced{}; on the exact costs the errors are {:.1e} and {:.1e}",
                                  what_is_coarse(options.precision), result.exact_error.a, result.exact_error.b));
  }
  text += explanation_lines(result);
  const std::string what_to_try = hint(result, options);
  if (!what_to_try.empty()) line("hint", what_to_try);
  if (what_to_try.empty() && options.tolerance > 0 && options.tolerance * result.mass < result.error_floor) {
    line("note", fmt::format("the tolerance {:g} is below what rounding allows here, about {:.1e}", options.tolerance,
                             result.error_floor / result.mass));
  }
  if (result.rests_matter && !output.empty()) {
    line("note", fmt::format("rounded to float64, f and g alone define a plan that is off by up to {:.1e}",
                             result.rounding_error));
  }
  if (std::isnan(result.cost.linear) && result.status == Status::interrupted) {
    line("note", "interrupted: to evaluate the costs would have taken another pass over all pairs");
  }
  if (result.threads > processors_allowed()) {
    line("note", fmt::format("{} threads, but this process may use {} of {} cores; under mpirun see --bind-to",
                             result.threads, processors_allowed(), processors_online()));
  }
  if (!output.empty()) line("written to", output);
  return text;
}

void print_outcome(const Result& result, const Options& options, double epsilon, const std::string& output,
                   bool quiet) {
  if (!quiet) return fmt::print("{}", summary_table(result, options, epsilon, output));
  if (are_rows_determined({result.sums, result.client_count})) {
    fmt::print(stderr, "fedsinkhorn: warning: {}\n", kRowsAreDetermined);
  }
  if (exit_status(result.status) != kNotConverged) return;
  const std::string line =
      fmt::format("{}, error {:.1e}, tolerance {:g}; {}", solve_outcome(result, options),
                  std::max(result.error.a, result.error.b), options.tolerance, hint(result, options));
  fmt::print(stderr, "{}\n", refusal_line(line));
}

}  // namespace fedsinkhorn
