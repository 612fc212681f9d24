#include "watch/live_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "report/clients_chart.hpp"
#include "report/convergence_chart.hpp"
#include "report/number_text.hpp"
#include "report/svg.hpp"

namespace fedsinkhorn {
namespace {

using report::Cell;
using report::Chart;
using report::ClientFigures;
using report::Facts;
using report::Json;
using report::Page;
using report::Section;
using report::Table;

ClientFigures figures_of(const ClientProgress& progress) {
  ClientFigures figures;
  figures.client = progress.client;
  figures.compute_seconds = progress.compute_seconds;
  figures.communication_seconds = progress.communication_seconds;
  figures.bytes_sent = progress.bytes_sent;
  figures.bytes_received = progress.bytes_received;
  return figures;
}

/// Of those that have reported.
std::vector<ClientFigures> figures_seen(const LiveState& state) {
  std::vector<ClientFigures> figures;
  for (const auto& client : state.clients) {
    if (client) figures.push_back(figures_of(*client));
  }
  return figures;
}

double seconds_per_iteration(const ClientProgress& client) {
  return client.compute_seconds / static_cast<double>(std::max<std::int64_t>(1, client.iteration));
}

double median_seconds_per_iteration(const LiveState& state) {
  std::vector<double> seconds;
  for (const auto& client : state.clients) {
    if (client) seconds.push_back(seconds_per_iteration(*client));
  }
  if (seconds.empty()) return 0;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>((seconds.size() - 1) / 2);
  std::ranges::nth_element(seconds, middle);
  return *middle;
}

std::string sentence_on_slow_client(const LiveState& state, std::size_t slow) {
  const double times = seconds_per_iteration(*state.clients[slow]) / median_seconds_per_iteration(state);
  if (!std::isfinite(times)) return fmt::format("client {}", slow);
  return fmt::format("client {} computes {:.1f} times as long for an iteration as the median client", slow, times);
}

Facts client_facts(const RunDescription& run, const LiveState& state) {
  Facts facts{"", {}, "live-slowest"};
  const auto slow = slow_client(state);
  facts.values.emplace_back("slowest", slow ? sentence_on_slow_client(state, *slow) : "no client is clearly slower");
  if (run.sees_all_clients) {
    facts.values.emplace_back("have reported",
                              fmt::format("{} of {} clients", figures_seen(state).size(), run.clients));
  }
  return facts;
}

std::int64_t foremost_iteration(const LiveState& state) {
  std::int64_t foremost = 0;
  for (const auto& client : state.clients) {
    if (client) foremost = std::max(foremost, client->iteration);
  }
  return foremost;
}

Cell iteration_cell(std::int64_t iteration) {
  return report::count_cell(static_cast<std::uint64_t>(std::max<std::int64_t>(0, iteration)));
}

Table live_clients_table(const RunDescription& run, const LiveState& state) {
  Table table{"Clients",
              {"client", "iteration", "behind", "computing", "communicating", "sent", "received", "note"},
              {},
              "live-clients"};
  const std::int64_t foremost = foremost_iteration(state);
  const auto slow = slow_client(state);
  for (std::size_t k = 0; k < state.clients.size(); ++k) {
    const auto& client = state.clients[k];
    if (!client) {
      const char* note = run.sees_all_clients || k == 0 ? "has not reported yet" : "in another process";
      const Cell none{"–", true};
      table.rows.push_back({report::count_cell(k), none, none, none, none, none, none, {note}});
      continue;
    }
    table.rows.push_back({report::count_cell(k),
                          iteration_cell(client->iteration),
                          iteration_cell(foremost - client->iteration),
                          report::seconds_cell(client->compute_seconds),
                          report::seconds_cell(client->communication_seconds),
                          report::bytes_cell(client->bytes_sent),
                          report::bytes_cell(client->bytes_received),
                          {slow == k ? "slowest" : ""}});
  }
  return table;
}

Chart live_times_chart(const LiveState& state) {
  const std::vector<ClientFigures> seen = figures_seen(state);
  Chart chart = report::client_times_chart(seen);
  chart.description = "Seconds that each client spent computing, and communicating or waiting for others, so far.";
  chart.data = {};  // the table of clients has them
  chart.spec.erase("highlight");
  if (const auto slow = slow_client(state)) {
    const auto at = std::ranges::find(seen, *slow, &ClientFigures::client);
    chart.spec["highlight"] = Json::array({at - seen.begin()});
  }
  return chart;
}

Chart live_convergence_chart(const RunDescription& run, const LiveState& state) {
  Chart chart = report::convergence_chart(state.trace, run.norm, state.progress ? state.progress->tolerance : 0);
  chart.data.caption = "Marginal errors of some iterations so far";
  chart.data.id = "live-errors";
  return chart;
}

double iterations_per_second(const RunDescription& run, const LiveState& state) {
  const double seconds = run.clock_is_virtual ? state.seconds : state.progress->seconds;
  return seconds > 0 ? static_cast<double>(state.progress->iteration) / seconds : 0;
}

Facts live_facts(const RunDescription& run, const LiveState& state) {
  using report::number_text;
  Facts facts{"Progress", {}, "live-facts"};
  auto& values = facts.values;
  values.emplace_back("status", state.is_finished ? state.outcome : state.progress ? "running" : "starting");
  values.emplace_back("time", report::seconds_text(state.seconds));
  if (!state.progress) return facts;
  const Progress& now = *state.progress;
  values.emplace_back("iteration", fmt::format("{} of at most {}", iteration_cell(now.iteration).text,
                                               iteration_cell(now.max_iterations).text));
  values.emplace_back(fmt::format("error ({})", run.norm), number_text(now.error_b));
  values.emplace_back("tolerance", now.tolerance > 0 ? number_text(now.tolerance) : "none");
  values.emplace_back("iterations per second", fmt::format("{:.3g}", iterations_per_second(run, state)));
  if (run.clock_is_virtual) values.emplace_back("simulated time", report::seconds_text(now.seconds));
  if (now.is_on_the_way) values.emplace_back("epsilon of this level", number_text(now.epsilon));
  if (now.targets_left > 1) values.emplace_back("targets left", report::count_text(now.targets_left));
  return facts;
}

}  // namespace

std::optional<std::size_t> slow_client(const LiveState& state) {
  std::vector<ClientFigures> figures;
  for (const auto& client : state.clients) {
    if (!client) continue;
    figures.push_back(figures_of(*client));
    figures.back().compute_seconds = seconds_per_iteration(*client);
  }
  const auto slowest = report::slowest_of(figures);
  return slowest ? std::optional<std::size_t>(figures[*slowest].client) : std::nullopt;
}

std::string live_status(const LiveState& state) {
  if (state.is_finished) return state.outcome;
  if (!state.progress) return "starting: no iteration is finished yet";
  std::string text = "iteration " + iteration_cell(state.progress->iteration).text;
  if (!std::isnan(state.progress->error_b)) text += ", error " + svg::scientific(state.progress->error_b);
  if (state.seconds_left) text += ", about " + report::seconds_text(*state.seconds_left) + " left";
  return text;
}

Page live_page(const RunDescription& run, const LiveState& state) {
  Page page{run.title, "This page follows the run, and ends with it. The run itself serves it, only to this machine."};
  page.events = "events";
  Section overview{"overview", "Progress"};
  overview.facts = {live_facts(run, state), Facts{"Problem", run.facts}};
  Section convergence{"convergence", "Convergence"};
  convergence.charts = {live_convergence_chart(run, state)};
  Section clients{"clients", "Clients"};
  if (!run.sees_all_clients) {
    clients.paragraphs = {
        "Only client 0 is seen here: it is in this process, the others are in processes of their own. Summaries and "
        "reports have all of them, when the run is finished."};
  }
  clients.facts = {client_facts(run, state)};
  clients.charts = {live_times_chart(state)};
  clients.tables = {live_clients_table(run, state)};
  page.sections = {overview, convergence, clients};
  page.footer = "Made by fedsinkhorn solve --watch.";
  return page;
}

std::string live_event(const RunDescription& run, const LiveState& state) {
  const Chart convergence = live_convergence_chart(run, state);
  const Facts facts = live_facts(run, state);
  const Facts slowest = client_facts(run, state);
  const Table clients = live_clients_table(run, state);
  const Chart times = live_times_chart(state);
  const Json event = {{"charts", {{convergence.id, convergence.spec}, {times.id, times.spec}}},
                      {"parts",
                       {{facts.id, report::facts_html(facts)},
                        {slowest.id, report::facts_html(slowest)},
                        {clients.id, report::table_html(clients)},
                        {convergence.data.id, report::table_html(convergence.data)}}},
                      {"status", live_status(state)},
                      {"done", state.is_finished}};
  return event.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace fedsinkhorn
