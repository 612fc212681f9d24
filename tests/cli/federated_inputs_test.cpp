// Inputs that lie with the clients, each its part ({client} in a file's name): the same answer as from whole files, and
// parts that do not fit together are refused by the name of the file at fault.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "cli/federated.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/registered.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kClients = 3;

/// Where the parts begin and end: rows, columns, and targets' rows.
struct Cuts {
  std::string name;
  std::array<std::size_t, kClients + 1> rows;
  std::array<std::size_t, kClients + 1> columns;
};

const Cuts kUneven = {"Uneven", {0, 11, 12, 30}, {0, 5, 6, 41}};

class PartsTest : public FederatedTest {
 protected:
  static constexpr std::size_t n = 30;
  static constexpr std::size_t m = 41;
  static constexpr std::size_t d = 3;

  PartsTest() {
    const Values twice = transposed(symmetric_, n);
    for (std::size_t k = 0; k < symmetric_.size(); ++k) symmetric_[k] += twice[k];
    write("C.npy", cost_, {n, m});
    write("S.npy", symmetric_, {n, n});
    write("X.npy", x_, {n, d});
    write("Y.npy", random_values(m * d, 9), {m, d});
    write("a.npy", a_, {n});
    write("b.npy", b_, {m});
    write("b2.npy", b2_, {m, 2});
    write("c.npy", c_, {n});
    write("g.npy", g_, {m});
  }

  void write_all_parts(const Cuts& cuts) const {
    write_parts(folder(), "C", cost_, {n, m}, cuts.rows);
    write_parts(folder(), "S", symmetric_, {n, n}, cuts.rows);
    write_parts(folder(), "X", x_, {n, d}, cuts.rows);
    write_parts(folder(), "a", a_, {n}, cuts.rows);
    write_parts(folder(), "b", b_, {m}, cuts.columns);
    write_parts(folder(), "b2", b2_, {m, 2}, cuts.columns);
    write_parts(folder(), "c", c_, {n}, cuts.rows);
    write_parts(folder(), "g", g_, {m}, cuts.columns);
  }

  Values cost_ = random_values(n * m, 1);
  Values symmetric_ = random_values(n * n, 2);
  Values x_ = random_values(n * d, 3);
  Values a_ = random_masses(n, 4);
  Values b_ = random_masses(m, 5);
  Values b2_ = random_masses(m, 6, 2);
  Values c_ = random_masses(n, 7);  // column masses of square costs
  Values g_ = random_values(m, 8);  // a start
};

// ---------------------------------------------------------------------------------------------------------------------
// What fits together

/// In both commands @ stands for what is "" in the one with whole files and "-{client}" in the other.
struct Division {
  std::string name;
  std::string topology;
  std::string files;
};

const std::vector<Division> kDivisions = {
    {"RowReduce", "row-reduce", "--cost C@.npy --a a@.npy --b b@.npy"},
    {"RowReduceCostAlone", "row-reduce", "--cost C@.npy --a a.npy --b b.npy"},
    {"RowReduceMassesAlone", "row-reduce", "--cost C.npy --a a@.npy --b b@.npy"},
    {"RowReduceUniform", "row-reduce", "--cost C@.npy"},
    {"RowReduceStart", "row-reduce", "--cost C@.npy --a a@.npy --b b@.npy --initial-g g@.npy"},
    {"RowReduceStartAlone", "row-reduce", "--cost C.npy --initial-g g@.npy"},
    {"StarStartOfTargets", "star", "--cost C.npy --b b2@.npy --initial-g g@.npy"},
    {"RowReduceTargets", "row-reduce", "--cost C@.npy --a a@.npy --b b2@.npy"},
    {"AllToAllSymmetric", "all-to-all", "--cost S@.npy --a a@.npy --b c@.npy"},
    {"AllToAllSymmetricCostAlone", "all-to-all", "--cost S@.npy --a a.npy --b c.npy"},
    {"AllToAllMassesAlone", "all-to-all", "--cost C.npy --a a@.npy --b b@.npy"},
    {"StarMassesAlone", "star", "--cost C.npy --a a@.npy --b b@.npy"},
    {"StarRowMassesAlone", "star", "--cost C.npy --a a@.npy --b b.npy"},
    {"GridRowMassesAlone", "grid", "--cost C.npy --a a@.npy --b b.npy"},
    {"GridMassesAlone", "grid", "--cost C.npy --a a@.npy --b b@.npy"},
    {"RowReducePoints", "row-reduce", "--points X@.npy Y.npy --a a@.npy --b b@.npy"},
    {"RowReduceSharedSupport", "row-reduce", "--points X@.npy --a a@.npy --b c@.npy"},
    {"AllToAllSharedSupport", "all-to-all", "--points X@.npy --a a@.npy --b c@.npy"},
};

