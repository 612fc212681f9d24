#include "fedsinkhorn/scenario.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <variant>

#include "fedsinkhorn/error.hpp"
#include "io/temporary_folder.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ScenarioFile : public ::testing::Test {
 protected:
  [[nodiscard]] Scenario read(const std::string& text) const {
    std::ofstream(file()) << text;
    return read_scenario(file());
  }
  [[nodiscard]] fs::path file() const { return folder_ / "s.json"; }
  [[nodiscard]] const fs::path& folder() const { return folder_; }

  /// The message without the path, which it must begin with.
  [[nodiscard]] std::string refusal(const std::string& text) const {
    return refusal_of(file(), [&] { (void)read(text); });
  }
  static std::string refusal_of(const fs::path& path, const std::function<void()>& body) {
    try {
      body();
    } catch (const InputError& error) {
      const std::string line = error.what();
      EXPECT_EQ(line.find('\n'), std::string::npos) << line;
      EXPECT_TRUE(line.starts_with(path.string() + ": ")) << line;
      return line.substr(path.string().size() + 2);
    }
    return "it was accepted";
  }

 private:
  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(ScenarioFile, AllOfItIsRead) {
  const Scenario scenario = read(R"({
    "seed": 18446744073709551615,
    "latency": {"law": "log-normal", "median": 1e-4, "sigma": 1.5},
    "bandwidth": {"law": "uniform", "least": 1e6, "most": 2e9},
    "late": {"probability": 0.02, "seconds": 0.06},
    "reorder": false,
    "compute": {"seconds_per_entry": 2e-9, "factor": {"law": "heavy-tailed", "least": 0.9, "exponent": 2.5}},
    "links": [{"from": 0, "to": 1, "latency": {"law": "constant", "value": 0}},
              {"from": 1, "to": 0, "bandwidth": {"law": "constant", "value": 5}, "late": {"probability": 1, "seconds": 2}}],
    "clients": [{"client": 3, "slower": 10, "pauses": [{"at": 10, "seconds": 5}, {"at": 1, "seconds": 9}], "lost_at": 2},
                {"client": 0}]})");
  EXPECT_EQ(scenario.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(std::get<LogNormalLaw>(scenario.latency).median, 1e-4);
  EXPECT_EQ(std::get<LogNormalLaw>(scenario.latency).sigma, 1.5);
  EXPECT_EQ(std::get<UniformLaw>(scenario.bandwidth).least, 1e6);
  EXPECT_EQ(std::get<UniformLaw>(scenario.bandwidth).most, 2e9);
  EXPECT_EQ(scenario.late.probability, 0.02);
  EXPECT_EQ(scenario.late.seconds, 0.06);
  EXPECT_FALSE(scenario.reorder);
  EXPECT_EQ(scenario.seconds_per_entry, 2e-9);
  EXPECT_EQ(std::get<HeavyTailedLaw>(scenario.compute_factor).least, 0.9);
  EXPECT_EQ(std::get<HeavyTailedLaw>(scenario.compute_factor).exponent, 2.5);

  ASSERT_EQ(scenario.links.size(), 2U);
  EXPECT_EQ(scenario.links[0].from, 0U);
  EXPECT_EQ(scenario.links[0].to, 1U);
  EXPECT_EQ(std::get<ConstantLaw>(scenario.links[0].latency.value()).value, 0);
  EXPECT_FALSE(scenario.links[0].bandwidth.has_value());
  EXPECT_FALSE(scenario.links[0].late.has_value());
  EXPECT_FALSE(scenario.links[1].latency.has_value());
  EXPECT_EQ(std::get<ConstantLaw>(scenario.links[1].bandwidth.value()).value, 5);
  EXPECT_EQ(scenario.links[1].late.value().seconds, 2);

  ASSERT_EQ(scenario.clients.size(), 2U);
  EXPECT_EQ(scenario.clients[0].client, 3U);
  EXPECT_EQ(scenario.clients[0].slower, 10);
  ASSERT_EQ(scenario.clients[0].pauses.size(), 2U);
  EXPECT_EQ(scenario.clients[0].pauses[0].at, 10);
  EXPECT_EQ(scenario.clients[0].pauses[0].seconds, 5);
  EXPECT_EQ(scenario.clients[0].lost_at, 2.0);
  EXPECT_EQ(scenario.clients[1].slower, 1);
  EXPECT_FALSE(scenario.clients[1].lost_at.has_value());
  EXPECT_NO_THROW(check_scenario(scenario, 4));
}

