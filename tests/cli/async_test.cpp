// Clients that do not wait for each other, and networks that are only simulated.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "support/registered.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

using testing::kInfinity;

const Names kAsyncResultFiles = {"delays.csv", "f.npy", "g.npy", "summary.json", "trace.csv"};

/// Latencies and speeds that vary, so that clients fall out of step and the seed matters.
const std::string kMoodyNetwork = R"({"seed": 7, "latency": {"law": "log-normal", "median": 1e-4, "sigma": 1},
  "compute": {"factor": {"law": "uniform", "least": 0.5, "most": 2}}})";

class AsyncTest : public RectangularTest {
 protected:
  /// Tight enough for plans to agree to 1e-9, whatever way they were come by.
  static std::string solve_tightly(const std::string& output, const std::string& flags) {
    return solve(output, "--plan --tolerance 1e-11 " + flags);
  }
  [[nodiscard]] RunResult run_on_threads(std::size_t clients, const std::string& command) const {
    return run_on(Transport::threads, clients, command);
  }
  /// Virtual seconds are no real ones: a limit far below the virtual time limit of 60 s for other clients.
  [[nodiscard]] RunResult run_simulated(std::size_t clients, const std::string& command) const {
    return run_binary(words_of(command + " --transport simulated --threads 1 --clients " + std::to_string(clients)),
                      {.limit = 30s, .folder = folder()});
  }
  void write_scenario(const std::string& name, const std::string& json) const { write_bytes(folder() / name, json); }

