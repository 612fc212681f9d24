#include "io/privacy_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "io/result_json.hpp"

namespace fedsinkhorn {
namespace {

OrderedJson ledger_json(const PrivacyReport& report) {
  OrderedJson lines = OrderedJson::array();
  for (const LedgerLine& line : report.ledger) {
    lines.push_back({{"who", line.who},
                     {"what", line.what},
                     {"sensitivity", line.sensitivity},
                     {"sigma", line.sigma},
                     {"count", line.count}});
  }
  return lines;
}

std::string epsilon_text(double epsilon) {
  return std::isinf(epsilon) ? "no bound on epsilon" : fmt::format("epsilon {:.4g}", epsilon);
}

}  // namespace

OrderedJson privacy_json(const PrivacyReport& report) {
  OrderedJson json = {{"sentence", privacy_claim(report)},
                      {"is_private", report.is_private},
                      {"mechanism", report.mechanism},
                      {"adjacency", report.adjacency},
                      {"unit", report.unit}};
  if (!report.why_not.empty()) json["why_not"] = report.why_not;
  if (report.rows_moved > 0) json["rows_moved"] = report.rows_moved;
  if (!report.clip_kind.empty()) json["clip_kind"] = report.clip_kind;
  if (report.clip > 0) json["clip"] = report.clip;
  json["collusion"] = report.collusion;
  json["colluding"] = report.colluding;
  json["sensitivity"] = report.sensitivity;
  json["sigma"] = report.sigma;
  json["releases"] = report.releases;
  json["delta"] = report.delta;
  json["mu"] = report.mu;
  json["epsilon_exact"] = report.epsilon_exact;
  json["epsilon_rdp"] = report.epsilon_rdp;
  json["epsilon_rdp_paper"] = report.epsilon_rdp_paper;
  json["rdp_order"] = report.rdp_order;
  if (report.is_order_at_end) json["warning"] = "the order of epsilon_rdp is at an end of its grid";
  if (report.epsilon_budget > 0) json["epsilon_budget"] = report.epsilon_budget;
  json["ledger"] = ledger_json(report);
  if (!report.views.empty()) json["views"] = OrderedJson::array();
  for (const PrivacyView& view : report.views) {
    json["views"].push_back({{"who", view.who}, {"sigma", view.sigma}, {"epsilon_exact", view.epsilon_exact}});
  }
  json["protects"] = report.protects;
  json["does_not_protect"] = report.does_not_protect;
  if (!std::isnan(report.released_cost)) json["released_cost"] = report.released_cost;
  if (!std::isnan(report.released_total)) json["released_total"] = report.released_total;
  return json;
}

std::string privacy_claim(const PrivacyReport& report) {
  std::string bound =
      fmt::format("{} at delta {:g}, {}", epsilon_text(report.epsilon_exact), report.delta, report.adjacency);
  // A client knows its own noise: against it, the others' must do alone.
  const auto is_worse = [&](const PrivacyView& view) { return view.epsilon_exact > report.epsilon_exact * (1 + 1e-9); };
  for (const PrivacyView& view : report.views) {
    if (!is_worse(view)) continue;
    bound += fmt::format("; against {}: {:.4g}", view.who, view.epsilon_exact);
    break;
  }
  if (report.is_private) return bound;
  return fmt::format("NOT private: {}; the figures would be {}", report.why_not, bound);
}

std::vector<std::pair<std::string, std::string>> privacy_lines(const PrivacyReport& report) {
  std::vector<std::pair<std::string, std::string>> lines;
  lines.emplace_back("privacy", privacy_claim(report));
  lines.emplace_back(
      "", fmt::format("by Renyi's divergences {:.4g} (order {:g}{}), by the paper's rule {:.4g}", report.epsilon_rdp,
                      report.rdp_order, report.is_order_at_end ? ", at the end of the grid" : "",
                      report.epsilon_rdp_paper));
  for (const LedgerLine& line : report.ledger) {
    lines.emplace_back(
        "released", fmt::format("{}: {}, {} time{}, sensitivity {:.4g}, noise {:.4g}", line.who, line.what, line.count,
                                line.count == 1 ? "" : "s", line.sensitivity, line.sigma));
  }
  if (!report.clip_kind.empty()) {
    lines.emplace_back("clipped",
                       report.clip > 0 ? fmt::format("{}, to {:g}", report.clip_kind, report.clip) : "nothing");
  }
  lines.emplace_back("unit", report.unit);
  lines.emplace_back("collusion", report.collusion);
  for (const PrivacyView& view : report.views) {
    lines.emplace_back("", fmt::format("{}: {}", view.who, epsilon_text(view.epsilon_exact)));
  }
  lines.emplace_back("protects", report.protects);
  lines.emplace_back("but not", report.does_not_protect);
  return lines;
}

}  // namespace fedsinkhorn
