#include "fedsinkhorn/scenario.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/parse_scenario.hpp"

namespace fedsinkhorn {
namespace {

using Json = nlohmann::json;

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

/// A part of the file and its name. All members are optional unless stated otherwise.
class Part {
 public:
  Part(const std::string& path, const Json& json, std::string where)
      : path_(path), json_(json), where_(std::move(where)) {}

  /// A misspelt key must not silently give the default.
  void expect_keys(std::initializer_list<std::string_view> known) const {
    if (!json_.is_object()) refuse_type("an object in braces");
    for (const auto& item : json_.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      throw InputError(path_, fmt::format("{} is unknown", member_name(Json(item.key()).dump())),
                       fmt::format("known are {}", fmt::join(known, ", ")));
    }
  }

  /// Calls use(part) if there is such a member.
  template <class Use>
  void with(const char* key, const Use& use) const {
    if (const auto found = json_.find(key); found != json_.end()) use(Part(path_, *found, member_name(key)));
  }
  template <class Use>
  void for_each_of(const char* key, const Use& use) const {
    with(key, [&](const Part& list) {
      if (!list.json_.is_array()) list.refuse_type("a list in brackets");
      for (std::size_t i = 0; i < list.json_.size(); ++i) {
        use(Part(path_, list.json_[i], fmt::format("{}[{}]", list.where_, i)));
      }
    });
  }
  [[nodiscard]] Part needed(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw InputError(path_, fmt::format("{} is missing", member_name(key)));
    return {path_, *found, member_name(key)};
  }

  [[nodiscard]] double number() const {
    if (!json_.is_number()) refuse_type("a number");
    return json_.get<double>();
  }
  [[nodiscard]] std::uint64_t whole_number() const {
    if (!json_.is_number_unsigned()) refuse_type("a whole number from 0 on");
    return json_.get<std::uint64_t>();
  }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) refuse_type("true or false");
    return json_.get<bool>();
  }
  [[nodiscard]] std::string text() const {
    if (!json_.is_string()) refuse_type("a string");
    return json_.get<std::string>();
  }

  [[noreturn]] void refuse_type(const std::string& expected) const {
    const std::string is = json_.is_object() ? "an object" : json_.is_array() ? "a list" : json_.dump();
    throw InputError(path_, fmt::format("{} is {}", where_.empty() ? "the whole" : where_, is),
                     fmt::format("it must be {}", expected));
  }

 private:
  [[nodiscard]] std::string member_name(const std::string& key) const {
    return where_.empty() ? key : fmt::format("{}.{}", where_, key);
  }

  const std::string& path_;
  const Json& json_;
  std::string where_;
};

Law law_of(const Part& part) {
  part.expect_keys({"law", "value", "least", "most", "median", "sigma", "exponent"});
  const Part kind = part.needed("law");
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

Lateness lateness_of(const Part& part) {
  part.expect_keys({"probability", "seconds"});
  return {part.needed("probability").number(), part.needed("seconds").number()};
}

LinkScenario link_of(const Part& part) {
  part.expect_keys({"from", "to", "latency", "bandwidth", "late"});
  LinkScenario link{part.needed("from").whole_number(), part.needed("to").whole_number()};
  part.with("latency", [&](const Part& law) { link.latency = law_of(law); });
  part.with("bandwidth", [&](const Part& law) { link.bandwidth = law_of(law); });
  part.with("late", [&](const Part& late) { link.late = lateness_of(late); });
  return link;
}

ClientScenario client_of(const Part& part) {
  part.expect_keys({"client", "slower", "pauses", "lost_at"});
  ClientScenario client{part.needed("client").whole_number()};
  part.with("slower", [&](const Part& factor) { client.slower = factor.number(); });
  part.for_each_of("pauses", [&](const Part& pause) {
    pause.expect_keys({"at", "seconds"});
    client.pauses.push_back({pause.needed("at").number(), pause.needed("seconds").number()});
  });
  part.with("lost_at", [&](const Part& time) { client.lost_at = time.number(); });
  return client;
}

Scenario scenario_of(const Part& whole) {
  whole.expect_keys({"seed", "latency", "bandwidth", "late", "reorder", "compute", "links", "clients"});
  Scenario scenario;
  whole.with("seed", [&](const Part& seed) { scenario.seed = seed.whole_number(); });
  whole.with("latency", [&](const Part& law) { scenario.latency = law_of(law); });
  whole.with("bandwidth", [&](const Part& law) { scenario.bandwidth = law_of(law); });
  whole.with("late", [&](const Part& late) { scenario.late = lateness_of(late); });
  whole.with("reorder", [&](const Part& reorder) { scenario.reorder = reorder.truth(); });
  whole.with("compute", [&](const Part& compute) {
    compute.expect_keys({"seconds_per_entry", "factor"});
    compute.with("seconds_per_entry", [&](const Part& seconds) { scenario.seconds_per_entry = seconds.number(); });
    compute.with("factor", [&](const Part& law) { scenario.compute_factor = law_of(law); });
  });
  whole.for_each_of("links", [&](const Part& link) { scenario.links.push_back(link_of(link)); });
  whole.for_each_of("clients", [&](const Part& client) { scenario.clients.push_back(client_of(client)); });
  return scenario;
}

std::string text_of_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) throw InputError(path.string(), "is a folder", "give a JSON file");
  // A pipe may never end.
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw InputError(path.string(), "is not a regular file", "give a JSON file on a disk");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path.string(), "cannot be opened: " + std::generic_category().message(errno));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw InputError(path.string(), "cannot be read: " + std::generic_category().message(errno));
  return text;
}

/// By default the parser silently keeps the last of several members with the same name.
class RefusesRepeatedKeys {
 public:
  explicit RefusesRepeatedKeys(const std::string& path) : path_(path) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_.emplace_back();
    if (event == Json::parse_event_t::object_end) open_.pop_back();
    if (event == Json::parse_event_t::key && !open_.back().insert(parsed.get<std::string>()).second) {
      throw InputError(path_, fmt::format("the key {} is there twice in one object", parsed.dump()), "leave one");
    }
    return true;
  }

 private:
  const std::string& path_;
  std::vector<std::set<std::string>> open_;  // keys of the objects being parsed
};

Json parsed(const std::string& text, const std::string& path) {
  try {
    return Json::parse(text, RefusesRepeatedKeys(path));
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto before = std::string_view(text).substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = at - (before.find('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    throw InputError(path, fmt::format("is not JSON from line {}, column {} on", line, column));
  } catch (const Json::exception&) {
    throw InputError(path, "has a number that is too large");
  }
}

}  // namespace

Scenario parse_scenario(const std::string& text, const std::string& name) {
  const Json json = parsed(text, name);
  Scenario scenario = scenario_of(Part(name, json, ""));
  Checker(name, std::nullopt).check(scenario);
  return scenario;
}

Scenario read_scenario(const std::filesystem::path& path) { return parse_scenario(text_of_file(path), path.string()); }

void check_scenario(const Scenario& scenario, std::size_t clients) { Checker("`scenario`", clients).check(scenario); }

}  // namespace fedsinkhorn
