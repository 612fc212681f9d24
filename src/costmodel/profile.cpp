#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/names.hpp"
#include "costmodel/calibrate.hpp"
#include "costmodel/parse_profile.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "io/json_part.hpp"
#include "shipped_profiles.hpp"

namespace fedsinkhorn {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "fedsinkhorn-profile";
constexpr std::uint64_t kVersion = 1;

// ---------------------------------------------------------------------------------------------------------------------
// Reading

/// What a number may be. Beyond `most` it is in other units, as a rule.
struct Limits {
  double least = 0;
  double most = HUGE_VAL;
  const char* unit = "";
};
constexpr Limits kSeconds{0, 1000, "seconds"};
constexpr Limits kLatency{0, 10, "seconds"};
constexpr Limits kSecondsPerByte{0, 0.01, "seconds per byte"};
constexpr Limits kSecondsPerEntry{0, 1e-3, "seconds"};
constexpr Limits kBytesPerSecond{10, 1e15, "bytes per second"};
constexpr Limits kBytes{0, 1e18, "bytes"};
constexpr Limits kShareLimits{0, 1, ""};
constexpr Limits kAnything{0, 1e18, ""};

/// Reads the values of one object.
class Reader {
 public:
  explicit Reader(const JsonPart& part) : part_(part) {}

