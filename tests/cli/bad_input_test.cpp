// Whatever is wrong with the input: exit status 2, one line on standard error that names the culprit, nothing on
// standard output, and nothing on the disk that was not there before.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/random_inputs.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/special_numbers.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

using testing::kInfinity;
using testing::kNan;

struct BadInput {
  std::string name;
  std::string command;                // split at blanks; '' is an empty argument
  std::vector<std::string> mentions;  // the culprit first
  Prepare prepare = {};
};

/// Two folders deep, since the parents must not be left behind either.
std::string with_output(const std::string& command) { return command + " --output new/results"; }
std::string solve(const std::string& rest) { return with_output("solve " + rest); }
std::string solve_cost(const std::string& rest) { return solve("--cost C.npy --epsilon 0.1 " + rest); }
std::string generate(const std::string& rest) { return with_output("generate " + rest); }

// ---------------------------------------------------------------------------------------------------------------------
// Files

Prepare bytes(const std::string& content) {
  return [content](const fs::path& folder) { write_bytes(folder / "bad.npy", content); };
}

Prepare array(const Values& values, const Shape& shape) {
  return [values, shape](const fs::path& folder) { write_npy(folder / "bad.npy", values, shape); };
}

template <class T>
std::string npy(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  return npy_header(descr, shape) + bytes_of(values);
}

/// What is refused as a file at all, whatever it is for.
std::vector<BadInput> unreadable_files() {
  const Values twelve(12, 1.0);
  const std::string good = npy("<f8", "(3, 4)", twelve);
  const auto as_cost = [](const std::string& name, const Prepare& prepare) {
    return BadInput{name, solve("--cost bad.npy --epsilon 0.1"), {"bad.npy"}, prepare};
  };
  return {
      as_cost("Missing", {}),
      as_cost("Empty", bytes("")),
      as_cost("OneByte", bytes("\x93")),
      as_cost("Text", bytes("1,2,3\n4,5,6\n")),
      as_cost("EndsInsideTheMagic", bytes(good.substr(0, 5))),
      as_cost("EndsInsideTheHeader", bytes(good.substr(0, 40))),
      as_cost("EndsAfterTheHeader", bytes(good.substr(0, good.size() - 96))),
      as_cost("EndsInsideTheData", bytes(good.substr(0, good.size() - 1))),
      as_cost("HeaderPromisesMore", bytes(npy("<f8", "(3, 5)", twelve))),
      as_cost("HeaderPromisesLess", bytes(npy("<f8", "(3, 3)", twelve))),
      as_cost("HeaderPromisesTheWorld", bytes(npy("<f8", "(4294967296, 4294967296)", twelve))),
      as_cost("HeaderPromisesMoreThanNumbers", bytes(npy("<f8", "(99999999999999999999999, 1)", twelve))),
      as_cost("HeaderIsLongerThanTheFile", bytes(std::string("\x93NUMPY\x01\x00\xff\xff", 10) + "{'descr'")),
      as_cost("HeaderIsNoDictionary", bytes(npy_header("<f8", "rm -rf") + bytes_of(twelve))),
      as_cost("NegativeShape", bytes(npy("<f8", "(-3, -4)", twelve))),
      as_cost("UnknownVersion", bytes(std::string("\x93NUMPY\x09\x00", 8) + good.substr(8))),
      as_cost("Complex", bytes(npy("<c16", "(3, 4)", Values(24, 1.0)))),
      as_cost("Pickled", bytes(npy("|O", "(3, 4)", twelve))),
      as_cost("NoDimensions", bytes(npy("<f8", "()", Values{1.0}))),
      as_cost("ThreeDimensions", bytes(npy("<f8", "(3, 2, 2)", twelve))),
      as_cost("NoRows", bytes(npy("<f8", "(0, 4)", Values{}))),
      as_cost("NoColumns", bytes(npy("<f8", "(3, 0)", Values{}))),
      as_cost("Folder", [](const fs::path& folder) { fs::create_directory(folder / "bad.npy"); }),
      // Must be refused at once, though nobody ever writes to it.
      as_cost("Pipe", [](const fs::path& folder) { ASSERT_EQ(::mkfifo((folder / "bad.npy").c_str(), 0600), 0); }),
      {"Device", solve("--cost /dev/zero --epsilon 0.1"), {"/dev/zero"}},
      {"BelowAFile", solve("--cost C.npy/C.npy --epsilon 0.1"), {"C.npy/C.npy"}},
      {"NameWithALineBreak", solve("--cost 'no\nsuch.npy' --epsilon 0.1"), {"such.npy"}},
      {"MissingPoints", solve("--points X.npy bad.npy --epsilon 0.1"), {"bad.npy"}},
      {"MissingA", solve_cost("--a bad.npy"), {"bad.npy"}},
      {"MissingB", solve_cost("--b bad.npy"), {"bad.npy"}},
      {"TruncatedA", solve_cost("--a bad.npy"), {"bad.npy"}, bytes(npy("<f8", "(4,)", Values(3, 0.25)))},
      {"MissingInitialG", solve_cost("--initial-g bad.npy"), {"bad.npy"}},
      {"TruncatedInitialG", solve_cost("--initial-g bad.npy"), {"bad.npy"}, bytes(npy("<f8", "(4,)", Values(3, 0.25)))},
      {"ComplexInitialG", solve_cost("--initial-g bad.npy"), {"bad.npy"}, bytes(npy("<c16", "(4,)", Values(8, 1.0)))},
      {"InitialGWithoutRows", solve_cost("--initial-g bad.npy"), {"bad.npy"}, bytes(npy("<f8", "(0,)", Values{}))},
      {"ComplexB", solve_cost("--b bad.npy"), {"bad.npy"}, bytes(npy("<c16", "(4,)", Values(8, 0.25)))},
  };
}