TEST_F(ScenarioFile, WhatIsMissingIsTheDefault) {
  for (const char* text : {"{}", R"({"compute": {}, "links": [], "clients": []})"}) {
    const Scenario scenario = read(text);
    EXPECT_EQ(scenario.seed, 1U);
    EXPECT_EQ(std::get<ConstantLaw>(scenario.latency).value, 10e-6);
    EXPECT_EQ(std::get<ConstantLaw>(scenario.bandwidth).value, 1e9);
    EXPECT_EQ(scenario.late.probability, 0);
    EXPECT_TRUE(scenario.reorder);
    EXPECT_EQ(scenario.seconds_per_entry, 1e-9);
    EXPECT_EQ(std::get<ConstantLaw>(scenario.compute_factor).value, 1);
  }
}

TEST_F(ScenarioFile, OneThatCannotBeRead) {
  const auto missing = folder() / "missing.json";
  EXPECT_EQ(refusal_of(missing, [&] { (void)read_scenario(missing); }), "cannot be opened: No such file or directory");
  EXPECT_EQ(refusal_of(folder(), [&] { (void)read_scenario(folder()); }), "is a folder; give a JSON file");
}

TEST_F(ScenarioFile, OneThatIsNotJson) {
  EXPECT_EQ(refusal(""), "is not JSON from line 1, column 1 on");
  EXPECT_EQ(refusal("seed = 7"), "is not JSON from line 1, column 1 on");
  EXPECT_EQ(refusal("{\"seed\": 7,\n \"reorder\": yes}"), "is not JSON from line 2, column 13 on");
  EXPECT_EQ(refusal("{\"late\": {\"probability\": NaN}}"), "is not JSON from line 1, column 26 on");
  EXPECT_EQ(refusal("{\"seed\": 7"), "is not JSON from line 1, column 11 on");
  EXPECT_EQ(refusal("{\"seed\": 7}}"), "is not JSON from line 1, column 12 on");
  EXPECT_TRUE(refusal("{\"\xff\": 7}").starts_with("is not JSON from line 1")) << refusal("{\"\xff\": 7}");
  EXPECT_EQ(refusal(R"({"latency": {"law": "constant", "value": 1e999}})"), "has a number that is too large");
}

TEST_F(ScenarioFile, UnknownAndRepeatedKeys) {
  EXPECT_EQ(
      refusal(R"({"latencies": 1})"),
      "\"latencies\" is unknown; known are seed, latency, bandwidth, late, reorder, ports, compute, links, clients");
  EXPECT_EQ(refusal(R"({"late": {"probability": 0.1, "second": 1}})"),
            "late.\"second\" is unknown; known are probability, seconds");
  EXPECT_EQ(refusal(R"({"compute": {"slower": 1}})"),
            "compute.\"slower\" is unknown; known are seconds_per_entry, factor");
  EXPECT_EQ(refusal(R"({"latency": {"law": "constant", "value": 1, "sigma": 2}})"),
            "latency.\"sigma\" is unknown; known are law, value");
  EXPECT_EQ(refusal(R"({"latency": {"law": "uniform", "least": 1, "most": 2, "value": 2}})"),
            "latency.\"value\" is unknown; known are law, least, most");
  EXPECT_EQ(refusal(R"({"links": [{"from": 0, "to": 1, "speed": 2}]})"),
            "links[0].\"speed\" is unknown; known are from, to, latency, bandwidth, late");
  EXPECT_EQ(refusal(R"({"clients": [{"client": 0}, {"client": 1, "lost\nat": 2}]})"),
            "clients[1].\"lost\\nat\" is unknown; known are client, slower, pauses, lost_at");
  EXPECT_EQ(refusal(R"({"clients": [{"client": 0, "pauses": [{"at": 1, "seconds": 2, "until": 3}]}]})"),
            "clients[0].pauses[0].\"until\" is unknown; known are at, seconds");
  EXPECT_EQ(refusal(R"({"seed": 1, "late": {"probability": 0, "seconds": 0}, "seed": 2})"),
            "the key \"seed\" is there twice in one object; leave one");
}