  void expect_same_plan(const std::string& output, const std::string& expected) const {
    const Array plan = array(output + "/plan.npy");
    EXPECT_EQ(plan.shape, array(expected + "/plan.npy").shape);
    EXPECT_LE(largest_difference(plan.values, array(expected + "/plan.npy").values), 1e-9);
    for (const char* name : {"linear", "objective"}) {
      const double cost = summary(expected)["cost"][name];
      EXPECT_NEAR(summary(output)["cost"][name], cost, 1e-9 * std::max(1.0, std::abs(cost))) << name;
    }
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// The same answer as that of clients that wait

class AsyncClients : public AsyncTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(AsyncClients, ComeToThePlanOfThoseThatWait) {
  const std::size_t clients = GetParam();
  ASSERT_EQ(run_on_threads(3, solve_tightly("waiting", "--topology all-to-all")).status, 0);
  for (int attempt = 0; attempt < 3; ++attempt) {  // no two runs are alike
    SCOPED_TRACE("attempt " + std::to_string(attempt));
    const RunResult result = run_on_threads(clients, solve_tightly("r", "--topology async"));
    ASSERT_EQ(result.status, 0) << result;
    EXPECT_EQ(result.out + result.err, "");
    expect_same_plan("r", "waiting");
    const Json json = summary("r");
    EXPECT_EQ(json["status"], "converged");
    EXPECT_EQ(json["topology"], "async");
    EXPECT_EQ(json["transport"], "threads");
    EXPECT_LE(json["error"]["a"], 1e-11);
    EXPECT_LE(json["error"]["b"], 1e-11);
    EXPECT_FALSE(json.contains("virtual_seconds"));
    expect_sound_clients(json, clients);
    for (const Json& client : json["clients"]) {
      EXPECT_GT(client["iterations"], 0);
      EXPECT_LE(client["iterations"], json["iterations"]);
    }
    EXPECT_EQ(json.contains("delays"), clients > 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Async, AsyncClients, ::testing::Values(1, 2, 4, 8), ::testing::PrintToStringParamName());

TEST_F(AsyncTest, OptionsChangeTheWayAndNotTheAnswer) {
  ASSERT_EQ(run(solve_tightly("one", "")).status, 0);
  const auto expect_same_answer = [&](const std::string& flags) {
    SCOPED_TRACE(flags);
    const RunResult result = run_on_threads(3, solve_tightly("r", "--topology async " + flags));
    ASSERT_EQ(result.status, 0) << result;
    expect_same_plan("r", "one");
  };
  expect_same_answer("--max-staleness 1");
  EXPECT_EQ(summary("r")["max_staleness"], 1);
  expect_same_answer("--damping 0.5");
  EXPECT_EQ(summary("r")["damping"], 0.5);
  EXPECT_EQ(summary("r")["damping_kind"], "geometric");
  expect_same_answer("--damping 0.5 --damping-kind arithmetic");
  EXPECT_EQ(summary("r")["damping_kind"], "arithmetic");
  expect_same_answer("--local-steps 5");
  EXPECT_EQ(summary("r")["local_steps"], 5);
  expect_same_answer("--check-every 10 --norm linf");
}

struct AsyncInput {
  std::string name;
  std::string flags;
};

void PrintTo(const AsyncInput& input, std::ostream* stream) { *stream << input.flags; }

/// Files as written by the constructor below.
const std::vector<AsyncInput> kAsyncInputs = {
    {"Targets", "--cost C.npy --a a.npy --b b3.npy"},
    {"PointsOnline", "--points X.npy Y.npy --a a.npy --b b.npy --kernel online"},
    {"AClientWithoutRows", "--cost C.npy --a a.npy --b b.npy --rows 1,0,2"},
    {"TheFirstClientWithoutRows", "--cost C.npy --a a.npy --b b.npy --rows 0,1,2"},
    // All rows of one client, and of its columns a few.
    {"ZeroMasses", "--cost C.npy --a a0.npy --b b0.npy"},
    {"ForbiddenPairs", "--cost Cinf.npy --a a.npy --b b.npy"},
    // Potentials that travel far are absorbed into the kernel on the way, which takes all clients together.
    {"Absorption", "--cost Cgroups.npy --b bgroups.npy"},
};

class AsyncInputs : public AsyncTest, public ::testing::WithParamInterface<AsyncInput> {
 protected:
  AsyncInputs() {
    write("b3.npy", random_masses(m, 5, 3), {m, 3});
    write("X.npy", random_values(n * 2, 6), {n, 2});
    write("Y.npy", random_values(m * 2, 7), {m, 2});
    Values a = random_masses(n, 8);
    std::fill_n(a.begin(), n / 3, 0.0);
    write("a0.npy", rescaled(a), {n});
    Values b = random_masses(m, 9);
    for (const std::size_t j : {0, 1, 40, 82}) b[j] = 0;
    write("b0.npy", rescaled(b), {m});
    const Values cost = random_values(n * m, 1);
    Values with_forbidden = cost;
    for (std::size_t i = 0; i < with_forbidden.size(); i += 7) with_forbidden[i] = kInfinity;
    write("Cinf.npy", with_forbidden, {n, m});
    // Two groups far apart, of which one has half of the rows and most of the mass of the columns.
    Values two_groups = cost;
    Values b_of_groups(m);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) two_groups[i * m + j] += (i < n / 2) == (j < m / 2) ? 0 : 30;
    }
    for (std::size_t j = 0; j < m; ++j) b_of_groups[j] = j < m / 2 ? 9 : 1;
    write("Cgroups.npy", two_groups, {n, m});
    write("bgroups.npy", rescaled(b_of_groups), {m});
  }

  static Values rescaled(Values masses) {
    double total = 0;
    for (const double x : masses) total += x;
    for (double& x : masses) x /= total;
    return masses;
  }
};

TEST_P(AsyncInputs, AreSolvedAsByOneClient) {
  const std::string command =
      "solve --quiet --plan --tolerance 1e-11 --epsilon 0.05 " + GetParam().flags + " --output ";
  const bool has_rows = command.find("--rows") != std::string::npos;
  const std::string one_client = has_rows ? command.substr(0, command.find("--rows")) + "--output " : command;
  ASSERT_EQ(run(one_client + "one --topology centralized").status, 0);
  const RunResult result = run_on_threads(3, command + "r --topology async");
  ASSERT_EQ(result.status, 0) << result;
  expect_same_plan("r", "one");
  expect_sound_clients(summary("r"), 3);
  if (GetParam().name == "Absorption") {
    EXPECT_GT(summary("r")["absorptions"], 0) << "not what was to be tested";
  }
}

INSTANTIATE_TEST_SUITE_P(Async, AsyncInputs, ::testing::ValuesIn(kAsyncInputs),
                         [](const auto& info) { return info.param.name; });

TEST_F(AsyncTest, EveryClientWritesItsRowsIfTheyStayLocal) {
  ASSERT_EQ(run(solve("one", "--tolerance 1e-11")).status, 0);
  const RunResult result =
      run_on_threads(3, solve("r", "--topology async --tolerance 1e-11 --rows 1,2,3 --keep-local"));
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(listing(folder() / "r"), (Names{"delays.csv", "f-0.npy", "f-1.npy", "f-2.npy", "g.npy", "summary-0.json",
                                            "summary-1.json", "summary-2.json", "summary.json", "trace.csv"}));
  Values together;
  for (std::size_t k = 0; k < 3; ++k) {
    const Array part = array("r/f-" + std::to_string(k) + ".npy");
    EXPECT_EQ(part.shape, Shape{10 * (k + 1)});
    together.insert(together.end(), part.values.begin(), part.values.end());
  }
  // Potentials are known up to a number that is added to f and taken from g.
  const Values f = array("one/f.npy").values;
  const double shift = f[0] - together[0];
  for (double& x : together) x += shift;
  EXPECT_LE(largest_difference(together, f), 1e-9);
}

// A run of clients that wait leaves no delays of an earlier one in the folder.
TEST_F(AsyncTest, DelaysOfAnEarlierRunDoNotStay) {
  ASSERT_EQ(run_on_threads(2, solve("r", "--topology async")).status, 0);
  EXPECT_EQ(listing(folder() / "r"), kAsyncResultFiles);
  ASSERT_EQ(run_on_threads(2, solve("r", "--topology star")).status, 0);
  EXPECT_EQ(listing(folder() / "r"), kResultFiles);
}

TEST_F(AsyncTest, TheLimitOfIterationsIsKept) {
  for (const std::string transport : {"threads", "simulated"}) {
    SCOPED_TRACE(transport);
    const RunResult result =
        run_on_threads(3, solve("r", "--topology async --tolerance 0 --max-iterations 20 --transport " + transport));
    ASSERT_EQ(result.status, 3) << result;
    const Json all = summary("r");
    EXPECT_EQ(all["status"], "iteration_limit");
    EXPECT_EQ(all["iterations"], 20);
    for (const Json& client : all["clients"]) EXPECT_LE(client["iterations"], 20);
  }
}

TEST_F(AsyncTest, AnInterruptedRunKeepsItsResults) {
  // So far apart that virtual time passes quickly: the first line of progress comes after half a virtual second.
  write_scenario("far.json", R"({"latency": {"law": "constant", "value": 0.01}})");
  for (const std::string transport : {"threads", "simulated --scenario far.json"}) {
    SCOPED_TRACE(transport);
    const RunResult result = run_binary(
        words_of("solve --cost C.npy --epsilon 0.05 --tolerance 0 --max-iterations 1000000000000 --check-every 10 "
                 "--threads 1 --output r --clients 3 --topology async --transport " +
                 transport),
        {.folder = folder(), .signal_after = "iteration", .signal = SIGINT});
    EXPECT_TRUE(result.signal_sent);
    ASSERT_EQ(result.status, 130) << result;
    EXPECT_LE(result.end_seconds, 10);
    EXPECT_EQ(listing(folder() / "r"), kAsyncResultFiles);
    EXPECT_EQ(summary("r")["status"], "interrupted");
    EXPECT_GT(summary("r")["iterations"], 0);
    expect_sound_clients(summary("r"), 3);
    EXPECT_EQ(array("r/f.npy").shape, Shape{n});
    fs::remove_all(folder() / "r");
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The same run again

class SimulatedAsync : public AsyncTest {
 protected:
  SimulatedAsync() { write_scenario("moody.json", kMoodyNetwork); }

  Json run_moody(const std::string& output, const std::string& flags = "") const {
    const RunResult result = run_simulated(4, solve(output, "--topology async --scenario moody.json " + flags));
    EXPECT_EQ(result.status, 0) << result;
    return summary(output);
  }
};

TEST_F(SimulatedAsync, TheSeedDecidesHowARunGoes) {
  const Json first = run_moody("first", "--seed 3");
  const Json again = run_moody("again", "--seed 3");
  const Json other = run_moody("other", "--seed 4");
  for (const char* file : {"/f.npy", "/g.npy", "/trace.csv", "/delays.csv"}) {
    EXPECT_TRUE(bytes(std::string("first") + file) == bytes(std::string("again") + file)) << file;
  }
  EXPECT_EQ(first["virtual_seconds"], again["virtual_seconds"]);
  EXPECT_EQ(first["iterations"], again["iterations"]);
  EXPECT_EQ(first["delays"], again["delays"]);
  EXPECT_EQ(first["seed"], 3);
  EXPECT_EQ(other["seed"], 4);
  EXPECT_NE(bytes("first/trace.csv"), bytes("other/trace.csv"));
  EXPECT_NE(first["virtual_seconds"], other["virtual_seconds"]);
}

TEST_F(SimulatedAsync, TheSeedOfTheScenarioIsTakenUnlessThereIsAFlag) {
  EXPECT_EQ(run_moody("file")["seed"], 7);
  EXPECT_EQ(run_moody("flag", "--seed 7")["seed"], 7);
  EXPECT_TRUE(bytes("file/trace.csv") == bytes("flag/trace.csv"));
  const RunResult result = run_simulated(2, solve("default", "--topology async"));
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(summary("default")["seed"], 1);
}

/// Of an object with uses, min, max, mean, std and a histogram.
void expect_sound_delays(const Json& delays, std::uint64_t max_staleness) {
  double uses = 0;
  double sum = 0;
  double squares = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  for (const auto& item : delays["histogram"].items()) {
    const std::uint64_t age = std::stoull(item.key());
    const auto count = item.value().get<double>();
    EXPECT_GT(count, 0);
    uses += count;
    sum += static_cast<double>(age) * count;
    squares += static_cast<double>(age * age) * count;
    least = std::min(least, age);
    most = std::max(most, age);
  }
  ASSERT_GT(uses, 0);
  EXPECT_EQ(delays["uses"], uses);
  EXPECT_EQ(delays["min"], least);
  EXPECT_EQ(delays["max"], most);
  EXPECT_LE(most, max_staleness);
  const double mean = sum / uses;
  EXPECT_NEAR(delays["mean"], mean, 1e-9);
  EXPECT_NEAR(delays["std"], std::sqrt(std::max(0.0, squares / uses - mean * mean)), 1e-6);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

/// A line of delays.csv as the object that summary.json has for the same pair.
Json pair_of_line(const std::string& line, const Names& columns) {
  const Names fields = split(line, ',');
  EXPECT_EQ(fields.size(), columns.size()) << line;
  Json pair;
  for (std::size_t k = 0; k < std::min(fields.size(), columns.size()); ++k) {
    if (columns[k] == "slice") {
      pair["slice"] = fields[k];
    } else if (columns[k] == "histogram") {
      pair["histogram"] = Json::object();
      for (const std::string& bar : split(fields[k], ' ')) {
        const std::size_t colon = bar.find(':');
        pair["histogram"][bar.substr(0, colon)] = std::stoull(bar.substr(colon + 1));
      }
    } else {
      pair[columns[k]] = Json::parse(fields[k]);
    }
  }
  return pair;
}

TEST_F(SimulatedAsync, DelaysAddUp) {
  constexpr std::size_t clients = 4;
  constexpr std::uint64_t max_staleness = 5;
  const Json json = run_moody("r", "--max-staleness " + std::to_string(max_staleness));
  EXPECT_EQ(json["max_staleness"], max_staleness);
  EXPECT_GT(json["virtual_seconds"], 0);
  for (const Json& client : json["clients"]) {
    EXPECT_GT(client["iterations"], 0);
    EXPECT_LE(client["iterations"], json["iterations"]);
  }
  const Json& delays = json["delays"];
  ASSERT_EQ(delays["pairs"].size(), 2 * clients * (clients - 1));
  for (const std::string slice : {"u", "v"}) {
    SCOPED_TRACE(slice);
    expect_sound_delays(delays[slice], max_staleness);
    std::uint64_t uses = 0;
    std::uint64_t superseded = 0;
    for (const Json& pair : delays["pairs"]) {
      if (pair["slice"] != slice) continue;
      EXPECT_NE(pair["from"], pair["to"]);
      expect_sound_delays(pair, max_staleness);
      uses += pair["uses"].get<std::uint64_t>();
      superseded += pair["superseded"].get<std::uint64_t>();
      // A slice is used for the first time at most once an iteration.
      EXPECT_LE(pair["uses"], json["clients"][pair["to"].get<std::size_t>()]["iterations"]);
    }
    EXPECT_EQ(delays[slice]["uses"], uses);
    EXPECT_EQ(delays[slice]["superseded"], superseded);
  }

  const Names lines = split(bytes("r/delays.csv"), '\n');
  ASSERT_EQ(lines.size(), 1 + delays["pairs"].size());
  const Names columns = split(lines[0], ',');
  for (std::size_t k = 1; k < lines.size(); ++k) EXPECT_EQ(pair_of_line(lines[k], columns), delays["pairs"][k - 1]);
}

// ---------------------------------------------------------------------------------------------------------------------
// Clients that wait, on a simulated network

class SimulatedTopology : public AsyncTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(SimulatedTopology, ComputesWhatItDoesOnThreads) {
  const std::string flags = "--topology " + GetParam();
  const RunResult on_threads = run_on_threads(4, solve("threads", flags));
  ASSERT_EQ(on_threads.status, 0) << on_threads;
  const RunResult simulated = run_simulated(4, solve("simulated", flags));
  ASSERT_EQ(simulated.status, 0) << simulated;
  EXPECT_EQ(simulated.out + simulated.err, "");
  EXPECT_EQ(listing(folder() / "simulated"), kResultFiles);
  if (testing::topology_named(GetParam()).keeps_bits) {
    expect_same_bytes("simulated", "threads");
  } else {
    expect_close("simulated", "threads", 1e-12);
  }
  const Json expected = summary("threads");
  const Json json = summary("simulated");
  EXPECT_EQ(json["transport"], "simulated");
  EXPECT_EQ(json["iterations"], expected["iterations"]);
  EXPECT_EQ(json["exchanges"], expected["exchanges"]);
  expect_sound_clients(json, 4);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(json["clients"][k]["sent"], expected["clients"][k]["sent"]) << k;
    EXPECT_EQ(json["clients"][k]["iterations"], json["iterations"]) << k;
  }
}

TEST_P(SimulatedTopology, TakesLongerOnAWorseNetwork) {
  write_scenario("plain.json", R"({"latency": {"law": "constant", "value": 1e-4}})");
  write_scenario("far.json", R"({"latency": {"law": "constant", "value": 2e-4}})");
  write_scenario("slow.json", R"({"latency": {"law": "constant", "value": 1e-4},
    "clients": [{"client": 2, "slower": 50}]})");
  // Client 0 takes part in all topologies, and computes in a star.
  write_scenario("slow0.json", R"({"latency": {"law": "constant", "value": 1e-4},
    "clients": [{"client": 0, "slower": 50}]})");
  const auto virtual_seconds = [&](const std::string& scenario) {
    const RunResult result =
        run_simulated(4, solve(scenario, "--topology " + GetParam() + " --scenario " + scenario + ".json"));
    EXPECT_EQ(result.status, 0) << result;
    return summary(scenario)["virtual_seconds"].get<double>();
  };
  const double plain = virtual_seconds("plain");
  EXPECT_GT(plain, 0);
  EXPECT_GT(virtual_seconds("far"), 1.5 * plain) << "most of the time is latency";
  EXPECT_LT(summary("far")["virtual_seconds"], 2 * plain) << "but not all";
  EXPECT_GT(virtual_seconds("slow0"), 1.01 * plain);
  // Whoever holds a part of the kernel holds up the others. In a star only the server has any.
  if (!testing::topology_named(GetParam()).layout(2, 4, {}).row_slices.empty()) {
    EXPECT_GT(virtual_seconds("slow"), 1.01 * plain);
  }
}

INSTANTIATE_TEST_SUITE_P(Simulated, SimulatedTopology, ::testing::ValuesIn(testing::topologies_in_step()),
                         [](const auto& info) { return testing::without_dashes(info.param); });

// ---------------------------------------------------------------------------------------------------------------------
// Simulated clients that fall silent

class SimulatedLoss : public AsyncTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  void SetUp() override {
    const RunResult result = run_simulated(4, solve("whole", "--topology async --tolerance 1e-10"));
    ASSERT_EQ(result.status, 0) << result;
  }

  /// Endless, until that client is lost.
  [[nodiscard]] RunResult run_and_lose(double at, const std::string& topology) const {
    const Json scenario = {{"clients", {{{"client", GetParam()}, {"lost_at", at}}}}};
    write_scenario("loss.json", scenario.dump());
    return run_simulated(
        4, solve("lost", "--tolerance 0 --max-iterations 1000000000 --scenario loss.json --topology " + topology));
  }

  void expect_named(const RunResult& result) const {
    EXPECT_EQ(result.status, 4);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "fedsinkhorn: client " + std::to_string(GetParam()) + " has not answered for 60 s\n");
  }
};

