// Every way to write an input that Python's arrays may have, and CSV, gives the solve of the same numbers in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/random_inputs.hpp"
#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGivenRows = 12;
constexpr std::size_t kGivenColumns = 9;

/// In column order: of a matrix with as many columns.
Values transposed(const Values& values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  Values result(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) result[k % columns * rows + k / columns] = values[k];
  return result;
}

template <class T>
std::string bytes_as(const Values& values, bool is_swapped = false) {
  std::string bytes = bytes_of(std::vector<T>(values.begin(), values.end()));
  for (std::size_t at = 0; is_swapped && at < bytes.size(); at += sizeof(T)) {
    std::reverse(bytes.data() + at, bytes.data() + at + sizeof(T));
  }
  return bytes;
}

std::string csv_of(const Values& values, std::size_t columns, const std::string& header = "") {
  std::string text = header;
  for (std::size_t k = 0; k < values.size(); ++k) {
    text += fmt::format("{}{}", values[k], (k + 1) % columns == 0 ? '\n' : ',');
  }
  return text;
}

/// Whole numbers, so that every type has the same.
class InputFormatsTest : public ::testing::Test {
 protected:
  InputFormatsTest() {
    for (double& cost : costs_) cost = static_cast<double>(static_cast<int>(100 * cost));
    write_npy(path("C.npy"), costs_, Shape{kGivenRows, kGivenColumns});
    write_npy(path("a.npy"), a_, Shape{kGivenRows});
    write_npy(path("b.npy"), b_, Shape{kGivenColumns});
  }