/// Starting ranks takes its time; between them these meet every kind of file.
const std::vector<std::string> kUnderMpirun = {"RowReduce", "AllToAllSymmetric", "StarMassesAlone", "RowReducePoints",
                                               "AllToAllSharedSupport"};

struct DividedRun {
  Division division;
  Cuts cuts;
  Transport transport;
};

void PrintTo(const DividedRun& run, std::ostream* stream) {
  *stream << run.transport << ", " << run.cuts.name << ": " << run.division.files;
}

std::string with_files(std::string text, const std::string& part) {
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, part);
  return text;
}

class Divided : public PartsTest, public ::testing::WithParamInterface<DividedRun> {};

TEST_P(Divided, GivesTheSamePotentialsAsWholeFiles) {
  const Division& division = GetParam().division;
  const Cuts& cuts = GetParam().cuts;
  write_all_parts(cuts);
  const auto solve = [&](const std::string& part, const std::string& output) {
    return "solve " + with_files(division.files, part) +
           " --epsilon 0.1 --method sinkhorn --tolerance 5 --check-every 50 --quiet --output " + output;
  };
  const RunResult one = run(solve("", "one") + " --passes two --threads 1");
  ASSERT_EQ(one.status, 0) << one;
  const RunResult result =
      run_on(GetParam().transport, kClients, solve("-{client}", "r") + " --topology " + division.topology);
  ASSERT_EQ(result.status, 0) << result;
  if (testing::topology_named(division.topology).keeps_bits) {
    expect_same_bytes("r", "one");
  } else {
    expect_close("r", "one", 1e-12);
  }
  const Json json = summary("r");
  EXPECT_EQ(json["iterations"], 50);
  expect_sound_clients(json, kClients);
  if (division.files.find("a@") == std::string::npos && division.files.find("C@") == std::string::npos) return;
  for (std::size_t k = 0; k < kClients; ++k) {
    EXPECT_EQ(json["clients"][k]["rows"], (Json{cuts.rows[k], cuts.rows[k + 1]}));
  }
}

std::vector<DividedRun> divided_runs(const Cuts& cuts) {
  std::vector<DividedRun> runs;
  for (const Division& division : kDivisions) {
    runs.push_back({division, cuts, Transport::threads});
    const bool in_short_list = std::find(kUnderMpirun.begin(), kUnderMpirun.end(), division.name) != kUnderMpirun.end();
    const bool here = cuts.name == kUneven.name || (cuts.name == "MiddleEmpty" && division.name == "RowReduce");
    if (has_mpirun() && in_short_list && here) runs.push_back({division, cuts, Transport::mpi});
  }
  return runs;
}

std::string name_of_run(const ::testing::TestParamInfo<DividedRun>& info) {
  return info.param.division.name + (info.param.transport == Transport::mpi ? "Mpi" : "");
}

INSTANTIATE_TEST_SUITE_P(Uneven, Divided, ::testing::ValuesIn(divided_runs(kUneven)), name_of_run);
// Somebody who takes part and has nothing yet: first, in the middle, last.
INSTANTIATE_TEST_SUITE_P(FirstEmpty, Divided,
                         ::testing::ValuesIn(divided_runs({"FirstEmpty", {0, 0, 12, 30}, {0, 0, 6, 41}})), name_of_run);
INSTANTIATE_TEST_SUITE_P(MiddleEmpty, Divided,
                         ::testing::ValuesIn(divided_runs({"MiddleEmpty", {0, 11, 11, 30}, {0, 41, 41, 41}})),
                         name_of_run);
INSTANTIATE_TEST_SUITE_P(LastEmpty, Divided,
                         ::testing::ValuesIn(divided_runs({"LastEmpty", {0, 11, 30, 30}, {0, 5, 41, 41}})),
                         name_of_run);

// ---------------------------------------------------------------------------------------------------------------------
// What does not

struct Misfit {
  std::string name;
  std::string command;
  std::vector<std::string> mentions;  // the file or flag at fault first
  Prepare prepare = {};
  bool under_mpirun = false;  // too
};

void PrintTo(const Misfit& misfit, std::ostream* stream) { *stream << misfit.command; }

Prepare replaced(const std::string& name, const Values& values, const Shape& shape) {
  return [=](const fs::path& folder) { write_npy(folder / name, values, shape); };
}

Prepare removed(const std::string& name) {
  return [=](const fs::path& folder) { fs::remove(folder / name); };
}

