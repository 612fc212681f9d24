#include "io/csv_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fedsinkhorn/error.hpp"
#include "io/atomic_file.hpp"
#include "support/in_a_folder.hpp"
#include "support/line_of.hpp"

namespace fedsinkhorn {
namespace {

namespace fs = std::filesystem;

using testing::Names;
using Values = std::vector<double>;
using Lines = std::vector<std::size_t>;

CsvTable parse_table(std::string_view content, NoRows no_rows = NoRows::refused) {
  return parse_csv(content, "t.csv", no_rows);
}

void expect_table_refused(std::string_view content, const std::string& reason, NoRows no_rows = NoRows::refused) {
  EXPECT_EQ(test::line_of<InputError>([&] { (void)parse_table(content, no_rows); }), "t.csv: " + reason) << content;
}

// ---------------------------------------------------------------------------------------------------------------------
// What is read

TEST(CsvTable, HeaderLabelsAndNumbers) {
  const CsvTable table = parse_table("date,MSFT,AAPL\n2024-01-02,0.01,-0.02\n2024-01-03,1e-3,+2\n");
  EXPECT_EQ(table.columns, (Names{"MSFT", "AAPL"}));
  EXPECT_EQ(table.labels, (Names{"2024-01-02", "2024-01-03"}));
  EXPECT_EQ(table.values, (Values{0.01, -0.02, 1e-3, 2}));
  EXPECT_EQ(table.rows, 2U);
  EXPECT_EQ(table.width, 2U);
  EXPECT_EQ(table.lines, (Lines{2, 3}));
}

TEST(CsvTable, NeitherHeaderNorLabels) {
  const CsvTable table = parse_table("0.164,0.163,0.214\n1,2,3\n");
  EXPECT_TRUE(table.columns.empty());
  EXPECT_TRUE(table.labels.empty());
  EXPECT_EQ(table.values, (Values{0.164, 0.163, 0.214, 1, 2, 3}));
  EXPECT_EQ(table.rows, 2U);
  EXPECT_EQ(table.width, 3U);
  EXPECT_EQ(table.lines, (Lines{1, 2}));
}

TEST(CsvTable, OneRowAndOneColumn) {
  EXPECT_EQ(parse_table("1,2,3").width, 3U);
  EXPECT_EQ(parse_table("1,2,3").rows, 1U);
  EXPECT_EQ(parse_table("1\n2\n3\n").width, 1U);
  EXPECT_EQ(parse_table("1\n2\n3\n").values, (Values{1, 2, 3}));
  EXPECT_EQ(parse_table("5").values, Values{5});
  EXPECT_EQ(parse_table("loss\n1\n2").columns, Names{"loss"});
}

TEST(CsvTable, HeaderWithoutLabels) {
  const CsvTable table = parse_table("A,B\n1,2\n");
  EXPECT_EQ(table.columns, (Names{"A", "B"}));
  EXPECT_TRUE(table.labels.empty());
  EXPECT_EQ(table.values, (Values{1, 2}));
}

TEST(CsvTable, NamesMayBeNumbersIfNotAllAre) {
  const CsvTable table = parse_table("tenor,0.5,1\nspot,3,4\n");
  EXPECT_EQ(table.columns, (Names{"0.5", "1"}));
  EXPECT_EQ(table.labels, Names{"spot"});
}

TEST(CsvTable, LabelsAreTextWhateverTheyLookLike) {
  EXPECT_EQ(parse_table("id,A\nx,1\n7,2\n,3\nnan,4\n").labels, (Names{"x", "7", "", "nan"}));
}

TEST(CsvTable, AFirstColumnWithoutANameHasLabels) {  // as pandas writes an index
  const CsvTable table = parse_table(",A,B\n0,0.1,0.2\n1,0.3,0.4\n");
  EXPECT_EQ(table.labels, (Names{"0", "1"}));
  EXPECT_EQ(table.columns, (Names{"A", "B"}));
  EXPECT_EQ(table.values, (Values{0.1, 0.2, 0.3, 0.4}));
}

TEST(CsvTable, QuotedFields) {
  const CsvTable table = parse_table("\"date, local\",\"A \"\"prime\"\"\",\" B \"\n\"Jan 2, 2024\",\"1.5\",\" 2 \"\n");
  EXPECT_EQ(table.columns, (Names{"A \"prime\"", " B "}));
  EXPECT_EQ(table.labels, Names{"Jan 2, 2024"});
  EXPECT_EQ(table.values, (Values{1.5, 2}));
}

TEST(CsvTable, LineBreaksInQuotesAreCounted) {
  const CsvTable table = parse_table("\"da\nte\",\"A\r\nB\",\"C\rD\"\nx,1,2\n\"y\n\nz\",3,4\nw,5,6\n");
  EXPECT_EQ(table.columns, (Names{"A\r\nB", "C\rD"}));
  EXPECT_EQ(table.lines, (Lines{5, 6, 9}));
  expect_table_refused("a,b\n\"x\ny\",oops\n", "line 3, column \"b\": 'oops' is not a number; give a finite number");
}

TEST(CsvTable, LinesEndInLfCrlfOrCr) {
  for (const char* content : {"A,B\n1,2\n3,4\n", "A,B\r\n1,2\r\n3,4\r\n", "A,B\r1,2\r3,4\r", "A,B\n1,2\r\n3,4"}) {
    const CsvTable table = parse_table(content);
    EXPECT_EQ(table.columns, (Names{"A", "B"}));
    EXPECT_EQ(table.values, (Values{1, 2, 3, 4}));
    EXPECT_EQ(table.lines, (Lines{2, 3}));
  }
}

TEST(CsvTable, EmptyLinesBlanksAndAByteOrderMarkAreSkipped) {
  const CsvTable table = parse_table("\xef\xbb\xbf\n\r\n A , B\t\n\n   \n1 ,  2 \r\n\r\n\t3,4   \n\n");
  EXPECT_EQ(table.columns, (Names{"A", "B"}));
  EXPECT_EQ(table.values, (Values{1, 2, 3, 4}));
  EXPECT_EQ(table.lines, (Lines{6, 8}));
  EXPECT_EQ(parse_table("\xef\xbb\xbf\"A\",B\n1,2").columns, (Names{"A", "B"}));
}

TEST(CsvTable, AHeaderAloneIsATableWhereThatIsAllowed) {
  const CsvTable table = parse_table("A,B,C\n", NoRows::allowed);
  EXPECT_EQ(table.rows, 0U);
  EXPECT_EQ(table.width, 3U);
  EXPECT_EQ(table.columns, (Names{"A", "B", "C"}));
  EXPECT_EQ(parse_table(",B,C\n", NoRows::allowed).columns, (Names{"B", "C"}));
}

TEST(CsvTable, FilesAreReadThroughABufferOfAnySize) {
  // Longer than the buffer, with a line break in quotes wherever that ends.
  std::string content = "name,A\n";
  for (int k = 0; k < 60000; ++k) content += fmt::format("\"row\n{}\",{}\n", k, k);
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "long.csv";
  write_file_atomically(path, content);
  const CsvTable table = read_csv(path);
  ASSERT_EQ(table.rows, 60000U);
  for (std::size_t k = 0; k < table.rows; ++k) {
    ASSERT_EQ(table.labels[k], fmt::format("row\n{}", k));
    ASSERT_EQ(table.values[k], static_cast<double>(k));
    ASSERT_EQ(table.lines[k], 2 + 2 * k);
  }
}

TEST(CsvTable, NumbersOf17DigitsComeBackUnchanged) {
  std::mt19937_64 random(20250101);
  constexpr std::size_t kRows = 500;
  constexpr std::size_t kWidth = 7;
  Values written;
  std::string content;
  while (written.size() < kRows * kWidth) {
    const auto value = std::bit_cast<double>(random());  // any double: denormal, negative zero
    if (!std::isfinite(value)) continue;
    content += fmt::format("{:.17g}{}", value, (written.size() + 1) % kWidth == 0 ? "\n" : ",");
    written.push_back(value);
  }
  const CsvTable table = parse_table(content);
  ASSERT_EQ(table.rows, kRows);
  ASSERT_EQ(table.width, kWidth);
  for (std::size_t k = 0; k < written.size(); ++k) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(table.values[k]), std::bit_cast<std::uint64_t>(written[k])) << written[k];
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// What is refused

TEST(CsvTable, FieldsThatAreNotNumbers) {
  const auto refused = [](const std::string& field, const std::string& reason,
                          const std::string& remedy = "give a finite number") {
    expect_table_refused("date,MSFT\n2024-01-02,1\n2024-01-03," + field + "\n",
                         "line 3, column \"MSFT\": " + reason + "; " + remedy);
    expect_table_refused("1,2\n3," + field + "\n", "line 2, column 2: " + reason + "; " + remedy);
  };
  for (const char* text : {"n/a", "1.5.2", "0x10", "1e", "--1", "+-1", "1 2", "1.5%", "$3", "-", "+", "1_000"}) {
    refused(text, fmt::format("'{}' is not a number", text));
  }
  for (const char* word : {"nan", "NaN", "inf", "-inf", "+Infinity"}) {
    refused(word, fmt::format("'{}' is not finite", word));
  }
  refused("", "the field is empty");
  refused("   ", "the field is empty");
  refused("\"\"", "the field is empty");
  refused("1e999", "'1e999' is too large or too small");
  refused("\"1,5\"", "'1,5' is not a number", "write decimals with a point");
  refused("\"a\nb\x1b\"", "'a\\nb\\x1b' is not a number");
  expect_table_refused("A\nx\n", "line 2, column \"A\": 'x' is not a number; give a finite number");
  // A first row of bad numbers is no header, and a missing number no label.
  expect_table_refused("1,nan\n2,3\n", "line 1, column 2: 'nan' is not finite; give a finite number");
  expect_table_refused("A,B\n,3\n", "line 2, column \"A\": the field is empty; give a finite number");
  expect_table_refused("A,B\nnan,3\n", "line 2, column \"A\": 'nan' is not finite; give a finite number");
}

TEST(CsvTable, LongFieldsAndNamesAreShortened) {
  const std::string line = test::line_of<InputError>(
      [] { (void)parse_table(std::string(9999, 'N') + "\n" + std::string(9999, 'x') + "\n"); });
  EXPECT_LT(line.size(), 250U);
}

TEST(CsvTable, RowsOfAnotherLength) {
  expect_table_refused("d,A,B,C,D\nx,1,2,3,4\nx,1,2,3\n", "line 3 has 4 fields; the header has 5");
  expect_table_refused("d,A\nx,1\n\nx,1,2\n", "line 4 has 3 fields; the header has 2");
  expect_table_refused("1,2\n3\n", "line 2 has 1 field; the first row has 2");
  // Rather than of a field that is in the wrong column.
  expect_table_refused("d,A,B\nx,1,2\n3,y\n", "line 3 has 2 fields; the header has 3");
}

TEST(CsvTable, NothingInIt) {
  for (const char* content : {"", "\n\n", "  \r\n", "\xef\xbb\xbf"}) {
    for (const NoRows no_rows : {NoRows::refused, NoRows::allowed}) {
      expect_table_refused(content, "is empty; give a table of numbers", no_rows);
    }
  }
  expect_table_refused(
      "\ndate,A\n",
      "has no rows: line 2 is its header, since 'date' is not a number; give at least one row of numbers");
  expect_table_refused(
      "0.1,0.x,0.3\n",
      "has no rows: line 1 is its header, since '0.x' is not a number; give at least one row of numbers");
}

TEST(CsvTable, ColumnNames) {
  expect_table_refused("date,A,B,A\nx,1,2,3\n",
                       "columns 2 and 4 are both named \"A\"; give each column a name of its own");
  expect_table_refused("date,A,,B\nx,1,2,3\n", "line 1: column 3 has no name; name every column in the header");
}

TEST(CsvTable, OtherSeparators) {
  const std::string remedy = "; separate them by commas, and write decimals with a point";
  expect_table_refused("date;A;B\n2024-01-02;0.1;0.2\n", "its fields are separated by semicolons" + remedy);
  expect_table_refused("date;A;B\n2024-01-02;0,1;0,2\n", "its fields are separated by semicolons" + remedy);
  expect_table_refused("1;2\n3;4\n", "its fields are separated by semicolons" + remedy);
  expect_table_refused("date\tA\n2024-01-02\t0.1\n", "its fields are separated by tabs" + remedy);
  expect_table_refused(
      "a,b\n1,2;3\n",
      "line 2, column \"b\": '2;3' is not a number; separate fields by commas, and write decimals with a point");
}

TEST(CsvTable, Quotes) {
  expect_table_refused("A,B\n1,2\n3,\"4\n5,6\n", "line 3: a quote is opened and never closed; close it");
  const std::string inside = "a quote inside a field; put the whole field in quotes and double those inside";
  expect_table_refused("A,B\nx\"y,2\n", "line 2: " + inside);
  expect_table_refused("A,B\n1,2\n\"x\"y,2\n", "line 3: " + inside);
}

TEST(CsvTable, NotText) {
  expect_table_refused(std::string_view("A\0,\0", 4), "is not text: it has zero bytes; give a CSV file in UTF-8");
  expect_table_refused(std::string_view("\x93NUMPY\x01\0v\0{'descr'", 16), "is a .npy file; give a CSV file");
}

class CsvFileTest : public testing::InAFolder {
 protected:
  void expect_refused_file(const fs::path& path, const std::string& reason) {
    EXPECT_EQ(test::line_of<InputError>([&] { (void)read_csv(path); }), path.string() + ": " + reason);
  }
};

TEST_F(CsvFileTest, WhatIsNoFile) {
  expect_refused_file(folder_ / "missing.csv", "cannot be opened: No such file or directory");
  expect_refused_file(folder_, "is a folder; give a CSV file");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  expect_refused_file(folder_ / "pipe", "is not a regular file; give a CSV file on a disk");
  write_file_atomically(folder_ / "empty.csv", "");
  expect_refused_file(folder_ / "empty.csv", "is empty; give a table of numbers");
  write_npy(folder_ / "x.csv", Values{1, 2}, Lines{2});
  expect_refused_file(folder_ / "x.csv", "is a .npy file; give a CSV file");
}

bool is_one_short_line(std::string_view line) {
  return !line.empty() && line.size() < 400 && std::ranges::none_of(line, [](char c) { return c >= 0 && c < ' '; });
}

/// Random bytes, and tables damaged at random: a consistent table, or one printable line.
TEST(CsvTable, SurvivesRandomDamage) {
  constexpr int kRounds = 30000;
  std::mt19937_64 random(20250102);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const Names seeds = {"date,A,B\n2024-01-02,0.5,1\n2024-01-03,2,3\n", "1,2\r\n3,4\r\n",
                       "\xef\xbb\xbf\"a\nb\",c\n1,2\n", ",A\n0,1\n", ""};
  const std::string characters = "\"\",,;\n\r\t 0123456789.eE+-nax\x80\xff";
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string content = seeds[below(seeds.size())];
    if (content.empty()) content.assign(below(30), ' ');
    for (std::size_t damage = below(5); damage-- > 0 && !content.empty();) {
      const std::size_t at = below(content.size());
      switch (below(4)) {
        case 0: content[at] = static_cast<char>(below(256)); break;
        case 1: content.insert(at, 1, characters[below(characters.size())]); break;
        case 2: content.erase(at, 1 + below(4)); break;
        default: content[at] = characters[below(characters.size())];
      }
    }
    try {
      const CsvTable table = parse_table(content);
      ++accepted;
      ASSERT_GT(table.rows, 0U);
      ASSERT_GT(table.width, 0U);
      ASSERT_EQ(table.values.size(), table.rows * table.width);
      ASSERT_EQ(table.lines.size(), table.rows);
      ASSERT_TRUE(std::ranges::is_sorted(table.lines));
      ASSERT_TRUE(table.columns.empty() || table.columns.size() == table.width);
      ASSERT_TRUE(table.labels.empty() || table.labels.size() == table.rows);
      ASSERT_TRUE(std::ranges::all_of(table.values, [](double value) { return std::isfinite(value); }));
    } catch (const InputError& error) {
      ASSERT_TRUE(is_one_short_line(error.what())) << "round " << round << ": " << error.what();
    }
  }
  // Neither side of the test is idle.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds * 9 / 10);
}

}  // namespace
}  // namespace fedsinkhorn
