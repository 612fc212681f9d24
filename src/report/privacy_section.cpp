// What left the clients, and which privacy that gives.
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "report/number_text.hpp"
#include "report/sections.hpp"

namespace fedsinkhorn::report {
namespace {

/// Sums over clients by phase, kind and form.
Table left_table(const Json& clients) {
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>> left;
  for (const Json& client : clients) {
    if (!has(client, "left")) continue;
    for (const Json& messages : array(client, "left")) {
      auto& [bytes, number_of_messages] =
          left[{text(messages, "phase"), text(messages, "kind"), text(messages, "form")}];
      bytes += count(messages, "bytes");
      number_of_messages += count(messages, "messages");
    }
  }
  Table table{"What left the clients, all together", {"phase", "kind", "form", "messages", "bytes"}, {}};
  for (const auto& [what, amounts] : left) {
    const auto& [phase, kind, form] = what;
    table.rows.push_back({{phase}, {kind}, {form}, count_cell(amounts.second), bytes_cell(amounts.first)});
  }
  return table;
}

Table ledger_table(const Json& privacy) {
  Table table{"Privacy ledger", {"who", "what", "sensitivity", "sigma", "releases"}, {}};
  for (const Json& entry : array(privacy, "ledger")) {
    table.rows.push_back({{text(entry, "who")},
                          {text(entry, "what")},
                          number_cell(number(entry, "sensitivity")),
                          number_cell(number(entry, "sigma")),
                          count_cell(count(entry, "count"))});
  }
  return table;
}

Facts sums_facts(const Json& privacy) {
  return {"Sums",
          {{"numbers seen by every client", count_text(count(privacy, "sums_seen"))},
           {"numbers unknown to a client", count_text(count(privacy, "unknown"))},
           {"the others' rows are determined in principle",
            member(privacy, "rows_are_determined").get<bool>() ? "yes" : "not by counting"}}};
}

Facts guarantee_facts(const Json& privacy) {
  Facts facts{"Guarantee", {}};
  facts.values = {{"mechanism", text(privacy, "mechanism")},
                  {"adjacency", text(privacy, "adjacency")},
                  {"unit", text(privacy, "unit")},
                  {"delta", number_text(number(privacy, "delta"))},
                  {"epsilon (exact)", number_text(number(privacy, "epsilon_exact"))},
                  {"epsilon (RDP)", number_text(number(privacy, "epsilon_rdp"))},
                  {"noise sigma", number_text(number(privacy, "sigma"))},
                  {"releases", count_text(count(privacy, "releases"))}};
  return facts;
}

}  // namespace

std::optional<Section> privacy_section(const RunRecord& run) {
  const Json& clients = array(run.summary, "clients");
  const bool says = has(run.summary, "privacy");
  Table left = left_table(clients);
  if (!says && left.rows.empty()) return std::nullopt;
  Section section{"privacy", "What left the clients"};
  section.paragraphs.push_back(fmt::format("Policy: {}.", text(run.summary, "policy")));
  if (says) {
    const Json& privacy = member(run.summary, "privacy");
    if (privacy.is_string()) {
      section.paragraphs.push_back(fmt::format("Privacy: {}.", privacy.get<std::string>()));
    } else {
      section.paragraphs.push_back(fmt::format("Privacy: {}.", text(privacy, "sentence")));
      const bool are_sums = has(privacy, "sums_seen");
      section.facts.push_back(are_sums ? sums_facts(privacy) : guarantee_facts(privacy));
      if (!are_sums) section.tables.push_back(ledger_table(privacy));
    }
  }
  if (!left.rows.empty()) section.tables.push_back(std::move(left));
  return section;
}

}  // namespace fedsinkhorn::report