  void take(const char* key, double& value, const Limits& limits) const {
    const JsonPart one = part_.needed(key);
    value = one.number();
    check(one, value, limits);
  }
  void take_if(const char* key, double& value, const Limits& limits) const {
    part_.with(key, [&](const JsonPart& one) {
      value = one.number();
      check(one, value, limits);
    });
  }
  void take(const char* key, std::string& text) const { text = part_.needed(key).text(); }
  void take_if(const char* key, std::string& text) const {
    part_.with(key, [&](const JsonPart& one) { text = one.text(); });
  }
  template <class Whole>
  void take_count(const char* key, Whole& count, std::uint64_t least = 1) const {
    const JsonPart one = part_.needed(key);
    const std::uint64_t value = one.whole_number();
    if (value < least || value > 1'000'000'000) one.refuse_type(fmt::format("a whole number from {} on", least));
    count = static_cast<Whole>(value);
  }
  void take(const char* key, Precision& precision) const {
    const JsonPart one = part_.needed(key);
    const std::string name = one.text();
    for (const Precision known : {Precision::float64, Precision::float32, Precision::mixed}) {
      if (name_of(known) == name) {
        precision = known;
        return;
      }
    }
    one.refuse_type("one of float64, float32, mixed");
  }
  void one_of(const char* key, std::string& text, const std::vector<std::string>& names) const {
    part_.with(key, [&](const JsonPart& one) {
      text = one.text();
      if (std::ranges::find(names, text) == names.end()) {
        one.refuse_type(fmt::format("one of {}", fmt::join(names, ", ")));
      }
    });
  }

 private:
  static void check(const JsonPart& one, double value, const Limits& limits) {
    if (value >= limits.least && value <= limits.most) return;
    const std::string unit = *limits.unit != '\0' ? fmt::format(", in {}", limits.unit) : "";
    one.refuse_type(fmt::format("from {:g} to {:g}{}", limits.least, limits.most, unit));
  }
  const JsonPart& part_;
};

PassTime pass_of(const JsonPart& part) {
  part.expect_keys({"kernel", "precision", "verb", "dimension", "targets", "clients", "computing", "threads", "rows",
                    "columns", "seconds", "spread"});
  const Reader read(part);
  PassTime time;
  read.take("kernel", time.kernel);
  read.take("precision", time.precision);
  (void)part.needed("verb");
  read.one_of("verb", time.verb, {"fused", "apply", "apply-transposed", "build"});
  read.take_count("dimension", time.dimension, 0);
  read.take_count("targets", time.targets);
  read.take_count("clients", time.clients);
  read.take_count("computing", time.computing);
  read.take_count("threads", time.threads);
  read.take_count("rows", time.rows);
  read.take_count("columns", time.columns);
  read.take("seconds", time.seconds, kSeconds);
  read.take_if("spread", time.spread, kAnything);
  return time;
}

PassRate rate_of(const JsonPart& part) {
  part.expect_keys({"kernel", "precision", "seconds_per_entry", "seconds_per_product"});
  const Reader read(part);
  PassRate rate;
  read.take("kernel", rate.kernel);
  read.take("precision", rate.precision);
  read.take("seconds_per_entry", rate.seconds_per_entry, kSecondsPerEntry);
  read.take_if("seconds_per_product", rate.seconds_per_product, kSecondsPerEntry);
  return rate;
}

ExchangeTime exchange_of(const JsonPart& part) {
  part.expect_keys({"exchange", "clients", "alpha_seconds", "beta_seconds_per_byte", "r_squared", "alpha_error",
                    "beta_error", "samples", "largest_bytes"});
  const Reader read(part);
  ExchangeTime time;
  (void)part.needed("exchange");
  read.one_of(
      "exchange", time.exchange,
      {"gather", "sum", "regather", "notes", "collect", "deal", "broadcast", "secure-sum", "served-sum", "news"});
  read.take_count("clients", time.clients, 2);
  read.take("alpha_seconds", time.alpha, kLatency);
  read.take("beta_seconds_per_byte", time.beta, kSecondsPerByte);
  read.take_if("r_squared", time.r_squared, kShareLimits);
  read.take_if("alpha_error", time.alpha_error, kAnything);
  read.take_if("beta_error", time.beta_error, kAnything);
  read.take_if("largest_bytes", time.largest_bytes, kBytes);
  part.with("samples", [&](const JsonPart& count) { time.samples = count.whole_number(); });
  return time;
}

LinkModel links_of(const JsonPart& part) {
  part.expect_keys({"latency_seconds", "bandwidth_bytes_per_second", "overhead_seconds", "ports", "algorithm"});
  const Reader read(part);
  LinkModel links;
  read.take("latency_seconds", links.latency, kLatency);
  read.take("bandwidth_bytes_per_second", links.bandwidth, kBytesPerSecond);
  read.take_if("overhead_seconds", links.overhead, kLatency);
  std::string ports = "own";
  read.one_of("ports", ports, {"own", "shared"});
  links.shares_ports = ports == "shared";
  read.one_of("algorithm", links.algorithm, {"direct", "tree", "ring"});
  return links;
}

ProfileMachine machine_of(const JsonPart& part) {
  part.expect_keys({"processor", "simd", "cores", "memory_bytes", "cache_bytes"});
  const Reader read(part);
  ProfileMachine machine;
  read.take_if("processor", machine.processor);
  read.take_if("simd", machine.simd);
  read.take_count("cores", machine.cores);
  part.with("memory_bytes", [&](const JsonPart& bytes) { machine.memory_bytes = bytes.whole_number(); });
  part.with("cache_bytes", [&](const JsonPart& bytes) { machine.cache_bytes = bytes.whole_number(); });
  return machine;
}

void check_heading(const JsonPart& whole, const std::string& name) {
  if (whole.needed("format").text() != kFormat) {
    throw InputError(name, "format is not fedsinkhorn-profile", "make a profile with fedsinkhorn calibrate");
  }
  const std::uint64_t version = whole.needed("version").whole_number();
  if (version != kVersion) {
    throw InputError(name, fmt::format("version is {}, but this program reads {}", version, kVersion),
                     "calibrate again");
  }
  const JsonPart units = whole.needed("units");
  units.expect_keys({"time", "data"});
  const JsonPart time = units.needed("time");
  if (time.text() != "seconds") time.refuse_type("seconds");
  const JsonPart data = units.needed("data");
  if (data.text() != "bytes") data.refuse_type("bytes");
}

}  // namespace

Profile parse_profile(const std::string& text, const std::string& name) {
  const nlohmann::json json = parsed_json(text, name);
  const JsonPart whole(name, json, "");
  whole.expect_keys({"format", "version", "units", "name", "description", "source", "transport", "machine",
                     "clients_per_machine", "process_bytes", "element_wise", "passes", "rates", "exchanges", "links"});
  check_heading(whole, name);
  const Reader read(whole);
  Profile profile;
  read.take("name", profile.name);
  read.take_if("description", profile.description);
  read.one_of("source", profile.source, {"measured", "example", "paper"});
  read.one_of("transport", profile.transport, {"threads", "mpi", "simulated", ""});
  profile.machine = machine_of(whole.needed("machine"));
  read.take_count("clients_per_machine", profile.clients_per_machine, 0);
  read.take_if("process_bytes", profile.process_bytes, kBytes);
  whole.with("element_wise", [&](const JsonPart& part) {
    part.expect_keys({"seconds_per_row", "seconds_per_column"});
    Reader(part).take("seconds_per_row", profile.seconds_per_row, kSecondsPerEntry);
    Reader(part).take("seconds_per_column", profile.seconds_per_column, kSecondsPerEntry);
  });
  whole.for_each_of("passes", [&](const JsonPart& part) { profile.passes.push_back(pass_of(part)); });
  whole.for_each_of("rates", [&](const JsonPart& part) { profile.rates.push_back(rate_of(part)); });
  whole.for_each_of("exchanges", [&](const JsonPart& part) { profile.exchanges.push_back(exchange_of(part)); });
  whole.with("links", [&](const JsonPart& part) { profile.links = links_of(part); });
  if (profile.passes.empty() && profile.rates.empty()) {
    throw InputError(name, "has neither passes nor rates", "calibrate again, or add rates");
  }
  return profile;
}

Profile read_profile(const std::filesystem::path& path) {
  for (const ShippedProfile& shipped : kShippedProfiles) {
    if (path == shipped.name) return parse_profile(shipped.text, shipped.name);
  }
  return parse_profile(text_of_json_file(path), path.string());
}

std::vector<std::string> shipped_profiles() {
  std::vector<std::string> names(kShippedProfiles.size());
  std::ranges::transform(kShippedProfiles, names.begin(), &ShippedProfile::name);
  return names;
}

// ---------------------------------------------------------------------------------------------------------------------
// Writing

std::string profile_text(const Profile& profile) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"units", {{"time", "seconds"}, {"data", "bytes"}}},
               {"name", profile.name},
               {"description", profile.description},
               {"source", profile.source},
               {"transport", profile.transport},
               {"machine",
                {{"processor", profile.machine.processor},
                 {"simd", profile.machine.simd},
                 {"cores", profile.machine.cores},
                 {"memory_bytes", profile.machine.memory_bytes},
                 {"cache_bytes", profile.machine.cache_bytes}}},
               {"clients_per_machine", profile.clients_per_machine},
               {"process_bytes", profile.process_bytes},
               {"element_wise",
                {{"seconds_per_row", profile.seconds_per_row}, {"seconds_per_column", profile.seconds_per_column}}}};
  if (profile.links) {
    json["links"] = {{"latency_seconds", profile.links->latency},
                     {"bandwidth_bytes_per_second", profile.links->bandwidth},
                     {"overhead_seconds", profile.links->overhead},
                     {"ports", profile.links->shares_ports ? "shared" : "own"},
                     {"algorithm", profile.links->algorithm}};
  }
  json["exchanges"] = Json::array();
  for (const ExchangeTime& time : profile.exchanges) {
    json["exchanges"].push_back({{"exchange", time.exchange},
                                 {"clients", time.clients},
                                 {"alpha_seconds", time.alpha},
                                 {"beta_seconds_per_byte", time.beta},
                                 {"r_squared", time.r_squared},
                                 {"alpha_error", time.alpha_error},
                                 {"beta_error", time.beta_error},
                                 {"samples", time.samples},
                                 {"largest_bytes", time.largest_bytes}});
  }
  json["passes"] = Json::array();
  for (const PassTime& time : profile.passes) {
    json["passes"].push_back({{"kernel", time.kernel},
                              {"precision", name_of(time.precision)},
                              {"verb", time.verb},
                              {"dimension", time.dimension},
                              {"targets", time.targets},
                              {"clients", time.clients},
                              {"computing", time.computing},
                              {"threads", time.threads},
                              {"rows", time.rows},
                              {"columns", time.columns},
                              {"seconds", time.seconds},
                              {"spread", time.spread}});
  }
  if (!profile.rates.empty()) json["rates"] = Json::array();
  for (const PassRate& rate : profile.rates) {
    json["rates"].push_back({{"kernel", rate.kernel},
                             {"precision", name_of(rate.precision)},
                             {"seconds_per_entry", rate.seconds_per_entry},
                             {"seconds_per_product", rate.seconds_per_product}});
  }
  return json.dump(1) + "\n";
}

void write_profile(const Profile& profile, const std::filesystem::path& path) {
  write_file_atomically(path, profile_text(profile));
}

std::vector<std::string> doubts_about(const Profile& profile) {
  std::vector<std::string> doubts;
  if (profile.source != "measured") {
    doubts.push_back(fmt::format("profile {} is {}, not a measurement of this machine", profile.name,
                                 profile.source == "paper" ? "the paper's" : "an example"));
    return doubts;
  }
  const ProfileMachine here = this_machine_now();
  const auto compare = [&](const char* key, const auto& there, const auto& own) {
    if (there == own) return;
    doubts.push_back(fmt::format("machine.{} of the profile is {}, that of this machine {}", key, there, own));
  };
  compare("processor", profile.machine.processor, here.processor);
  compare("simd", profile.machine.simd, here.simd);
  compare("cores", profile.machine.cores, here.cores);
  return doubts;
}

}  // namespace fedsinkhorn