/// Files that are read and hold what cannot be solved.
std::vector<BadInput> bad_values() {
  const auto cost = [](const std::string& name, const Values& values, const Shape& shape,
                       const std::string& rest = "") {
    return BadInput{name, solve("--cost bad.npy --epsilon 0.1 " + rest), {"bad.npy"}, array(values, shape)};
  };
  const auto csv = [](const std::string& name, const std::string& text, std::vector<std::string> mentions) {
    mentions.insert(mentions.begin(), "bad.csv");
    return BadInput{name, solve("--cost bad.csv --epsilon 0.1"), mentions,
                    [text](const fs::path& folder) { write_bytes(folder / "bad.csv", text); }};
  };
  const auto points = [](const std::string& name, const Values& values, const Shape& shape,
                         const std::string& rest = "") {
    return BadInput{name, solve("--points X.npy bad.npy --epsilon 0.1 " + rest), {"bad.npy"}, array(values, shape)};
  };
  const auto a = [](const std::string& name, const Values& values, const Shape& shape) {
    return BadInput{name, solve_cost("--b b.npy --a bad.npy"), {"bad.npy"}, array(values, shape)};
  };
  const auto b = [](const std::string& name, const Values& values, const Shape& shape) {
    return BadInput{name, solve_cost("--a a.npy --b bad.npy"), {"bad.npy"}, array(values, shape)};
  };
  const auto g = [](const std::string& name, const Values& values, const Shape& shape,
                    const std::vector<std::string>& mentions, const std::string& rest = "") {
    std::vector<std::string> all = {"bad.npy"};
    all.insert(all.end(), mentions.begin(), mentions.end());
    return BadInput{name, solve_cost("--initial-g bad.npy " + rest), all, array(values, shape)};
  };
  return {
      cost("CostIsAVector", Values(12, 1.0), {12}),
      cost("CostNan", {1, 2, kNan, 4}, {2, 2}),
      cost("CostNegativeInfinity", {1, -kInfinity, 3, 4}, {2, 2}),
      cost("CostForbidsARow", {1, 2, kInfinity, kInfinity}, {2, 2}),
      cost("CostForbidsAColumn", {1, kInfinity, 3, kInfinity}, {2, 2}),
      // Too plain to need the check that was skipped.
      cost("CostForbidsARowUnchecked", {1, 2, kInfinity, kInfinity}, {2, 2}, "--feasibility skip"),
      cost("CostForbidsARowUncheckedInLogs", {1, 2, kInfinity, kInfinity}, {2, 2},
           "--feasibility skip --stabilization log"),
      cost("CostForbidsARowUncheckedInFiftyDigits", {1, 2, kInfinity, kInfinity}, {2, 2},
           "--feasibility skip --precision 50"),
      // What is converted is checked like the rest.
      {"CostHalfNan",
       solve("--cost bad.npy --epsilon 0.1"),
       {"bad.npy", "entry (1, 0) is nan"},
       bytes(npy("<f2", "(2, 2)", std::vector<std::uint16_t>{0, 0, 0x7e00, 0}))},
      {"CostFortranNan",
       solve("--cost bad.npy --epsilon 0.1"),
       {"bad.npy", "entry (0, 1) is nan"},
       bytes(npy_header("<f8", "(2, 2)", true) + bytes_of(Values{0, 0, kNan, 0}))},
      {"CostTooLargeForFloat64",
       solve("--cost bad.npy --epsilon 0.1"),
       {"bad.npy", "is -inf"},
       bytes(npy("<f16", "(1, 1)", std::vector<long double>{-1e4000L}))},
      csv("CsvNan", "1,2\n3,nan\n", {"line 2, column 2", "'nan' is not finite"}),
      csv("CsvNegativeInfinity", "1,2\n-inf,4\n", {"entry (1, 0) is -inf"}),
      csv("CsvOfWords", "1,2\n3,four\n", {"line 2, column 2", "'four' is not a number"}),
      csv("CsvRagged", "1,2\n3\n", {"line 2 has 1 field"}),
      csv("CsvWithSemicolons", "1;2\n3;4\n", {"semicolons"}),
      csv("CsvOfAHeader", "x,y\n", {"no rows"}),
      {"CsvMassesInARow",
       solve_cost("--b b.npy --a bad.csv"),
       {"bad.csv", "single column"},
       [](const fs::path& folder) { write_bytes(folder / "bad.csv", "0.25,0.25,0.5\n"); }},
      {"CsvOfOtherCoordinates",
       solve("--points left.csv bad.csv --epsilon 0.1"),
       {"bad.csv", "coordinate 1 is 'y'", "left.csv", "'x'"},
       [](const fs::path& folder) {
         write_bytes(folder / "left.csv", "x,y\n0,1\n");
         write_bytes(folder / "bad.csv", "y,x\n0,1\n");
       }},
      cost("CostForbidsEverything", {kInfinity, kInfinity, kInfinity, kInfinity}, {2, 2}),
      // Rows 0 and 1 carry 2/3 of the mass, the columns they may use 1/2.
      cost("CostBlocksDoNotMatch", {1, 1, kInfinity, kInfinity, 1, 1, kInfinity, kInfinity, kInfinity, kInfinity, 1, 1},
           {3, 4}),

      points("PointsOfAnotherDimension", Values(12, 1.0), {4, 3}),
      points("PointsNan", {1, 2, 3, kNan}, {2, 2}),
      points("PointsInfinite", {1, 2, -kInfinity, 4}, {2, 2}),
      points("PointsTooFarOut", {1, 2, 1e200, 4}, {2, 2}),
      points("PointsWithoutDirection", {1, 2, 0, 0}, {2, 2}, "--metric cosine"),

      a("ANan", {0.5, kNan, 0.5}, {3}),
      a("AInfinite", {0.5, kInfinity, 0.5}, {3}),
      a("ANegative", {0.75, -0.25, 0.5}, {3}),
      a("AWithoutMass", {0, 0, 0}, {3}),
      a("ATooMuchMass", {1.5e308, 1.5e308, 0}, {3}),
      a("ATooShort", {0.5, 0.5}, {2}),
      a("ATooLong", {0.25, 0.25, 0.25, 0.25}, {4}),
      a("ATwoColumns", {0.5, 0.5, 0.25, 0.25, 0.25, 0.25}, {3, 2}),
      a("AARow", {0.5, 0.25, 0.25}, {1, 3}),
      b("BNan", {0.5, kNan, 0.25, 0.25}, {4}),
      b("BInfinite", {0.5, kInfinity, 0.25, 0.25}, {4}),
      b("BNegative", {0.5, -0.25, 0.5, 0.25}, {4}),
      b("BWithoutMass", {0, 0, 0, 0}, {4}),
      b("BTooShort", {0.5, 0.5, 0}, {3}),
      b("BTooLong", {0.25, 0.25, 0.25, 0.25, 0}, {5}),
      b("BARow", {0.25, 0.25, 0.25, 0.25}, {1, 4}),
      b("MassesDiffer", {0.25, 0.25, 0.25, 0.26}, {4}),
      b("MassesOfOneTargetDiffer", {0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.26}, {4, 2}),
      b("OneTargetWithoutMass", {0.25, 0, 0.25, 0, 0.25, 0, 0.25, 0}, {4, 2}),
      g("InitialGNan", {0, kNan, 0, 0}, {4}, {"entry 1 is nan", "finite"}),
      g("InitialGInfinite", {0, 0, kInfinity, 0}, {4}, {"entry 2 is inf", "finite"}),
      g("InitialGNegativeInfinite", {0, 0, 0, -kInfinity}, {4}, {"entry 3 is -inf", "b.npy has mass"}, "--b b.npy"),
      g("InitialGNegativeInfiniteBesideUniform", {-kInfinity, 0, 0, 0}, {4}, {"entry 0 is -inf", "b (uniform)"}),
      g("InitialGNegativeInfiniteOfASecondClient", {0, 0, 0, -kInfinity}, {4}, {"entry 3 is -inf"}, "--clients 2"),
      g("InitialGTooLarge", {0, -1e305, 0, 0}, {4}, {"entry 1 is -1e+305", "units of the cost"}),
      g("InitialGTooShort", {0, 0, 0}, {3}, {"3 rows", "4 columns"}),
      g("InitialGTooLong", {0, 0, 0, 0, 0}, {5}, {"5 rows", "4 columns"}),
      g("InitialGARow", {0, 0, 0, 0}, {1, 4}, {"1 rows", "4 columns"}),
      g("InitialGTwoColumnsForOneTarget", Values(8, 0), {4, 2}, {"2 columns", "one target"}),
      g("InitialGThreeDimensions", Values(8, 0), {4, 2, 1}, {"3 dimensions"}),
      {"InitialGThreeColumnsForTwoTargets",
       solve_cost("--b two.npy --initial-g bad.npy"),
       {"bad.npy", "3 columns", "2 targets"},
       [](const fs::path& folder) {
         write_npy(folder / "two.npy", Values(8, 0.25), Shape{4, 2});
         write_npy(folder / "bad.npy", Values(12, 0), Shape{4, 3});
       }},
      {"MassesDifferFromUniform", solve_cost("--a bad.npy"), {"bad.npy"}, array({1, 1, 1}, {3})},
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// Flags

/// A name that is none; the answer lists one that is.
BadInput unknown(const std::string& name, const std::string& flag, const std::string& alternative) {
  return {name, solve("--points X.npy Y.npy --epsilon 0.1 " + flag + " nonsense"), {flag, alternative}};
}

BadInput flag(const std::string& name, const std::string& flag, const std::string& value) {
  return {name,
          solve("--cost C.npy " + std::string(flag == "--epsilon" ? "" : "--epsilon 0.1 ") + flag + " " + value),
          {flag}};
}

std::vector<BadInput> bad_flags() {
  return {
      {"NoCommand", "", {"command"}},
      {"UnknownCommand", "frobnicate", {"frobnicate", "solve"}},
      {"UnknownFlagBeforeTheCommand", "--frobnicate", {"--frobnicate"}},
      {"UnknownFlag", solve_cost("--frobnicate"), {"--frobnicate"}},
      {"UnknownFlagWithAValue", solve_cost("--frobnicate=3"), {"--frobnicate"}},
      {"StrayWord", solve_cost("frobnicate"), {"frobnicate"}},
      {"StrayWordForInfo", "info frobnicate", {"frobnicate"}},
      {"FlagTwice", solve_cost("--epsilon 0.2"), {"--epsilon"}},

      {"NeitherCostNorPoints", solve("--epsilon 0.1"), {"--cost", "--points"}},
      {"BothCostAndPoints", solve("--cost C.npy --points X.npy Y.npy --epsilon 0.1"), {"--cost", "--points"}},
      {"ThreeFilesOfPoints", solve("--points X.npy Y.npy X.npy --epsilon 0.1"), {"--points"}},
      {"CostWithoutAFile", with_output("solve --epsilon 0.1") + " --cost", {"--cost"}},
      {"EmptyCost", solve("--cost '' --epsilon 0.1"), {"--cost"}},
      // An unset variable in a script must not turn into uniform masses, or into results that go nowhere.
      {"EmptyA", solve_cost("--a ''"), {"--a"}},
      {"EmptyB", solve_cost("--b ''"), {"--b"}},
      {"PartsInOneProcess", solve_cost("--clients 2 --parts C"), {"--parts", "processes", "{client}"}},
      {"AClientAmongNone", solve("--cost 'C-{client}.npy' --epsilon 0.1"), {"{client}", "several", "--clients"}},
      {"SumsOfOneClient", solve_cost("--policy sums"), {"--policy", "sums", "--clients"}},
      {"EmptyInitialG", solve_cost("--initial-g ''"), {"--initial-g"}},
      {"EmptyOutput", "solve --cost C.npy --epsilon 0.1 --output ''", {"--output"}},

      {"NoEpsilon", solve("--cost C.npy"), {"--epsilon"}},
      {"EpsilonWithoutAValue", with_output("solve --cost C.npy") + " --epsilon", {"--epsilon"}},
      flag("EpsilonZero", "--epsilon", "0"),
      flag("EpsilonNegative", "--epsilon", "-0.1"),
      flag("EpsilonNan", "--epsilon", "nan"),
      flag("EpsilonInfinite", "--epsilon", "inf"),
      flag("EpsilonWord", "--epsilon", "small"),
      flag("EpsilonWithUnit", "--epsilon", "0.1m"),
      flag("EpsilonEmpty", "--epsilon", "''"),
      flag("EpsilonTooSmall", "--epsilon", "1e-320"),
      flag("EpsilonTooLarge", "--epsilon", "1e400"),
      flag("ToleranceNegative", "--tolerance", "-1e-9"),
      flag("ToleranceNan", "--tolerance", "nan"),
      flag("ToleranceInfinite", "--tolerance", "inf"),
      flag("ToleranceWord", "--tolerance", "tight"),
      flag("MaxIterationsZero", "--max-iterations", "0"),
      flag("MaxIterationsNegative", "--max-iterations", "-5"),
      flag("MaxIterationsWord", "--max-iterations", "many"),
      flag("MaxIterationsFraction", "--max-iterations", "1.5"),
      flag("CheckEveryZero", "--check-every", "0"),
      flag("CheckEveryNegative", "--check-every", "-1"),
      flag("ThreadsNegative", "--threads", "-1"),
      flag("ThreadsTooMany", "--threads", "1000000"),
      flag("ThreadsWord", "--threads", "all"),
      flag("ClientsZero", "--clients", "0"),
      flag("ClientsNegative", "--clients", "-2"),
      // With and without CUDA in the build, with and without a device.
      flag("CudaWithFiftyDigits", "--backend", "cuda --precision 50"),
      flag("CudaInLogs", "--backend", "cuda --stabilization log"),
      {"BfloatOnTheCpu", solve_cost("--precision bfloat16 --backend cpu"), {"--precision", "--backend cuda", "mixed"}},
      {"BfloatOnline", solve_cost("--precision bfloat16 --kernel online"), {"--precision", "--kernel dense"}},
      {"Tf32Stored", solve_cost("--precision tf32"), {"--precision", "--kernel online"}},
      {"Tf32OnTheCpu",
       solve("--points X.npy Y.npy --epsilon 0.1 --kernel online --precision tf32 --backend cpu"),
       {"--precision", "--backend cuda"}},
      {"DevicesForTheCpu", solve_cost("--backend cpu --devices 0"), {"--devices", "--backend cuda"}},
      {"DeviceThatDoesNotExist", solve_cost("--devices 4095"), {"--devices", "4095"}},
      {"OneOfTheDevicesDoesNotExist", solve_cost("--clients 2 --devices 4095,4096"), {"--devices", "4095"}},
      flag("DevicesNegative", "--devices", "-1"),
      flag("DevicesWord", "--devices", "first"),
      flag("DevicesEmpty", "--devices", "''"),
      // Checked even where the choice has no effect: it is a mistake all the same.
      flag("MetricWithACost", "--metric", "nonsense"),
      {"SimdWithFiftyDigits", solve_cost("--precision 50 --simd nonsense"), {"--simd"}},

      unknown("UnknownMetric", "--metric", "sqeuclidean"),
      unknown("UnknownNorm", "--norm", "linf"),
      unknown("UnknownPrecision", "--precision", "float64"),
      unknown("UnknownPasses", "--passes", "fused"),
      unknown("UnknownKernel", "--kernel", "online"),
      unknown("UnknownStabilization", "--stabilization", "absorption"),
      unknown("UnknownFeasibility", "--feasibility", "skip"),
      unknown("UnknownTopology", "--topology", "centralized"),
      unknown("UnknownMethod", "--method", "sinkhorn"),
      unknown("UnknownBackend", "--backend", "cpu"),
      unknown("UnknownTransport", "--transport", "threads"),
      unknown("UnknownPolicy", "--policy", "open"),
      unknown("UnknownSimd", "--simd", "baseline"),

      {"PlanWithoutOutput", "solve --cost C.npy --epsilon 0.1 --plan", {"--plan", "--output"}},
      {"OutputIsAFile", "solve --cost C.npy --epsilon 0.1 --output a.npy", {"--output", "a.npy"}},
      {"OutputIsTheCost", "solve --cost C.npy --epsilon 0.1 --output C.npy", {"--output", "C.npy"}},
      {"OutputReplacesTheInitialG",
       "solve --cost C.npy --epsilon 0.1 --initial-g taken/g.npy --output taken",
       {"--output", "taken/g.npy"},
       [](const fs::path& folder) {
         fs::create_directory(folder / "taken");
         write_npy(folder / "taken/g.npy", Values(4, 0), Shape{4});
       }},
      {"OutputBelowAFile", "solve --cost C.npy --epsilon 0.1 --output a.npy/results", {"--output", "a.npy/results"}},
      {"OutputBelowProc", "solve --cost C.npy --epsilon 0.1 --output /proc/x", {"--output", "/proc/x"}},
      {"OutputIsProc", "solve --cost C.npy --epsilon 0.1 --output /proc", {"--output", "/proc"}},
      {"OutputBelowADevice", "solve --cost C.npy --epsilon 0.1 --output /dev/null/x", {"--output", "/dev/null/x"}},
      {"OutputNameTooLong",
       "solve --cost C.npy --epsilon 0.1 --output new/" + std::string(300, 'x'),
       {"--output", std::string(300, 'x')}},
      {"OutputIsADanglingLink",
       "solve --cost C.npy --epsilon 0.1 --output link",
       {"--output", "link"},
       [](const fs::path& folder) { fs::create_symlink("nowhere", folder / "link"); }},
      // Nothing may be written when something cannot be.
      {"OutputHoldsAFolderNamedLikeAResult",
       "solve --cost C.npy --epsilon 0.1 --output taken",
       {"summary.json"},
       [](const fs::path& folder) { fs::create_directories(folder / "taken" / "summary.json"); }},
  };
}

// ---------------------------------------------------------------------------------------------------------------------
// Asynchronous clients and simulated networks

std::string solve_async(const std::string& rest) { return solve_cost("--clients 2 --topology async " + rest); }
std::string solve_simulated(const std::string& rest) {
  return solve_cost("--clients 2 --topology async --transport simulated " + rest);
}

std::vector<BadInput> bad_asynchrony() {
  const auto async = [](const std::string& name, const std::string& flag, const std::string& value) {
    return BadInput{name, solve_async(flag + " " + value), {flag}};
  };
  return {
      async("DampingZero", "--damping", "0"),
      async("DampingAboveOne", "--damping", "1.5"),
      async("DampingNan", "--damping", "nan"),
      async("DampingNegative", "--damping", "-1"),
      async("DampingWord", "--damping", "some"),
      async("MaxStalenessZero", "--max-staleness", "0"),
      async("MaxStalenessNegative", "--max-staleness", "-1"),
      async("MaxStalenessTooLarge", "--max-staleness", "5000"),
      async("MaxStalenessFraction", "--max-staleness", "1.5"),
      async("LocalStepsZero", "--local-steps", "0"),
      async("StabilizationLog", "--stabilization", "log"),
      async("FiftyDigits", "--precision", "50"),
      async("AGrid", "--grid", "1x2"),
      {"UnknownDampingKind", solve_async("--damping-kind foo"), {"--damping-kind", "foo", "arithmetic", "geometric"}},
      {"UnknownTopology",
       solve_cost("--clients 2 --topology asynk"),
       {"--topology", "asynk", "centralized", "all-to-all", "star", "grid", "row-reduce", "async"}},
      // Flags that would do nothing.
      {"DampingOfOneClient", solve_cost("--damping 0.5"), {"--damping", "async"}},
      {"HistoryZero", solve_cost("--history 0"), {"--history", "0", "64"}},
      {"HistoryNegative", solve_cost("--history -3"), {"--history", "-3", "64"}},
      {"HistoryTooLarge", solve_cost("--history 65"), {"--history", "65", "64"}},
      {"HistoryWord", solve_cost("--history much"), {"--history", "much"}},
      {"HistoryOfPlainSinkhorn", solve_cost("--history 5 --method sinkhorn"), {"--history", "sinkhorn", "anderson"}},
      {"AndersonInLogs", solve_cost("--method anderson --stabilization log"), {"--method", "--stabilization log"}},
      {"OverrelaxedFiftyDigits", solve_cost("--method overrelaxed --precision 50"), {"--method", "--precision 50"}},
      {"AndersonAsync", solve_async("--method anderson"), {"--method", "--topology async"}},
      {"AndersonWithLocalSteps", solve_cost("--method anderson --local-steps 2"), {"--method", "--local-steps"}},
      {"DampingOfClientsThatWait", solve_cost("--damping 0.5 --clients 2 --topology star"), {"--damping", "async"}},
      {"MaxStalenessOfOneClient", solve_cost("--max-staleness 4"), {"--max-staleness", "async"}},
      {"MaxStalenessOfClientsThatWait", solve_cost("--max-staleness 4 --clients 2"), {"--max-staleness", "async"}},
  };
}

std::vector<BadInput> bad_simulations() {
  const auto scenario = [](const std::string& name, const std::string& json, const std::vector<std::string>& mentions) {
    return BadInput{name, solve_simulated("--scenario bad.json"), mentions,
                    [json](const fs::path& folder) { write_bytes(folder / "bad.json", json); }};
  };
  const std::string file = "bad.json";
  return {
      {"ScenarioOfThreads", solve_async("--scenario C.npy"), {"--scenario", "--transport simulated"}},
      {"NetworkSeedNegative", solve_simulated("--seed -1"), {"--seed"}},
      {"NetworkSeedTooLong", solve_simulated("--seed 99999999999999999999999"), {"--seed"}},
      {"ScenarioPipe",
       solve_simulated("--scenario pipe"),
       {"pipe", "regular file"},
       [](const fs::path& folder) { ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0); }},
      {"SeedOfThreads", solve_async("--seed 3"), {"--seed", "--transport simulated"}},
      {"SeedWord", solve_simulated("--seed lucky"), {"--seed"}},
      {"ScenarioEmpty", solve_simulated("--scenario ''"), {"--scenario"}},
      {"ScenarioMissing", solve_simulated("--scenario bad.json"), {file}},
      {"ScenarioIsAFolder",
       solve_simulated("--scenario bad.json"),
       {file},
       [](const fs::path& folder) { fs::create_directory(folder / "bad.json"); }},
      {"ScenarioIsAnArray", solve_simulated("--scenario C.npy"), {"C.npy", "JSON"}},
      scenario("NoText", "", {file, "JSON"}),
      scenario("NotJson", "latency = 3", {file, "JSON", "line 1"}),
      scenario("EndsEarly", "{\"seed\": 1,\n \"latency\"", {file, "JSON", "line 2"}),
      scenario("NotAnObject", "[]", {file}),
      scenario("UnknownKey", R"({"latencies": 3})", {file, "latencies", "latency"}),
      scenario("UnknownKeyOfAClient", R"({"clients": [{"client": 0, "lost": 3}]})", {file, "clients[0]", "lost_at"}),
      scenario("KeyTwice", R"({"seed": 1, "seed": 2})", {file, "seed"}),
      scenario("SeedNegative", R"({"seed": -1})", {file, "seed", "-1"}),
      scenario("LatencyANumber", R"({"latency": 1e-3})", {file, "latency"}),
      scenario("LatencyNegative", R"({"latency": {"law": "constant", "value": -1}})", {file, "latency", "-1"}),
      scenario("LatencyOfAnUnknownLaw", R"({"latency": {"law": "gaussian"}})", {file, "gaussian", "log-normal"}),
      scenario("LatencyBeyondNumbers", R"({"latency": {"law": "constant", "value": 1e999}})", {file}),
      scenario("BandwidthZero", R"({"bandwidth": {"law": "constant", "value": 0}})", {file, "bandwidth"}),
      scenario("SlowerZero", R"({"clients": [{"client": 1, "slower": 0}]})", {file, "slower"}),
      scenario("LostBeforeTheStart", R"({"clients": [{"client": 1, "lost_at": -1}]})", {file, "lost_at"}),
      scenario("ClientTwice", R"({"clients": [{"client": 1}, {"client": 1}]})", {file, "client 1"}),
      // How many clients there are is not known to the reader of the file: the flag is named instead.
      scenario("ClientThatDoesNotExist", R"({"clients": [{"client": 2}]})", {"--scenario", "clients[0]", "2 clients"}),
      scenario("LinkToNobody", R"({"links": [{"from": 0, "to": 9}]})", {"--scenario", "links[0]", "9", "2 clients"}),
  };
}

std::vector<BadInput> bad_generations() {
  return {
      {"NoOutput", "generate --rows 10", {"--output"}},
      {"EmptyOutput", "generate --rows 10 --output ''", {"--output"}},
      {"OutputIsAFile", "generate --rows 10 --output a.npy", {"--output", "a.npy"}},
      {"OutputBelowAFile", "generate --rows 10 --output a.npy/new", {"--output", "a.npy/new"}},
      {"OutputBelowADevice", "generate --rows 10 --output /dev/null/x", {"--output", "/dev/null/x"}},
      {"UnknownFlag", generate("--frobnicate"), {"--frobnicate"}},
      {"RowsZero", generate("--rows 0"), {"--rows"}},
      {"RowsNegative", generate("--rows -5"), {"--rows"}},
      {"RowsWord", generate("--rows many"), {"--rows"}},
      {"RowsFraction", generate("--rows 10.5"), {"--rows"}},
      {"RowsBeyondMemory", generate("--rows 1000000000000"), {"--rows"}},
      {"CostBeyondTheDisk", generate("--rows 10000000 --write cost"), {"--output"}},
      {"ColumnsZero", generate("--rows 5 --columns 0"), {"--columns"}},
      {"ColumnsOfASharedSupport", generate("--rows 5 --columns 6 --shared-support"), {"--columns"}},
      {"DimensionZero", generate("--dimension 0"), {"--dimension"}},
      {"TargetsZero", generate("--targets 0"), {"--targets"}},
      {"UnknownKind", generate("--kind nonsense"), {"--kind", "gaussian"}},
      {"UnknownMarginals", generate("--marginals nonsense"), {"--marginals", "uniform"}},
      {"UnknownWrite", generate("--write nonsense"), {"--write", "cost"}},
      {"DecadesNan", generate("--decades nan"), {"--decades"}},
      {"DecadesOfUniform", generate("--decades 3 --marginals uniform"), {"--decades"}},
      {"ZeroMassAll", generate("--zero-mass 1"), {"--zero-mass"}},
      {"ZeroMassNan", generate("--zero-mass nan"), {"--zero-mass"}},
      {"CostScaleNegative", generate("--cost-scale -1"), {"--cost-scale"}},
      {"CostScaleInfinite", generate("--cost-scale inf"), {"--cost-scale"}},
      {"ForbiddenPoints", generate("--forbidden 0.5"), {"--forbidden"}},
      {"ForbiddenAll", generate("--write cost --forbidden 1"), {"--forbidden"}},
      {"SeedWord", generate("--seed lucky"), {"--seed"}},
      {"SeedNegative", generate("--seed -1"), {"--seed"}},
      {"DemoThreadsNegative", with_output("demo --threads -1"), {"--threads"}},
      {"DemoOutputIsAFile", "demo --output a.npy", {"--output", "a.npy"}},
  };
}

/// Stored, the kernel of 400,000 x 400,000 pairs takes 1.28 TB.
std::vector<BadInput> too_large() {
  // Made when it is needed: the list of tests is made anew in every process.
  const Prepare many = [](const fs::path& folder) { array(Values(400000, 0.5), {400000, 1})(folder); };
  return {
      {"Dense", solve("--points bad.npy --epsilon 0.1"), {"memory", "bytes", "1281", "--kernel online"}, many},
      {"Mixed",
       solve("--points bad.npy --epsilon 0.1 --precision mixed"),
       {"memory", "bytes", "--kernel online"},
       many},
      {"FiftyDigits", solve("--points bad.npy --epsilon 0.1 --precision 50"), {"memory", "bytes"}, many},
  };
}

// ---------------------------------------------------------------------------------------------------------------------

/// Everything below a folder with its content, hidden files too.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    files[fs::relative(entry.path(), folder).string()] =
        fs::is_regular_file(entry.symlink_status()) ? read_bytes(entry.path()) : "";
  }
  return files;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  return names;
}