  [[nodiscard]] fs::path path(const std::string& name) const { return folder_.path() / name; }
  /// f, of these inputs.
  [[nodiscard]] Values solved(const std::string& inputs) const {
    const RunResult result =
        run_here(words_of("solve --epsilon 5 --quiet --output out " + inputs), {.folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << inputs << '\n' << result;
    return result.status == 0 ? read_npy(path("out/f.npy")).values : Values{};
  }
  void write_costs(const std::string& descr, const std::string& bytes, bool by_columns) const {
    write_bytes(path("other.npy"),
                npy_header(descr, fmt::format("({}, {})", kGivenRows, kGivenColumns), by_columns) + bytes);
  }

  TemporaryFolder folder_;
  Values costs_ = random_values(kGivenRows * kGivenColumns, 1);
  Values a_ = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
  Values b_ = {2, 4, 2, 3, 2, 3, 2, 4, 2};
};

TEST_F(InputFormatsTest, CostsOfEveryTypeAndOrder) {
  const Values expected = solved("--cost C.npy");
  for (const bool by_columns : {false, true}) {
    const Values costs = by_columns ? transposed(costs_, kGivenColumns) : costs_;
    const std::vector<std::pair<std::string, std::string>> files = {
        {"|u1", bytes_as<std::uint8_t>(costs)},       {"|i1", bytes_as<std::int8_t>(costs)},
        {"<u2", bytes_as<std::uint16_t>(costs)},      {">i2", bytes_as<std::int16_t>(costs, true)},
        {"<i4", bytes_as<std::int32_t>(costs)},       {"<i8", bytes_as<std::int64_t>(costs)},
        {">i8", bytes_as<std::int64_t>(costs, true)}, {"<f4", bytes_as<float>(costs)},
        {">f4", bytes_as<float>(costs, true)},        {"<f8", bytes_as<double>(costs)},
        {">f8", bytes_as<double>(costs, true)}};
    for (const auto& [descr, bytes] : files) {
      SCOPED_TRACE(descr + (by_columns ? ", by columns" : ""));
      write_costs(descr, bytes, by_columns);
      EXPECT_EQ(solved("--cost other.npy"), expected);
      EXPECT_EQ(solved("--cost other.npy --clients 3 --topology all-to-all"),
                solved("--cost C.npy --clients 3 --topology all-to-all"));
    }
  }
}

TEST_F(InputFormatsTest, MassesAndPointsOfIntegersAndInFortranOrder) {
  const Values expected = solved("--cost C.npy --a a.npy --b b.npy");
  write_bytes(path("a-1.npy"), npy_header("<i8", fmt::format("({}, 1)", kGivenRows)) + bytes_as<std::int64_t>(a_));
  write_bytes(path("b-1.npy"), npy_header("|u1", fmt::format("({},)", kGivenColumns)) + bytes_as<std::uint8_t>(b_));
  EXPECT_EQ(solved("--cost C.npy --a a-1.npy --b b-1.npy"), expected);

  const Values x = random_values(kGivenRows * 2, 5);
  write_npy(path("X.npy"), x, Shape{kGivenRows, 2});
  write_bytes(path("by-columns.npy"),
              npy_header("<f8", fmt::format("({}, 2)", kGivenRows), true) + bytes_as<double>(transposed(x, 2)));
  EXPECT_EQ(solved("--points by-columns.npy"), solved("--points X.npy"));
}

TEST_F(InputFormatsTest, ImagesOfBytes) {
  const Values pixels = {255, 0, 17, 3, 200, 128};
  write_npy(path("A.npy"), pixels, Shape{2, 3});
  write_bytes(path("bytes.npy"), npy_header("|u1", "(2, 3)") + bytes_as<std::uint8_t>(pixels));
  write_bytes(path("B.csv"), csv_of(pixels, 3));
  EXPECT_EQ(solved("--images bytes.npy B.csv"), solved("--images A.npy A.npy"));
}

TEST_F(InputFormatsTest, TablesOfText) {
  const Values x = random_values(kGivenRows * 2, 6);
  write_npy(path("X.npy"), x, Shape{kGivenRows, 2});
  write_bytes(path("X.csv"), csv_of(x, 2, "height,width\n"));
  write_bytes(path("C.csv"), csv_of(costs_, kGivenColumns));
  write_bytes(path("a.csv"), csv_of(a_, 1));
  write_bytes(path("b.csv"), csv_of(b_, 1, "mass\n"));
  std::string labelled = ",mass\n";
  for (std::size_t i = 0; i < kGivenRows; ++i) labelled += fmt::format("2026-11-{:02},{}\n", i + 1, a_[i]);
  write_bytes(path("labelled.csv"), labelled);
  const Values expected = solved("--cost C.npy --a a.npy --b b.npy");
  EXPECT_EQ(solved("--cost C.csv --a a.csv --b b.csv"), expected);
  EXPECT_EQ(solved("--cost C.csv --a labelled.csv --b b.npy"), expected);
  EXPECT_EQ(solved("--points X.csv"), solved("--points X.npy"));
  EXPECT_EQ(solved("--points X.csv X.npy"), solved("--points X.npy"));
  // Infinity has its meaning.
  Values forbidden = costs_;
  forbidden[3] = std::numeric_limits<double>::infinity();
  write_npy(path("forbidden.npy"), forbidden, Shape{kGivenRows, kGivenColumns});
  write_bytes(path("forbidden.csv"), csv_of(forbidden, kGivenColumns));
  EXPECT_EQ(solved("--cost forbidden.csv"), solved("--cost forbidden.npy"));
  const Values g = read_npy(path("out/g.npy")).values;
  write_npy(path("g.npy"), g, Shape{kGivenColumns});
  write_bytes(path("g.csv"), csv_of(g, 1));
  EXPECT_EQ(solved("--cost C.npy --initial-g g.csv"), solved("--cost C.npy --initial-g g.npy"));
}

/// Clients have rows of their own, each in a format of its own.
class PartsInFormatsTest : public InputFormatsTest {
 protected:
  PartsInFormatsTest() {
    const auto rows = [&](std::size_t first, std::size_t last) {
      return Values(costs_.begin() + static_cast<std::ptrdiff_t>(first * kGivenColumns),
                    costs_.begin() + static_cast<std::ptrdiff_t>(last * kGivenColumns));
    };
    write_bytes(path("C-0.npy"), npy_header("<i4", "(5, 9)") + bytes_as<std::int32_t>(rows(0, 5)));
    write_bytes(path("C-1.npy"),
                npy_header("<f8", "(4, 9)", true) + bytes_as<double>(transposed(rows(5, 9), kGivenColumns)));
    write_npy(path("C-2.npy"), rows(9, 12), Shape{3, kGivenColumns});
    for (const auto& [client, first, last] : {std::array<std::size_t, 3>{0, 0, 5}, {1, 5, 9}, {2, 9, 12}}) {
      write_bytes(path(fmt::format("C-{}.csv", client)), csv_of(rows(first, last), kGivenColumns));
      write_bytes(path(fmt::format("a-{}.csv", client)), csv_of(Values(a_.begin() + static_cast<std::ptrdiff_t>(first),
                                                                       a_.begin() + static_cast<std::ptrdiff_t>(last)),
                                                                1, "mass\n"));
      write_npy(path(fmt::format("F-{}.npy", client)), rows(first, last), Shape{last - first, kGivenColumns});
      write_npy(path(fmt::format("a-{}.npy", client)),
                Values(a_.begin() + static_cast<std::ptrdiff_t>(first), a_.begin() + static_cast<std::ptrdiff_t>(last)),
                Shape{last - first});
    }
  }
};

TEST_F(PartsInFormatsTest, AreTheRowsOfTheirClients) {
  const std::string rest = " --b b.npy --clients 3";
  const Values expected = solved("--cost F-{client}.npy --a a-{client}.npy" + rest);
  EXPECT_EQ(solved("--cost C-{client}.npy --a a-{client}.csv" + rest), expected);
  EXPECT_EQ(solved("--cost C-{client}.csv --a a-{client}.npy" + rest), expected);
}

TEST_F(PartsInFormatsTest, MayHaveNamesOfTheirOwnUnderMpi) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Values expected = solved("--cost F-{client}.npy --a a-{client}.npy --b b.npy --clients 3");
  const auto part = [](const std::string& cost, const std::string& a) {
    return Ranks{
        1, words_of("solve --epsilon 5 --quiet --output ranks --parts C,a --b b.npy --cost " + cost + " --a " + a)};
  };
  const RunResult result = run_ranks(
      {part("C-0.npy", "a-0.csv"), part("C-1.npy", "a-1.npy"), part("C-2.csv", "a-2.csv")}, {.folder = folder_.path()});
  ASSERT_EQ(result.status, 0) << result;
  EXPECT_EQ(read_npy(path("ranks/f.npy")).values, expected);
}

// One client has a whole matrix row by row, another the same by columns.
TEST_F(PartsInFormatsTest, WholeCostsAreTheSameInEveryOrder) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const auto run = [&](const Values& columns) {
    write_costs("<f8", bytes_as<double>(columns), true);
    const auto rank = [](const std::string& cost) {
      return Ranks{1, words_of("solve --epsilon 5 --quiet --output ranks --cost " + cost)};
    };
    return run_ranks({rank("C.npy"), rank("other.npy")}, {.folder = folder_.path()});
  };
  EXPECT_EQ(run(transposed(costs_, kGivenColumns)).status, 0);
  // The bytes of C.npy, read by columns, are another matrix.
  const RunResult result = run(costs_);
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_NE(result.err.find("client 1 has others than client 0"), std::string::npos) << result;
}

}  // namespace
}  // namespace fedsinkhorn::test