TEST_F(ScenarioFile, MissingKeys) {
  EXPECT_EQ(refusal(R"({"latency": {}})"), "latency.law is missing");
  EXPECT_EQ(refusal(R"({"latency": {"law": "log-normal", "median": 1}})"), "latency.sigma is missing");
  EXPECT_EQ(refusal(R"({"late": {"probability": 1}})"), "late.seconds is missing");
  EXPECT_EQ(refusal(R"({"links": [{"from": 1}]})"), "links[0].to is missing");
  EXPECT_EQ(refusal(R"({"clients": [{"slower": 1}]})"), "clients[0].client is missing");
  EXPECT_EQ(refusal(R"({"clients": [{"client": 1, "pauses": [{"at": 1}]}]})"),
            "clients[0].pauses[0].seconds is missing");
}

TEST_F(ScenarioFile, WrongTypes) {
  EXPECT_EQ(refusal("[]"), "the whole is a list; it must be an object in braces");
  EXPECT_EQ(refusal("7"), "the whole is 7; it must be an object in braces");
  EXPECT_EQ(refusal(R"({"seed": -1})"), "seed is -1; it must be a whole number from 0 on");
  EXPECT_EQ(refusal(R"({"seed": 1.5})"), "seed is 1.5; it must be a whole number from 0 on");
  EXPECT_EQ(refusal(R"({"seed": null})"), "seed is null; it must be a whole number from 0 on");
  EXPECT_EQ(refusal(R"({"reorder": 1})"), "reorder is 1; it must be true or false");
  EXPECT_EQ(refusal(R"({"latency": 1e-4})"), "latency is 0.0001; it must be an object in braces");
  EXPECT_EQ(refusal(R"({"latency": {"law": 1}})"), "latency.law is 1; it must be a string");
  EXPECT_EQ(refusal(R"({"latency": {"law": "normal"}})"),
            "latency.law is \"normal\"; it must be one of constant, uniform, log-normal, heavy-tailed");
  EXPECT_EQ(refusal(R"({"latency": {"law": "constant", "value": "1"}})"),
            "latency.value is \"1\"; it must be a number");
  EXPECT_EQ(refusal(R"({"links": {"from": 1}})"), "links is an object; it must be a list in brackets");
  EXPECT_EQ(refusal(R"({"links": [3]})"), "links[0] is 3; it must be an object in braces");
  EXPECT_EQ(refusal(R"({"clients": [{"client": "a"}]})"),
            "clients[0].client is \"a\"; it must be a whole number from 0 on");
  EXPECT_EQ(refusal(R"({"clients": [{"client": 1, "lost_at": true}]})"),
            "clients[0].lost_at is true; it must be a number");
}

TEST_F(ScenarioFile, ValuesThatMakeNoSense) {
  EXPECT_EQ(refusal(R"({"late": {"probability": 1.5, "seconds": 1}})"),
            "late.probability is 1.5; it must be from 0 to 1");
  EXPECT_EQ(refusal(R"({"links": [{"from": 0, "to": 1, "bandwidth": {"law": "constant", "value": 0}}]})"),
            "links[0].bandwidth.value is 0; it must be positive");
  EXPECT_EQ(refusal(R"({"latency": {"law": "uniform", "least": 3, "most": 2}})"),
            "latency.least is 3 and most is 2; the least must not be above the most");
}

// ---------------------------------------------------------------------------------------------------------------------
// By hand

/// What check_scenario says of the default with this change, for 4 clients.
std::string refusal_of(const std::function<void(Scenario&)>& change) {
  Scenario scenario;
  change(scenario);
  try {
    check_scenario(scenario, 4);
  } catch (const InputError& error) {
    const std::string line = error.what();
    EXPECT_TRUE(line.starts_with("scenario: ")) << line;
    return line.substr(10);
  }
  return "it was accepted";
}

TEST(CheckScenario, TheDefaultIsRight) { EXPECT_NO_THROW(check_scenario(Scenario{}, 1)); }