void write_good_files(const fs::path& folder) {
  write_npy(folder / "C.npy", Values{0, 1, 2, 3, 1, 0, 1, 2, 2, 1, 0, 1}, Shape{3, 4});
  write_npy(folder / "X.npy", Values{0.5, 0, 1, 0, 2, 0}, Shape{3, 2});
  write_npy(folder / "Y.npy", Values{1, 1, 2, 1, 3, 1, 4, 1}, Shape{4, 2});
  write_npy(folder / "a.npy", Values{0.25, 0.25, 0.5}, Shape{3});
  write_npy(folder / "b.npy", Values{0.25, 0.25, 0.25, 0.25}, Shape{4});
}

void expect_refused(const BadInput& input, RunResult (*run)(const Arguments&, const RunOptions&)) {
  const TemporaryFolder folder;
  write_good_files(folder.path());
  if (input.prepare) input.prepare(folder.path());
  const auto before = files_below(folder.path());
  const RunResult result = run(words_of(input.command), {.folder = folder.path()});
  const auto after = files_below(folder.path());

  SCOPED_TRACE(input.name + ": " + input.command + "\n" + ::testing::PrintToString(result));
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("fedsinkhorn: "));
  EXPECT_TRUE(result.err.ends_with("\n"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
  for (const std::string& text : input.mentions) {
    EXPECT_NE(result.err.find(text), std::string::npos) << "does not mention " << text;
  }
  EXPECT_EQ(names_of(before), names_of(after));
  EXPECT_TRUE(before == after) << "the content of a file changed";
}

TEST(BadInputTest, IsRefusedInOneLine) {
  for (const auto& inputs : {unreadable_files(), bad_values(), bad_flags(), bad_asynchrony(), bad_simulations(),
                             bad_generations(), too_large()}) {
    for (const BadInput& input : inputs) expect_refused(input, run_here);
  }
}

TEST(BadInputTest, IsRefusedByTheProgramItself) {
  for (const std::string command :
       {"solve", "generate", "generate-market", "risk", "report", "demo", "privacy account", "privacy calibrate",
        "privacy explain", "privacy key", "calibrate", "predict", "plan", "info"}) {
    expect_refused({command, command + " --no-such-flag", {"--no-such-flag"}}, run_binary);
  }
  expect_refused({"File", solve("--cost missing.npy --epsilon 0.1"), {"missing.npy"}}, run_binary);
  expect_refused({"Value", solve_cost("--tolerance -1"), {"--tolerance"}}, run_binary);
}

class BadInputFolderTest : public ::testing::Test {
 protected:
  BadInputFolderTest() { write_good_files(folder_.path()); }
  TemporaryFolder folder_;
};

// The table above means something only if these files are good.
TEST_F(BadInputFolderTest, TheGoodFilesAreSolved) {
  for (const char* input : {"--cost C.npy", "--points X.npy Y.npy", "--points X.npy Y.npy --metric cosine"}) {
    const std::string command =
        std::string("solve ") + input + " --a a.npy --b b.npy --epsilon 1 --quiet --output new/results";
    const RunResult result = run_binary(words_of(command), {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << command << '\n' << result;
  }
  for (const std::string& command : {solve_async("--quiet"), solve_simulated("--quiet")}) {
    const RunResult result = run_binary(words_of(command), {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << command << '\n' << result;
  }
}

TEST_F(BadInputFolderTest, EarlierResultsSurvive) {
  const Arguments good = words_of("solve --cost C.npy --epsilon 0.1 --output results --plan --quiet");
  ASSERT_EQ(run_binary(good, {.folder = folder_.path()}).status, 0);
  const auto before = files_below(folder_.path());
  for (const char* command : {"solve --cost missing.npy --epsilon 0.1 --output results",
                              "solve --cost C.npy --epsilon -1 --output results --plan",
                              "solve --cost C.npy --a b.npy --epsilon 0.1 --output results"}) {
    EXPECT_EQ(run_binary(words_of(command), {.folder = folder_.path()}).status, 2) << command;
    EXPECT_TRUE(files_below(folder_.path()) == before) << command;
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
