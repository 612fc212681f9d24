// What each client computed, waited for, sent and received.
#include "report/clients_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

ClientFigures figures_of(const Json& client) {
  ClientFigures figures;
  figures.client = count(client, "client");
  const Json& rows = array(client, "rows");
  if (rows.size() != 2 || !rows[0].is_number_unsigned() || !rows[1].is_number_unsigned()) {
    throw RecordError("'rows' of a client is not a range");
  }
  figures.first_row = rows[0].get<std::uint64_t>();
  figures.last_row = rows[1].get<std::uint64_t>();
  figures.compute_seconds = number(client, "compute_seconds");
  figures.communication_seconds = number(client, "communication_seconds");
  figures.bytes_sent = count(client, "bytes_sent");
  figures.bytes_received = count(client, "bytes_received");
  figures.peak_memory_bytes = count(client, "peak_memory_bytes");
  return figures;
}

Json names_of(const std::vector<ClientFigures>& clients) {
  Json names = Json::array();
  for (const ClientFigures& one : clients) names.push_back(fmt::format("client {}", one.client));
  return names;
}

template <typename Member>
Json values_of(const std::vector<ClientFigures>& clients, Member member) {
  Json values = Json::array();
  for (const ClientFigures& one : clients) values.push_back(one.*member);
  return values;
}

}  // namespace

std::optional<std::size_t> slowest_of(const std::vector<ClientFigures>& clients) {
  if (clients.size() < 2) return std::nullopt;
  std::vector<double> seconds;
  seconds.reserve(clients.size());
  for (const ClientFigures& one : clients) seconds.push_back(one.compute_seconds);
  const auto slowest = std::ranges::max_element(seconds);
  const auto index = static_cast<std::size_t>(slowest - seconds.begin());
  const double longest = *slowest;
  std::ranges::sort(seconds);
  constexpr double clearly = 1.5;
  return longest > clearly * seconds[(seconds.size() - 1) / 2] ? std::optional(index) : std::nullopt;
}

Table clients_table(const std::vector<ClientFigures>& clients) {
  Table table{"Clients", {"client", "rows", "computing", "communicating", "sent", "received", "peak memory"}, {}};
  for (const ClientFigures& one : clients) {
    table.rows.push_back({count_cell(one.client), count_cell(one.last_row - one.first_row),
                          seconds_cell(one.compute_seconds), seconds_cell(one.communication_seconds),
                          bytes_cell(one.bytes_sent), bytes_cell(one.bytes_received),
                          bytes_cell(one.peak_memory_bytes)});
  }
  return table;
}

Chart client_times_chart(const std::vector<ClientFigures>& clients) {
  Chart chart{"client-times", "Time of each client", "", Json::object(), clients_table(clients)};
  chart.spec = {
      {"kind", "bars"},
      {"categories", names_of(clients)},
      {"value", {{"title", "time"}, {"unit", "s"}}},
      {"series", Json::array({{{"name", "computing"}, {"values", values_of(clients, &ClientFigures::compute_seconds)}},
                              {{"name", "communicating and waiting"},
                               {"values", values_of(clients, &ClientFigures::communication_seconds)}}})},
      {"stacked", true},
      {"horizontal", true}};
  chart.description = "Seconds that each client spent computing, and communicating or waiting for others.";
  if (const auto slowest = slowest_of(clients)) {
    chart.spec["highlight"] = Json::array({*slowest});
    chart.description += fmt::format(" Client {} is the slowest.", clients[*slowest].client);
  }
  return chart;
}

Chart client_bytes_chart(const std::vector<ClientFigures>& clients) {
  Chart chart{"client-bytes",
              "Bytes of each client",
              "Bytes that each client sent and received in the whole run.",
              Json::object(),
              {}};
  chart.spec = {
      {"kind", "bars"},
      {"categories", names_of(clients)},
      {"value", {{"title", "bytes"}, {"unit", "B"}}},
      {"series", Json::array({{{"name", "sent"}, {"values", values_of(clients, &ClientFigures::bytes_sent)}},
                              {{"name", "received"}, {"values", values_of(clients, &ClientFigures::bytes_received)}}})},
      {"stacked", false},
      {"horizontal", true}};
  return chart;
}

std::optional<Section> clients_section(const RunRecord& run) {
  std::vector<ClientFigures> clients;
  for (const Json& client : array(run.summary, "clients")) clients.push_back(figures_of(client));
  if (clients.size() < 2) return std::nullopt;
  Section section{"clients", "Clients"};
  const auto total = [&](auto member) {
    return std::accumulate(clients.begin(), clients.end(), 0.0,
                           [&](double sum, const ClientFigures& one) { return sum + one.*member; });
  };
  const double computing = total(&ClientFigures::compute_seconds);
  const double communicating = total(&ClientFigures::communication_seconds);
  if (computing + communicating > 0) {
    section.paragraphs.push_back(fmt::format("{:.0f} % of the clients' time went into communication and waiting.",
                                             100 * communicating / (computing + communicating)));
  }
  if (const auto slowest = slowest_of(clients)) {
    section.paragraphs.push_back(
        fmt::format("Client {} computed for clearly longer than the median client.", clients[*slowest].client));
  }
  section.charts = {client_times_chart(clients), client_bytes_chart(clients)};
  return section;
}

}  // namespace fedsinkhorn::report
