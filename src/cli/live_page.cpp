#include "cli/live_page.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "core/names.hpp"
#include "registry/registry.hpp"
#include "report/number_text.hpp"
#include "solve/check_options.hpp"

namespace fedsinkhorn {
namespace {

std::string outcome_in_words(const Result& result) {
  const std::string iterations = report::count_text(static_cast<std::uint64_t>(result.iterations));
  switch (result.status) {
    case Status::converged: return fmt::format("converged in {} iterations", iterations);
    case Status::iteration_limit:
      return fmt::format("not converged: stopped at the limit of {} iterations", iterations);
    case Status::diverged: return fmt::format("diverged at iteration {}", iterations);
    case Status::interrupted: return fmt::format("interrupted after {} iterations", iterations);
    case Status::budget_spent: return fmt::format("privacy budget spent after {} iterations", iterations);
    case Status::sums_limit: return fmt::format("limit of sums reached after {} iterations", iterations);
    case Status::client_lost: return fmt::format("a client was lost at iteration {}", iterations);
  }
  return "ended";
}

}  // namespace

LivePage::~LivePage() { finish("ended early"); }

void LivePage::open(const std::string& address, RunDescription description) {
  run_ = std::make_unique<LiveRun>(std::move(description));
  server_ = std::make_unique<WatchServer>(*run_, parse_watch_address(address));
}

void LivePage::announce() const {
  if (!server_) return;
  fmt::print(stderr, "watch: {}\n", server_->url());
  std::fflush(stderr);
}

void LivePage::follow(Options& options) {
  if (!server_) return;
  options.on_check = [this, others = std::move(options.on_check)](const Progress& now) {
    run_->update(now);
    if (others) others(now);
  };
  options.on_client_check = [this](const ClientProgress& now) { run_->update(now); };
}

void LivePage::finish(const Result& result) { finish(outcome_in_words(result)); }

void LivePage::finish(const std::string& outcome) {
  if (!server_) return;
  run_->finish(outcome);
  server_->stop();
}

RunDescription describe_live(const LiveShape& shape, const Options& options, const std::string& folder) {
  RunDescription run;
  run.title = folder.empty() ? "Optimal transport (live)" : fmt::format("Optimal transport: {} (live)", folder);
  run.clients = shape.clients;
  run.sees_all_clients = shape.share_process;
  run.clock_is_virtual = transports().find(options.transport, "--transport").simulates;
  run.norm = name_of(options.norm);
  const auto add_count = [&](const char* name, std::size_t count) {
    if (count > 0) run.facts.emplace_back(name, report::count_text(count));
  };
  add_count("rows", shape.rows);
  add_count("columns", shape.columns);
  add_count("targets", shape.targets);
  run.facts.emplace_back("epsilon", report::number_text(shape.epsilon));
  add_count("clients", shape.clients);
  run.facts.emplace_back("topology", resolved_topology(options, shape.clients));
  run.facts.emplace_back("method", resolved_method(options));
  run.facts.emplace_back("transport", shape.share_process ? options.transport : "mpi");
  run.facts.emplace_back("policy", options.policy);
  run.facts.emplace_back("kernel", options.kernel.text());
  run.facts.emplace_back("precision", name_of(options.precision));
  return run;
}

}  // namespace fedsinkhorn
