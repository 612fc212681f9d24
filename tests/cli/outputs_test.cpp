// What is in the output folder when a run ends, however it ends.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "cli/federated.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Outputs : public RectangularTest {
 protected:
  /// The files of a folder and what is in them, those that are not hidden.
  [[nodiscard]] std::vector<std::string> visible(const std::string& output) const {
    std::vector<std::string> files = snapshot(folder() / output);
    std::erase_if(files, [](const std::string& file) { return file.starts_with('.'); });
    return files;
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// Runs that are cut off

class KilledWhileWriting : public Outputs, public ::testing::WithParamInterface<std::string> {
 protected:
  static constexpr std::size_t kMany = 1200;

  KilledWhileWriting() { write("X.npy", random_values(kMany * 2, 7), {kMany, 2}); }

  [[nodiscard]] std::string command(const std::string& epsilon) const {
    return "solve --points X.npy --quiet --plan --threads 1 --output r --epsilon " + epsilon;
  }

  /// Whether a file that begins like this lies in a hidden folder of the output.
  [[nodiscard]] bool is_staged(const std::string& start) const {
    std::error_code gone;
    for (const auto& hidden : fs::directory_iterator(folder() / "r", gone)) {
      if (!hidden.path().filename().string().starts_with(".fedsinkhorn-")) continue;
      for (const auto& file : fs::directory_iterator(hidden.path(), gone)) {
        if (file.path().filename().string().starts_with(start)) return true;
      }
    }
    return false;
  }

  /// Starts the program and kills it as soon as that file is being written. Whether it was.
  [[nodiscard]] bool kill_at(const std::string& file, const std::string& epsilon) const {
    Arguments words = words_of(command(epsilon));
    words.insert(words.begin(), FEDSINKHORN_BINARY);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string where = folder().string();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(where.c_str()) == 0) ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    const auto end = std::chrono::steady_clock::now() + 60s;
    int status = 0;
    bool seen = false;
    while (!seen && std::chrono::steady_clock::now() < end && ::waitpid(child, &status, WNOHANG) == 0) {
      seen = is_staged(file);
    }
    if (seen) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    return seen;
  }
};

TEST_P(KilledWhileWriting, LeavesTheOldSetOrTheNewOne) {
  std::vector<std::string> old_set;
  bool is_killed = false;
  for (int attempt = 0; attempt < 50 && !is_killed; ++attempt) {  // a busy machine may look too late
    ASSERT_EQ(run(command("0.2")).status, 0);
    old_set = visible("r");
    is_killed = kill_at(GetParam(), "0.1");
  }
  ASSERT_TRUE(is_killed);
  const Names names = {"f.npy", "g.npy", "plan.npy", "summary.json", "trace.csv"};
  const auto left = visible("r");
  if (left != old_set) {  // it was as good as done
    EXPECT_EQ(summary("r")["epsilon"], 0.1);
    EXPECT_EQ(array("r/plan.npy").values.size(), kMany * kMany);
  }
  // The next run leaves nothing of it.
  ASSERT_EQ(run(command("0.15")).status, 0);
  EXPECT_EQ(listing(folder() / "r"), names);
  EXPECT_EQ(summary("r")["epsilon"], 0.15);
}

INSTANTIATE_TEST_SUITE_P(At, KilledWhileWriting, ::testing::Values("f.npy", "summary.json", ".plan.npy", "plan.npy"),
                         [](const auto& at) {
                           std::string name = at.param;
                           std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name + (at.param.starts_with('.') ? "begun" : "");
                         });