std::vector<Misfit> misfits() {
  const std::string row_reduce = "--topology row-reduce --cost C-{client}.npy --a a-{client}.npy --b b-{client}.npy";
  const std::string star = "--topology star --cost C.npy --a a-{client}.npy --b b-{client}.npy";
  const std::string points = "--topology row-reduce --points X-{client}.npy Y.npy --a a-{client}.npy";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Values cost_with_nan(18 * 41, 0.5);
  cost_with_nan[3 * 41 + 7] = nan;
  return {
      {"OtherColumns", row_reduce, {"C-1.npy", "40 columns"}, replaced("C-1.npy", Values(40, 1), {1, 40}), true},
      {"OtherColumnsOfTheFirst", row_reduce, {"C-", "columns"}, replaced("C-0.npy", Values(440, 1), {11, 40})},
      {"OneDimension", row_reduce, {"C-1.npy"}, replaced("C-1.npy", Values(41, 1), {41})},
      {"PartOfATooShort",
       row_reduce,
       {"a-2.npy", "17 masses", "18 rows"},
       replaced("a-2.npy", Values(17, 1), {17}),
       true},
      {"PartOfATooLong", row_reduce, {"a-1.npy", "2 masses", "1 rows"}, replaced("a-1.npy", Values(2, 1), {2})},
      // The total is right, so neither part alone is to blame; the first is named.
      {"PartsOfAShifted",
       row_reduce,
       {"a-0.npy", "10 masses", "11 rows"},
       [](const fs::path& folder) {
         write_npy(folder / "a-0.npy", Values(10, 1), Shape{10});
         write_npy(folder / "a-1.npy", Values(2, 1), Shape{2});
       }},
      // Nobody owns columns but by the parts of b: which of them is wrong cannot be told.
      {"PartsOfBDoNotAddUp", row_reduce, {"b-", "40", "41 columns"}, replaced("b-2.npy", Values(34, 1), {34})},
      {"PartsOfADoNotAddUpToTheWholeCost", star, {"a-", "29", "30 rows"}, replaced("a-2.npy", Values(17, 1), {17})},
      {"PartOfATwoColumns", row_reduce, {"a-1.npy"}, replaced("a-1.npy", Values(2, 1), {1, 2})},
      {"OtherTargets", row_reduce, {"b-2.npy", "2 targets"}, replaced("b-2.npy", Values(70, 1), {35, 2})},
      {"OtherDimension", points, {"X-1.npy"}, replaced("X-1.npy", Values(2, 1), {1, 2})},
      {"OtherDimensionOfASharedSupport",
       "--topology all-to-all --points X-{client}.npy",
       {"X-2.npy", "4 coordinates"},
       replaced("X-2.npy", Values(18 * 4, 1), {18, 4})},
      {"MissingCost", row_reduce, {"C-2.npy"}, removed("C-2.npy"), true},
      {"MissingA", row_reduce, {"a-1.npy"}, removed("a-1.npy")},
      {"MissingB", star, {"b-0.npy"}, removed("b-0.npy")},
      {"MissingPoints", points, {"X-1.npy"}, removed("X-1.npy")},
      {"MissingInitialG", row_reduce + " --initial-g g-{client}.npy", {"g-1.npy"}, removed("g-1.npy")},
      {"PartOfInitialGTooShort",
       row_reduce + " --initial-g g-{client}.npy",
       {"g-2.npy", "34 rows", "35 columns"},
       replaced("g-2.npy", Values(34, 1), {34}),
       true},
      {"PartsOfInitialGDoNotAddUp",
       "--topology star --cost C.npy --initial-g g-{client}.npy",
       {"g-", "40", "41 columns"},
       replaced("g-2.npy", Values(34, 1), {34})},
      {"PartOfInitialGTwoColumns",
       row_reduce + " --initial-g g-{client}.npy",
       {"g-1.npy", "2 columns"},
       replaced("g-1.npy", Values(2, 1), {1, 2})},
      {"NanInAPartOfInitialG",
       star + " --initial-g g-{client}.npy",
       {"g-1.npy", "entry 0", "nan"},
       replaced("g-1.npy", {nan}, {1}),
       true},
      // Counted as in the file, which has no others.
      {"NanInAPart", row_reduce, {"C-2.npy", "(3, 7)", "nan"}, replaced("C-2.npy", cost_with_nan, {18, 41})},
      {"NegativeMassInAPart", row_reduce, {"a-1.npy", "entry 0"}, replaced("a-1.npy", {-1}, {1})},
      {"NegativeMassInAPartOfB", star, {"b-1.npy", "entry 0"}, replaced("b-1.npy", {-1}, {1})},
      {"NanInPointsOfAPart", points, {"X-1.npy", "coordinate 2 of point 0"}, replaced("X-1.npy", {1, 2, nan}, {1, 3})},

      {"AsymmetricAllToAll",
       "--topology all-to-all --cost Q-{client}.npy",
       {"Q-", "symmetric", "row-reduce"},
       [](const fs::path& folder) {
         Values cost = random_values(9, 1);
         write_parts(folder, "Q", cost, {3, 3}, std::array<std::size_t, 4>{0, 1, 2, 3});
       },
       true},
      {"RectangularAllToAll", "--topology all-to-all --cost C-{client}.npy", {"C-", "row-reduce"}},
      {"PointsOfRowsAllToAll", "--topology all-to-all --points X-{client}.npy Y.npy", {"X-", "row-reduce"}},
      {"StarCost", "--topology star --cost C-{client}.npy", {"C-", "row-reduce"}},
      {"GridCost", "--topology grid --grid 1x3 --cost C-{client}.npy", {"C-", "row-reduce"}},
      {"RowsSaidTwice", row_reduce + " --rows 1,2,3", {"--rows"}},
      // Read while it is written, its rows could be lost.
      {"OutputReplacesAPart",
       "--cost C.npy --a 'f-{client}.npy' --topology row-reduce --keep-local --output .",
       {"--output", "f-0.npy"},
       [](const fs::path& folder) {
         write_parts(folder, "f", Values(30, 1.0 / 30), {30}, std::array<std::size_t, 4>{0, 11, 12, 30});
       }},
  };
}

