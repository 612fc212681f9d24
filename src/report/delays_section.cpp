// How old the slices were that asynchronous clients used.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

/// Uses by staleness.
std::map<std::uint64_t, double> histogram_of(const Json& delays) {
  std::map<std::uint64_t, double> uses;
  for (const auto& [staleness, number_of_uses] : member(delays, "histogram").items()) {
    std::uint64_t age = 0;
    const auto [end, failure] = std::from_chars(staleness.data(), staleness.data() + staleness.size(), age);
    if (failure != std::errc() || end != staleness.data() + staleness.size() || !number_of_uses.is_number()) {
      throw RecordError("'histogram' of delays has an entry that is no count");
    }
    uses[age] = number_of_uses.get<double>();
  }
  return uses;
}

Chart staleness_chart(const Json& delays) {
  const auto u = histogram_of(member(delays, "u"));
  const auto v = histogram_of(member(delays, "v"));
  std::uint64_t oldest = 0;
  for (const auto* uses : {&u, &v}) {
    if (!uses->empty()) oldest = std::max(oldest, uses->rbegin()->first);
  }
  constexpr std::uint64_t most = 200;
  oldest = std::min(oldest, most);
  Chart chart{
      "staleness", "Staleness of the slices used",
      fmt::format("How often a slice of u or v was used that was so many iterations old; the oldest was {}.", oldest),
      Json::object(), Table{"Uses by staleness", {"staleness", "uses of u", "uses of v"}, {}}};
  Json categories = Json::array();
  Json of_u = Json::array();
  Json of_v = Json::array();
  const auto at = [](const std::map<std::uint64_t, double>& uses, std::uint64_t age) {
    const auto found = uses.find(age);
    return found == uses.end() ? 0.0 : found->second;
  };
  for (std::uint64_t age = 0; age <= oldest; ++age) {
    categories.push_back(std::to_string(age));
    of_u.push_back(at(u, age));
    of_v.push_back(at(v, age));
    chart.data.rows.push_back({count_cell(age), number_cell(at(u, age)), number_cell(at(v, age))});
  }
  chart.spec = {{"kind", "bars"},
                {"categories", categories},
                {"category", {{"title", "staleness in iterations"}}},
                {"value", {{"title", "uses"}}},
                {"series", Json::array({{{"name", "u"}, {"values", of_u}}, {{"name", "v"}, {"values", of_v}}})},
                {"stacked", false},
                {"horizontal", false}};
  return chart;
}

Table pairs_table(const Json& pairs) {
  Table table{
      "By pair of clients", {"slice", "from", "to", "uses", "superseded", "least", "most", "mean", "deviation"}, {}};
  for (const Json& pair : pairs) {
    table.rows.push_back({{text(pair, "slice")},
                          count_cell(count(pair, "from")),
                          count_cell(count(pair, "to")),
                          count_cell(count(pair, "uses")),
                          count_cell(count(pair, "superseded")),
                          number_cell(number(pair, "min")),
                          number_cell(number(pair, "max")),
                          number_cell(number(pair, "mean")),
                          number_cell(number(pair, "std"))});
  }
  return table;
}

/// Mean staleness of u by sender and receiver.
std::optional<Chart> pairs_chart(const Json& pairs) {
  std::uint64_t clients = 0;
  for (const Json& pair : pairs) clients = std::max({clients, count(pair, "from") + 1, count(pair, "to") + 1});
  constexpr std::uint64_t most = 64;
  if (clients < 3 || clients > most) return std::nullopt;
  std::vector<Json> means(clients * clients, Json(nullptr));
  for (const Json& pair : pairs) {
    if (text(pair, "slice") != "u") continue;
    means[count(pair, "from") * clients + count(pair, "to")] = number_or_null(number(pair, "mean"));
  }
  Chart chart{"staleness-pairs",
              "Mean staleness of u by pair of clients",
              "A square for each sender and receiver; darker ones used older slices.",
              Json::object(),
              {}};
  chart.spec = {{"kind", "heatmap"},
                {"x", {{"title", "receiver"}}},
                {"y", {{"title", "sender"}}},
                {"value", {{"title", "mean staleness"}}},
                {"rows", clients},
                {"columns", clients},
                {"row_step", 1},
                {"column_step", 1},
                {"values", means}};
  return chart;
}

}  // namespace

std::optional<Section> delays_section(const RunRecord& run) {
  if (!has(run.summary, "delays")) return std::nullopt;
  const Json& delays = member(run.summary, "delays");
  Section section{"delays", "Delays"};
  section.paragraphs.emplace_back(
      "Asynchronous clients use the newest slices they have. A slice's staleness is the number of iterations by which "
      "it "
      "lags behind its user.");
  section.charts.push_back(staleness_chart(delays));
  if (!has(delays, "pairs")) return section;  // there are too many clients for that
  const Json& pairs = array(delays, "pairs");
  if (auto chart = pairs_chart(pairs)) section.charts.push_back(std::move(*chart));
  section.tables.push_back(pairs_table(pairs));
  return section;
}

}  // namespace fedsinkhorn::report