// The plan is too large for the limit on files; potentials are not.
TEST_F(Outputs, AFailedWriteLeavesTheOldSet) {
  const std::size_t many = 300;
  write("X.npy", random_values(many * 2, 7), {many, 2});
  const std::string solve = "solve --points X.npy --plan --quiet --output r --epsilon ";
  ASSERT_EQ(run(solve + "0.2").status, 0);
  const auto before = snapshot(folder());
  std::string limited = "trap '' XFSZ; ulimit -f 100; exec " FEDSINKHORN_BINARY " " + solve + "0.1 2> ../said";
  fs::create_directory(folder() / "w");
  const std::string command =
      "cd '" + folder().string() + "' && mkdir -p w && cd w && cp ../X.npy . && cp -r ../r . && " + limited;
  const int status = std::system(("/bin/bash -c \"" + command + "\"").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  const std::string said = bytes("said");
  EXPECT_EQ(own_lines(said).size(), 1U) << said;
  EXPECT_NE(said.find("plan.npy: cannot be written"), std::string::npos) << said;
  EXPECT_EQ(said.find(".fedsinkhorn-"), std::string::npos) << said;
  EXPECT_EQ(snapshot(folder() / "w" / "r"), snapshot(folder() / "r"));
}

// ---------------------------------------------------------------------------------------------------------------------
// What clients get

TEST_F(Outputs, RowsKeptBeforeDoNotStayBesideAWholeF) {
  ASSERT_EQ(run(solve("r", "--clients 3 --keep-local --plan")).status, 0);
  EXPECT_TRUE(fs::exists(folder() / "r" / "f-2.npy"));
  ASSERT_EQ(run(solve("r")).status, 0);
  EXPECT_EQ(listing(folder() / "r"), (Names{"f.npy", "g.npy", "summary.json", "trace.csv"}));
}

class EachClient : public Outputs, public ::testing::WithParamInterface<Transport> {
 protected:
  static constexpr std::size_t kClients = 3;

  EachClient() {
    const std::vector<std::size_t> cuts = {0, 10, 35, n};
    const std::vector<std::size_t> column_cuts = {0, 40, 41, m};
    write_parts(folder(), "C", random_values(n * m, 1), {n, m}, cuts);
    write_parts(folder(), "a", random_masses(n, 2), {n}, cuts);
    write_parts(folder(), "b", random_masses(m, 3), {m}, column_cuts);
    write("X.npy", random_values(n * 2, 4), {n, 2});
    write("Y.npy", random_values(m * 2, 5), {m, 2});
    write_parts(folder(), "X", random_values(n * 2, 4), {n, 2}, cuts);
    write_parts(folder(), "Y", random_values(m * 2, 5), {m, 2}, column_cuts);
  }

  /// Plan rows of all clients, one after the other.
  [[nodiscard]] Values plan_rows(const std::string& output) const {
    Values rows;
    for (std::size_t k = 0; k < kClients; ++k) {
      std::string name = output + "/plan-" + std::to_string(k) + ".npy";
      if (const auto at = name.find("{client}"); at != std::string::npos) name.replace(at, 8, std::to_string(k));
      const Values part = array(name).values;
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }
};

// A bank needs g, its rows of f and nothing else to form its rows of the plan.
TEST_P(EachClient, GetsWhatItNeedsIntoItsOwnFolder) {
  const std::string inputs = "solve --cost 'C-{client}.npy' --a 'a-{client}.npy' --b 'b-{client}.npy' --epsilon 0.05 ";
  const RunResult result = run_on(GetParam(), kClients, inputs + "--quiet --plan --output 'bank{client}/out'");
  ASSERT_EQ(result.status, 0) << result;
  ASSERT_EQ(run(solve("one", "--plan")).status, 0);
  EXPECT_EQ(summary("bank0/out")["topology"], "row-reduce");
  std::size_t first = 0;
  for (std::size_t k = 0; k < kClients; ++k) {
    SCOPED_TRACE(k);
    const std::string own = std::to_string(k);
    Names names = {"f-" + own + ".npy", "g.npy", "plan-" + own + ".npy", "summary.json", "trace.csv"};
    if (k == 0) names.insert(names.begin() + 1, "f.npy");
    EXPECT_EQ(listing(folder() / ("bank" + own) / "out"), names);
    EXPECT_EQ(bytes("bank" + own + "/out/g.npy"), bytes("bank0/out/g.npy"));
    const Values f = array("bank" + own + "/out/f-" + own + ".npy").values;
    const Values all = array("bank0/out/f.npy").values;
    ASSERT_LE(first + f.size(), all.size());
    EXPECT_TRUE(std::equal(f.begin(), f.end(), all.begin() + static_cast<std::ptrdiff_t>(first)));
    const Json json = summary("bank" + own + "/out");
    EXPECT_EQ(json["status"], "converged");
    const std::size_t at = k == 0 ? 0 : json["clients"].size() - 1;
    EXPECT_EQ(json["clients"].size(), k == 0 ? kClients : 1U);
    EXPECT_EQ(json["clients"][at]["client"], k);
    EXPECT_EQ(json["clients"][at]["rows"], Json::array({first, first + f.size()}));
    first += f.size();
  }
  EXPECT_EQ(first, n);
  EXPECT_LE(largest_difference(plan_rows("bank{client}/out"), array("one/plan.npy").values), 1e-12);
}

TEST_P(EachClient, KeepsItsRowsOfThePlanWhereFIsNotGathered) {
  const RunResult result = run_on(GetParam(), kClients, solve("r", "--keep-local --plan --rows 1,2,3"));
  ASSERT_EQ(result.status, 0) << result;
  ASSERT_EQ(run(solve("one", "--plan")).status, 0);
  EXPECT_EQ(listing(folder() / "r"),
            (Names{"f-0.npy", "f-1.npy", "f-2.npy", "g.npy", "plan-0.npy", "plan-1.npy", "plan-2.npy", "summary-0.json",
                   "summary-1.json", "summary-2.json", "summary.json", "trace.csv"}));
  EXPECT_LE(largest_difference(plan_rows("r"), array("one/plan.npy").values), 1e-12);
  EXPECT_EQ(read_json(folder() / "r" / "summary-2.json")["clients"][0]["client"], 2);
  expect_sound_clients(summary("r"), kClients);
}

// No client's file has the points of all columns.
TEST_P(EachClient, FormsItsRowsFromPointsInParts) {
  const std::string masses = " --a 'a-{client}.npy' --b 'b-{client}.npy' --epsilon 0.05 --quiet --plan --output ";
  const RunResult result =
      run_on(GetParam(), kClients, "solve --points 'X-{client}.npy' 'Y-{client}.npy'" + masses + "r");
  ASSERT_EQ(result.status, 0) << result;
  ASSERT_EQ(run("solve --points X.npy Y.npy --a a.npy --b b.npy --epsilon 0.05 --quiet --plan --output one").status, 0);
  EXPECT_LE(largest_difference(plan_rows("r"), array("one/plan.npy").values), 1e-12);
  EXPECT_FALSE(fs::exists(folder() / "r" / "plan.npy"));
}

TEST_P(EachClient, OverwritesNobodysInput) {
  for (const char* name : {"d0", "d1", "d2"}) fs::create_directory(folder() / name);
  write("d0/g.npy", Values(40, 0.0), {40});
  write("d1/g.npy", Values(1, 0.0), {1});
  write("d2/g.npy", Values(m - 41, 0.0), {m - 41});
  const auto before = snapshot(folder());
  const std::string inputs = "solve --cost 'C-{client}.npy' --a 'a-{client}.npy' --b 'b-{client}.npy' --epsilon 0.05 ";
  const RunResult result = run_on(GetParam(), kClients, inputs + "--quiet --initial-g 'd{client}/g.npy' --output d1");
  expect_refused(result, {"--output d1", "would overwrite the input d1/g.npy"}, before);
}

// The refusal says what works with only rows.
TEST_P(EachClient, LearnsThatAsyncNeedsColumns) {
  const auto before = snapshot(folder());
  const RunResult result =
      run_on(GetParam(), kClients,
             "solve --cost 'C-{client}.npy' --a 'a-{client}.npy' --epsilon 0.05 --topology async --output r");
  expect_refused(result, {"async", "use --topology row-reduce, which needs only rows"}, before);
}

INSTANTIATE_TEST_SUITE_P(On, EachClient, ::testing::ValuesIn(available_transports()),
                         [](const auto& transport) { return ::testing::PrintToString(transport.param); });

// ---------------------------------------------------------------------------------------------------------------------

// Costs that are read in every pass, and a file that shrinks meanwhile.
TEST_F(Outputs, AnInputThatIsTruncatedIsNamed) {
  const std::size_t many = 400;
  write("big.npy", random_values(many * many, 5), {many, many});
  const auto act = [this](int) {
    fs::resize_file(folder() / "big.npy", 4096);
    return true;
  };
  const RunResult result = run_binary(words_of("solve --cost big.npy --kernel online --epsilon 0.05 --tolerance 0 "
                                               "--max-iterations 1000000000 --output r"),
                                      {.folder = folder(), .signal_after = "iteration", .act = act});
  EXPECT_EQ(result.status, 2) << result;
  const std::vector<std::string> lines = own_lines(result.err);
  ASSERT_EQ(lines.size(), 1U) << result;
  EXPECT_TRUE(lines[0].starts_with("fedsinkhorn: big.npy: became shorter")) << lines[0];
}

}  // namespace
}  // namespace fedsinkhorn::test
