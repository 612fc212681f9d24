#include "fedsinkhorn/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/json_part.hpp"
#include "io/parse_scenario.hpp"

namespace fedsinkhorn {
namespace {

// ---------------------------------------------------------------------------------------------------------------------
// Invalid values

enum class Zero { refused, allowed };

/// `where` names the value as in the file: "links[2].latency.least".
class Checker {
 public:
  /// clients: none if the number is not known.
  Checker(std::string culprit, std::optional<std::size_t> clients) : culprit_(std::move(culprit)), clients_(clients) {}

  void check(const Scenario& scenario) const {
    law("latency", scenario.latency, Zero::allowed);
    law("bandwidth", scenario.bandwidth, Zero::refused);
    lateness("late", scenario.late);
    number("compute.seconds_per_entry", scenario.seconds_per_entry, Zero::refused);
    law("compute.factor", scenario.compute_factor, Zero::refused);
    links(scenario.links);
    clients(scenario.clients);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason, const std::string& remedy) const {
    throw InputError(culprit_, reason, remedy);
  }

  void number(const std::string& where, double value, Zero zero) const {
    const bool is_right = std::isfinite(value) && (zero == Zero::allowed ? value >= 0 : value > 0);
    if (is_right) return;
    refuse(fmt::format("{} is {}", where, value),
           zero == Zero::allowed ? "it must be 0 or more" : "it must be positive");
  }

  void law(const std::string& where, const Law& law, Zero zero) const {
    if (const auto* constant = std::get_if<ConstantLaw>(&law)) number(where + ".value", constant->value, zero);
    if (const auto* uniform = std::get_if<UniformLaw>(&law)) {
      number(where + ".least", uniform->least, zero);
      number(where + ".most", uniform->most, zero);
      if (uniform->least > uniform->most) {
        refuse(fmt::format("{}.least is {} and most is {}", where, uniform->least, uniform->most),
               "the least must not be above the most");
      }
    }
    if (const auto* log_normal = std::get_if<LogNormalLaw>(&law)) {
      number(where + ".median", log_normal->median, Zero::refused);
      number(where + ".sigma", log_normal->sigma, Zero::allowed);
    }
    if (const auto* heavy_tailed = std::get_if<HeavyTailedLaw>(&law)) {
      number(where + ".least", heavy_tailed->least, Zero::refused);
      number(where + ".exponent", heavy_tailed->exponent, Zero::refused);
    }
  }

  void lateness(const std::string& where, const Lateness& late) const {
    if (!(late.probability >= 0 && late.probability <= 1)) {
      refuse(fmt::format("{}.probability is {}", where, late.probability), "it must be from 0 to 1");
    }
    number(where + ".seconds", late.seconds, Zero::allowed);
  }

  void client_number(const std::string& where, std::size_t client) const {
    if (!clients_ || client < *clients_) return;
    refuse(fmt::format("{} is {}, but there are {} clients", where, client, *clients_),
           fmt::format("clients are numbered from 0 to {}", *clients_ - 1));
  }

  void links(const std::vector<LinkScenario>& links) const {
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const LinkScenario& link = links[i];
      const std::string where = fmt::format("links[{}]", i);
      client_number(where + ".from", link.from);
      client_number(where + ".to", link.to);
      if (link.from == link.to)
        refuse(fmt::format("{} is from client {} to itself", where, link.from), "name two clients");
      if (!seen.emplace(link.from, link.to).second) {
        refuse(fmt::format("{} is from client {} to {}, as one before", where, link.from, link.to),
               "name each link once");
      }
      if (link.latency) law(where + ".latency", *link.latency, Zero::allowed);
      if (link.bandwidth) law(where + ".bandwidth", *link.bandwidth, Zero::refused);
      if (link.late) lateness(where + ".late", *link.late);
    }
  }

  void clients(const std::vector<ClientScenario>& clients) const {
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      const ClientScenario& client = clients[i];
      const std::string where = fmt::format("clients[{}]", i);
      client_number(where + ".client", client.client);
      if (!seen.insert(client.client).second) {
        refuse(fmt::format("{} is client {}, as one before", where, client.client), "name each client once");
      }
      number(where + ".slower", client.slower, Zero::refused);
      if (client.lost_at) number(where + ".lost_at", *client.lost_at, Zero::allowed);
      pauses(where + ".pauses", client.pauses);
    }
  }

  void pauses(const std::string& where, std::vector<Pause> pauses) const {
    for (std::size_t i = 0; i < pauses.size(); ++i) {
      number(fmt::format("{}[{}].at", where, i), pauses[i].at, Zero::allowed);
      number(fmt::format("{}[{}].seconds", where, i), pauses[i].seconds, Zero::allowed);
    }
    std::sort(pauses.begin(), pauses.end(), [](const Pause& a, const Pause& b) { return a.at < b.at; });
    for (std::size_t i = 1; i < pauses.size(); ++i) {
      if (pauses[i - 1].at + pauses[i - 1].seconds <= pauses[i].at) continue;
      refuse(fmt::format("{} has one at {} that begins before that at {} has ended", where, pauses[i].at,
                         pauses[i - 1].at),
             "join them");
    }
  }