class MisfitTest : public PartsTest, public ::testing::WithParamInterface<Misfit> {
 protected:
  void expect_refusal(Transport transport) const {
    write_all_parts(kUneven);
    if (GetParam().prepare) GetParam().prepare(folder());
    const std::vector<std::string> before = snapshot(folder());
    std::string command = "solve " + GetParam().command + " --epsilon 0.1";
    if (command.find("--output") == std::string::npos) command += " --output new/results";
    const std::string clients = " --clients " + std::to_string(kClients);
    const RunResult result = transport == Transport::mpi ? run_on(transport, kClients, command)
                                                         : run_here(words_of(command + clients), {.folder = folder()});
    expect_refused(result, GetParam().mentions, before);
    EXPECT_EQ(result.out.find("iterations"), std::string::npos) << result;
  }
};

TEST_P(MisfitTest, IsRefusedOnThreads) { expect_refusal(Transport::threads); }

class MisfitUnderMpirun : public MisfitTest {};

TEST_P(MisfitUnderMpirun, IsRefusedByAllInOneLine) { expect_refusal(Transport::mpi); }

std::vector<Misfit> misfits_under_mpirun() {
  std::vector<Misfit> chosen;
  for (const Misfit& misfit : misfits()) {
    if (misfit.under_mpirun && has_mpirun()) chosen.push_back(misfit);
  }
  return chosen;
}

std::string name_of_misfit(const ::testing::TestParamInfo<Misfit>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Parts, MisfitTest, ::testing::ValuesIn(misfits()), name_of_misfit);
INSTANTIATE_TEST_SUITE_P(Parts, MisfitUnderMpirun, ::testing::ValuesIn(misfits_under_mpirun()), name_of_misfit);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MisfitUnderMpirun);

// ---------------------------------------------------------------------------------------------------------------------
// Flags about clients

struct BadFlags {
  std::string name;
  std::string flags;
  std::vector<std::string> mentions;
};

void PrintTo(const BadFlags& bad, std::ostream* stream) { *stream << bad.flags; }

class BadFlagsTest : public PartsTest, public ::testing::WithParamInterface<BadFlags> {};

TEST_P(BadFlagsTest, AreRefused) {
  const std::vector<std::string> before = snapshot(folder());
  const RunResult result = run("solve --cost C.npy --epsilon 0.1 --output new/results " + GetParam().flags);
  expect_refused(result, GetParam().mentions, before);
}