TEST_P(SimulatedLoss, AsyncClientsKeepWhatTheyKnow) {
  // By the time at which the other run was done, these are near the end, too.
  const RunResult result = run_and_lose(summary("whole")["virtual_seconds"], "async");
  SCOPED_TRACE(::testing::PrintToString(result));
  expect_named(result);
  ASSERT_EQ(listing(folder() / "lost"), kAsyncResultFiles);
  const Json json = summary("lost");
  EXPECT_EQ(json["status"], "client_lost");
  EXPECT_EQ(json["lost_clients"], Json::array({GetParam()}));
  for (const Json& cost : json["cost"]) EXPECT_TRUE(cost.is_null()) << cost;
  EXPECT_GT(json["iterations"], 0);
  // The others waited for 60 s before they gave up.
  EXPECT_GT(json["virtual_seconds"], 60 + summary("whole")["virtual_seconds"].get<double>());

  Values f = array("lost/f.npy").values;
  Values g = array("lost/g.npy").values;
  ASSERT_EQ(f.size(), n);
  ASSERT_EQ(g.size(), m);
  const auto is_finite = [](double x) { return std::isfinite(x); };
  EXPECT_TRUE(std::all_of(f.begin(), f.end(), is_finite));
  EXPECT_TRUE(std::all_of(g.begin(), g.end(), is_finite));
  // Up to a number that is added to f and taken from g.
  const double shift = array("whole/f.npy").values[0] - f[0];
  for (double& x : f) x += shift;
  for (double& x : g) x -= shift;
  EXPECT_LE(largest_difference(f, array("whole/f.npy").values), 1e-6);
  EXPECT_LE(largest_difference(g, array("whole/g.npy").values), 1e-6);
}

TEST_P(SimulatedLoss, BeforeAnythingIsKnownNothingIsWritten) {
  const RunResult result = run_and_lose(0, "async");
  SCOPED_TRACE(::testing::PrintToString(result));
  expect_named(result);
  EXPECT_FALSE(fs::exists(folder() / "lost"));
}

TEST_P(SimulatedLoss, ClientsThatWaitHaveNothingToKeep) {
  for (const std::string topology : {"all-to-all", "row-reduce"}) {
    const RunResult result = run_and_lose(summary("whole")["virtual_seconds"], topology);
    SCOPED_TRACE(topology + " " + ::testing::PrintToString(result));
    expect_named(result);
    EXPECT_FALSE(fs::exists(folder() / "lost"));
  }
}

INSTANTIATE_TEST_SUITE_P(Simulated, SimulatedLoss, ::testing::Values(0, 1),
                         [](const auto& info) { return "Client" + std::to_string(info.param); });

}  // namespace
}  // namespace fedsinkhorn::test