  std::string culprit_;
  std::optional<std::size_t> clients_;
};

// ---------------------------------------------------------------------------------------------------------------------
// The file

Law law_of(const JsonPart& part) {
  part.expect_keys({"law", "value", "least", "most", "median", "sigma", "exponent"});
  const JsonPart kind = part.needed("law");
  const std::string name = kind.text();
  const auto value = [&](const char* key) { return part.needed(key).number(); };
  if (name == "constant") {
    part.expect_keys({"law", "value"});
    return ConstantLaw{value("value")};
  }
  if (name == "uniform") {
    part.expect_keys({"law", "least", "most"});
    return UniformLaw{value("least"), value("most")};
  }
  if (name == "log-normal") {
    part.expect_keys({"law", "median", "sigma"});
    return LogNormalLaw{value("median"), value("sigma")};
  }
  if (name == "heavy-tailed") {
    part.expect_keys({"law", "least", "exponent"});
    return HeavyTailedLaw{value("least"), value("exponent")};
  }
  kind.refuse_type("one of constant, uniform, log-normal, heavy-tailed");
}

Lateness lateness_of(const JsonPart& part) {
  part.expect_keys({"probability", "seconds"});
  return {part.needed("probability").number(), part.needed("seconds").number()};
}

LinkScenario link_of(const JsonPart& part) {
  part.expect_keys({"from", "to", "latency", "bandwidth", "late"});
  LinkScenario link{part.needed("from").whole_number(), part.needed("to").whole_number()};
  part.with("latency", [&](const JsonPart& law) { link.latency = law_of(law); });
  part.with("bandwidth", [&](const JsonPart& law) { link.bandwidth = law_of(law); });
  part.with("late", [&](const JsonPart& late) { link.late = lateness_of(late); });
  return link;
}

ClientScenario client_of(const JsonPart& part) {
  part.expect_keys({"client", "slower", "pauses", "lost_at"});
  ClientScenario client{part.needed("client").whole_number()};
  part.with("slower", [&](const JsonPart& factor) { client.slower = factor.number(); });
  part.for_each_of("pauses", [&](const JsonPart& pause) {
    pause.expect_keys({"at", "seconds"});
    client.pauses.push_back({pause.needed("at").number(), pause.needed("seconds").number()});
  });
  part.with("lost_at", [&](const JsonPart& time) { client.lost_at = time.number(); });
  return client;
}

Scenario scenario_of(const JsonPart& whole) {
  whole.expect_keys({"seed", "latency", "bandwidth", "late", "reorder", "ports", "compute", "links", "clients"});
  Scenario scenario;
  whole.with("seed", [&](const JsonPart& seed) { scenario.seed = seed.whole_number(); });
  whole.with("latency", [&](const JsonPart& law) { scenario.latency = law_of(law); });
  whole.with("bandwidth", [&](const JsonPart& law) { scenario.bandwidth = law_of(law); });
  whole.with("late", [&](const JsonPart& late) { scenario.late = lateness_of(late); });
  whole.with("reorder", [&](const JsonPart& reorder) { scenario.reorder = reorder.truth(); });
  whole.with("ports", [&](const JsonPart& ports) {
    const std::string name = ports.text();
    if (name != "own" && name != "shared") ports.refuse_type("own or shared");
    scenario.shares_ports = name == "shared";
  });
  whole.with("compute", [&](const JsonPart& compute) {
    compute.expect_keys({"seconds_per_entry", "factor"});
    compute.with("seconds_per_entry", [&](const JsonPart& seconds) { scenario.seconds_per_entry = seconds.number(); });
    compute.with("factor", [&](const JsonPart& law) { scenario.compute_factor = law_of(law); });
  });
  whole.for_each_of("links", [&](const JsonPart& link) { scenario.links.push_back(link_of(link)); });
  whole.for_each_of("clients", [&](const JsonPart& client) { scenario.clients.push_back(client_of(client)); });
  return scenario;
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& name) {
  const nlohmann::json json = parsed_json(text, name);
  Scenario scenario = scenario_of(JsonPart(name, json, ""));
  Checker(name, std::nullopt).check(scenario);
  return scenario;
}

Scenario read_scenario(const std::filesystem::path& path) {
  return parse_scenario(text_of_json_file(path), path.string());
}

void check_scenario(const Scenario& scenario, std::size_t clients) { Checker("`scenario`", clients).check(scenario); }

}  // namespace fedsinkhorn