INSTANTIATE_TEST_SUITE_P(
    Clients, BadFlagsTest,
    ::testing::Values(
        BadFlags{"CentralizedForTwo", "--clients 2 --topology centralized", {"--topology", "all-to-all"}},
        BadFlags{"TooManyClients", "--clients 1000000000000", {"--clients", "4096"}},
        BadFlags{"FewerWeightsThanClients", "--clients 3 --rows 1,2", {"--rows", "2 weights", "3 clients"}},
        BadFlags{"MoreWeightsThanClients", "--clients 1 --rows 1,2", {"--rows"}},
        BadFlags{"NegativeWeight", "--clients 2 --rows 1,-2", {"--rows", "-2"}},
        BadFlags{"NanWeight", "--clients 2 --rows 1,nan", {"--rows"}},
        BadFlags{"InfiniteWeight", "--clients 2 --rows 1,inf", {"--rows"}},
        BadFlags{"NoWeight", "--clients 2 --rows 0,0", {"--rows"}},
        BadFlags{"WordAsWeight", "--clients 2 --rows 1,much", {"--rows"}},
        BadFlags{"GridOfOtherSize", "--clients 4 --topology grid --grid 2x3", {"--grid", "6", "4"}},
        BadFlags{"GridBeyondNumbers", "--clients 4 --topology grid --grid 4294967298x9223372036854775810", {"--grid"}},
        // Products that wrap to the number of clients.
        BadFlags{"GridThatWraps", "--clients 2 --topology grid --grid 9223372036854775809x2", {"--grid", "2x3"}},
        BadFlags{
            "GridThatWrapsTheOtherWay", "--clients 2 --topology grid --grid 2x9223372036854775809", {"--grid", "2x3"}},
        BadFlags{"GridWithoutNumbers", "--clients 4 --topology grid --grid x", {"--grid", "2x3"}},
        BadFlags{"GridWithoutColumns", "--clients 4 --topology grid --grid 4x0", {"--grid", "2x3"}},
        BadFlags{"GridWithMore", "--clients 4 --topology grid --grid 2x2x1", {"--grid", "2x3"}},
        BadFlags{"GridOfAnotherTopology", "--clients 4 --topology star --grid 2x2", {"--grid"}},
        BadFlags{"NoLocalSteps", "--clients 2 --local-steps 0", {"--local-steps"}},
        BadFlags{"LocalStepsOfAGrid", "--clients 4 --topology grid --local-steps 2", {"--local-steps"}},
        BadFlags{"LocalStepsInLogs", "--clients 2 --stabilization log --local-steps 2", {"--local-steps"}},
        BadFlags{"FiftyDigitsForTwo", "--clients 2 --precision 50", {"--precision"}},
        BadFlags{"NoTime", "--clients 2 --timeout 0", {"--timeout"}},
        BadFlags{"NegativeTime", "--clients 2 --timeout -1", {"--timeout"}},
        BadFlags{"NanTime", "--clients 2 --timeout nan", {"--timeout"}},
        BadFlags{"UnknownTransport", "--clients 2 --transport pigeons", {"--transport", "threads"}}),
    [](const auto& info) { return info.param.name; });

// Columns go down the columns of a grid, which is not the order of the clients.
TEST_F(PartsTest, AGridCannotTakePartsOfB) {
  write_parts(folder(), "b", b_, {m}, std::array<std::size_t, 5>{0, 10, 20, 30, 41});
  const std::vector<std::string> before = snapshot(folder());
  expect_refused(
      run("solve --cost C.npy --b b-{client}.npy --epsilon 0.1 --output r --clients 4 --topology grid --grid 2x2"),
      {"b-0.npy", "grid"}, before);
}

TEST_F(PartsTest, AGridCannotTakePartsOfAStart) {
  write_parts(folder(), "g", g_, {m}, std::array<std::size_t, 5>{0, 10, 20, 30, 41});
  const std::vector<std::string> before = snapshot(folder());
  expect_refused(run("solve --cost C.npy --initial-g g-{client}.npy --epsilon 0.1 --output r --clients 4 --topology "
                     "grid --grid 2x2"),
                 {"g-0.npy", "grid"}, before);
}

// No bytes, and a number of targets that nobody could hold.
TEST_F(PartsTest, EmptyPartsWithAHugeShapeAreRefused) {
  for (const char* shape : {"(0, 288230376151711744)", "(0, 9223372036854775808)"}) {
    for (const char* name : {"b-0.npy", "b-1.npy"}) write_bytes(folder() / name, npy_header("<f8", shape));
    const std::vector<std::string> before = snapshot(folder());
    expect_refused(run("solve --cost C.npy --b b-{client}.npy --epsilon 0.1 --output r --clients 2"), {"b-0.npy"},
                   before);
  }
}

TEST_F(PartsTest, KeptRowsNeedAFolder) {
  const std::vector<std::string> before = snapshot(folder());
  expect_refused(run("solve --cost C.npy --epsilon 0.1 --clients 2 --keep-local"), {"--keep-local", "--output"},
                 before);
}

}  // namespace
}  // namespace fedsinkhorn::test