TEST(CheckScenario, Laws) {
  const auto latency = [](const Law& law) { return refusal_of([&](Scenario& s) { s.latency = law; }); };
  EXPECT_EQ(latency(ConstantLaw{0}), "it was accepted");
  EXPECT_EQ(latency(ConstantLaw{-1}), "latency.value is -1; it must be 0 or more");
  EXPECT_EQ(latency(ConstantLaw{kNaN}), "latency.value is nan; it must be 0 or more");
  EXPECT_EQ(latency(ConstantLaw{kInfinity}), "latency.value is inf; it must be 0 or more");
  EXPECT_EQ(latency(UniformLaw{0, 0}), "it was accepted");
  EXPECT_EQ(latency(UniformLaw{-1, 2}), "latency.least is -1; it must be 0 or more");
  EXPECT_EQ(latency(UniformLaw{1, kInfinity}), "latency.most is inf; it must be 0 or more");
  EXPECT_EQ(latency(LogNormalLaw{1, 0}), "it was accepted");
  EXPECT_EQ(latency(LogNormalLaw{0, 1}), "latency.median is 0; it must be positive");
  EXPECT_EQ(latency(LogNormalLaw{1, -1}), "latency.sigma is -1; it must be 0 or more");
  EXPECT_EQ(latency(HeavyTailedLaw{0, 1}), "latency.least is 0; it must be positive");
  EXPECT_EQ(latency(HeavyTailedLaw{1, 0}), "latency.exponent is 0; it must be positive");
}

TEST(CheckScenario, WhatMustNotBeZero) {
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.bandwidth = UniformLaw{0, 1};
            }),
            "bandwidth.least is 0; it must be positive");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.seconds_per_entry = 0; }),
            "compute.seconds_per_entry is 0; it must be positive");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.compute_factor = ConstantLaw{0}; }),
            "compute.factor.value is 0; it must be positive");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.clients = {{.client = 1, .slower = 0}}; }),
            "clients[0].slower is 0; it must be positive");
}

TEST(CheckScenario, LateMessages) {
  EXPECT_EQ(refusal_of([](Scenario& s) { s.late = {1, 0}; }), "it was accepted");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.late = {kNaN, 1}; }), "late.probability is nan; it must be from 0 to 1");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.late = {0.5, -1}; }), "late.seconds is -1; it must be 0 or more");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{0, 1, {}, {}, Lateness{-1, 1}}};
            }),
            "links[0].late.probability is -1; it must be from 0 to 1");
}

TEST(CheckScenario, Links) {
  EXPECT_EQ(refusal_of([](Scenario& s) { s.links = {{0, 3}, {3, 0}}; }), "it was accepted");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{0, 1}, {4, 0}};
            }),
            "links[1].from is 4, but there are 4 clients; clients are numbered from 0 to 3");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{0, 7}};
            }),
            "links[0].to is 7, but there are 4 clients; clients are numbered from 0 to 3");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{2, 2}};
            }),
            "links[0] is from client 2 to itself; name two clients");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{0, 1}, {1, 0}, {0, 1}};
            }),
            "links[2] is from client 0 to 1, as one before; name each link once");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.links = {{0, 1, ConstantLaw{-1}, {}, {}}};
            }),
            "links[0].latency.value is -1; it must be 0 or more");
}

TEST(CheckScenario, Clients) {
  EXPECT_EQ(refusal_of([](Scenario& s) { s.clients = {{.client = 0}, {.client = 3}}; }), "it was accepted");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.clients = {{.client = 4}}; }),
            "clients[0].client is 4, but there are 4 clients; clients are numbered from 0 to 3");
  EXPECT_EQ(refusal_of([](Scenario& s) {
              s.clients = {{.client = 2}, {.client = 2}};
            }),
            "clients[1] is client 2, as one before; name each client once");
  EXPECT_EQ(refusal_of([](Scenario& s) { s.clients = {{.client = 0, .lost_at = -1}}; }),
            "clients[0].lost_at is -1; it must be 0 or more");
  const auto pauses = [](const std::vector<Pause>& pauses) {
    return refusal_of([&](Scenario& s) { s.clients = {{.client = 0, .pauses = pauses}}; });
  };
  EXPECT_EQ(pauses({{5, 2}, {1, 4}, {7, 1}}), "it was accepted");
  EXPECT_EQ(pauses({{1, 1}, {-1, 1}}), "clients[0].pauses[1].at is -1; it must be 0 or more");
  EXPECT_EQ(pauses({{1, kNaN}}), "clients[0].pauses[0].seconds is nan; it must be 0 or more");
  EXPECT_EQ(pauses({{5, 2}, {1, 4.5}}),
            "clients[0].pauses has one at 5 that begins before that at 1 has ended; join them");
}

}  // namespace
}  // namespace fedsinkhorn
