#include "io/npy_header.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr const char* kName = "some/where.npy";

/// Magic, version, length and dictionary: `version` 1 has a length of 2 bytes, the others of 4.
std::string header_with(const std::string& dictionary, char version = 1) {
  std::string result = "\x93NUMPY";
  result += version;
  result += '\0';
  for (unsigned k = 0; k < (version == 1 ? 2U : 4U); ++k) {
    result += static_cast<char>(dictionary.size() >> (8 * k) & 0xffU);
  }
  return result + dictionary;
}

std::string dictionary(const std::string& descr, const std::string& fortran_order, const std::string& shape) {
  return "{'descr': " + descr + ", 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }   \n";
}

NpyHeader parse_start(const std::string& start, std::uint64_t file_size) {
  return parse_npy_header(std::as_bytes(std::span(start)), file_size, kName);
}

/// A file with that header and that many bytes of data.
NpyHeader parse_with_data(const std::string& start, std::uint64_t data) {
  return parse_start(start, start.size() + data);
}

bool is_one_printable_line(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// The message of the refusal; empty when the file was accepted.
std::string refusal(const std::string& start, std::uint64_t file_size) {
  try {
    (void)parse_start(start, file_size);
  } catch (const InputError& error) {
    EXPECT_TRUE(is_one_printable_line(error.what())) << error.what();
    return error.what();
  }
  return {};
}

void expect_start_refused(const std::string& start, std::uint64_t file_size, const std::string& reason) {
  EXPECT_TRUE(refusal(start, file_size).starts_with(kName + (": " + reason)))
      << "expected: " << reason << "\ngot:      " << refusal(start, file_size);
}

void expect_dictionary_refused(const std::string& text, const std::string& reason) {
  const std::string start = header_with(text);
  expect_start_refused(start, start.size() + 48, reason);
}

void expect_malformed(const std::string& text, const std::string& detail) {
  expect_dictionary_refused(text, "malformed header: " + detail);
}

using HeaderShape = std::vector<std::size_t>;

TEST(NpyHeader, ReadsEveryVersion) {
  for (const char version : {'\1', '\2', '\3'}) {
    const std::string start = header_with(dictionary("'<f8'", "False", "(2, 3)"), version);
    const NpyHeader parsed = parse_with_data(start, 48);
    EXPECT_EQ(parsed.format, (NumberFormat{'f', 8}));
    EXPECT_FALSE(parsed.by_columns);
    EXPECT_EQ(parsed.shape, (HeaderShape{2, 3}));
    EXPECT_EQ(parsed.data_offset, start.size());
  }
}

TEST(NpyHeader, ReadsEveryTypeOfRealNumbers) {
  const std::map<std::string, NumberFormat> formats = {
      {"<f2", {'f', 2}}, {"<f4", {'f', 4}}, {">f4", {'f', 4, true}}, {">f8", {'f', 8, true}}, {"|b1", {'b', 1}},
      {"|i1", {'i', 1}}, {"|u1", {'u', 1}}, {"<u2", {'u', 2}},       {"<i4", {'i', 4}},       {">i4", {'i', 4, true}},
      {"<i8", {'i', 8}}, {"<u8", {'u', 8}}, {"<f16", {'f', 16}}};
  for (const auto& [descr, format] : formats) {
    const NpyHeader parsed =
        parse_with_data(header_with(dictionary("'" + descr + "'", "False", "(2, 3)")), 6 * format.bytes);
    EXPECT_EQ(parsed.format, format) << descr;
    EXPECT_EQ(parsed.shape, (HeaderShape{2, 3}));
  }
}

TEST(NpyHeader, SaysWhichOrderCounts) {
  EXPECT_TRUE(parse_with_data(header_with(dictionary("'<f8'", "True", "(2, 3)")), 48).by_columns);
  for (const char* shape : {"(6,)", "(6, 1)", "(1, 6)"}) {
    EXPECT_FALSE(parse_with_data(header_with(dictionary("'<f8'", "True", shape)), 48).by_columns) << shape;
  }
}

TEST(NpyHeader, ReadsBytesAsNumpyWroteThem) {
  // np.save(path, np.zeros((7, 1))) of NumPy 1.24, byte for byte.
  const std::string start = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                            "{'descr': '<f8', 'fortran_order': False, 'shape': (7, 1), }" + std::string(58, ' ') + "\n";
  const NpyHeader parsed = parse_with_data(start, 56);
  EXPECT_EQ(parsed.shape, (HeaderShape{7, 1}));
  EXPECT_EQ(parsed.data_offset, 128U);
}

TEST(NpyHeader, ReadsAnyOrderQuotesAndSpacing) {
  for (const char* text : {"{'shape':(6,),'fortran_order':False,'descr':'<f8'}",
                           "{\"fortran_order\": False, \"descr\": \"<f8\", \"shape\": (6,)}\n",
                           "  {  'descr'  :  '<f8' ,'shape' : ( 6 , ) ,\t\"fortran_order\"  :  False  ,  }     \n",
                           "{'descr': '<f8',\n 'fortran_order': False,\r\n 'shape': (6,)}"}) {
    EXPECT_EQ(parse_with_data(header_with(text), 48).shape, HeaderShape{6}) << text;
  }
}

TEST(NpyHeader, ReadsATupleWithTrailingComma) {
  EXPECT_EQ(parse_with_data(header_with(dictionary("'<f8'", "False", "(2, 3,)")), 48).shape, (HeaderShape{2, 3}));
}

TEST(NpyHeader, AcceptsFortranOrderWhereBothOrdersAgree) {
  for (const auto& [text, shape] :
       {std::pair<std::string, HeaderShape>{"(6,)", {6}}, {"(6, 1)", {6, 1}}, {"(1, 6)", {1, 6}}}) {
    EXPECT_EQ(parse_with_data(header_with(dictionary("'<f8'", "True", text)), 48).shape, shape);
  }
}

TEST(NpyHeader, LooksNoFurtherThanTheWindow) {
  std::string start = header_with(dictionary("'<f8'", "False", "(1000000, 1000000)"));
  const std::uint64_t file_size = start.size() + 8'000'000'000'000ULL;
  EXPECT_EQ(parse_start(start, file_size).shape, (HeaderShape{1000000, 1000000}));  // the file's first bytes are enough
}

TEST(NpyHeader, RefusesAnEmptyFile) { expect_start_refused("", 0, "the file is empty"); }

TEST(NpyHeader, RefusesAFileThatIsTooShort) {
  const std::string one = header_with(dictionary("'<f8'", "False", "(6,)"));
  for (const std::size_t size : {1U, 5U, 6U, 7U, 8U, 9U}) {
    expect_start_refused(one.substr(0, size), size,
                         "too short to hold a .npy header (" + std::to_string(size) + " bytes)");
  }
  const std::string two = header_with(dictionary("'<f8'", "False", "(6,)"), 2);
  expect_start_refused(two.substr(0, 11), 11, "too short to hold a .npy header (11 bytes)");
}

TEST(NpyHeader, RefusesOtherFormats) {
  for (const std::string text : {"1", "1,2,3\n4,5,6\n", "\x93NUMPX\x01\x00 and so on", "\x89PNG\r\n\x1a\n"}) {
    expect_start_refused(text, text.size(), "not a .npy file;");
  }
  const std::string archive("PK\x03\x04 rest of the archive");
  expect_start_refused(archive, archive.size(), "not a .npy file but a .npz archive");
}

TEST(NpyHeader, RefusesOtherVersions) {
  std::string start = header_with(dictionary("'<f8'", "False", "(6,)"));
  for (const auto& [major, minor] : {std::pair<char, char>{'\0', '\0'}, {'\4', '\0'}, {'\1', '\1'}, {'\xff', '\xff'}}) {
    start[6] = major;
    start[7] = minor;
    expect_start_refused(start, start.size() + 48,
                         "unsupported version " + std::to_string(static_cast<unsigned char>(major)) + "." +
                             std::to_string(static_cast<unsigned char>(minor)));
  }
}

TEST(NpyHeader, RefusesAHeaderLongerThanTheFile) {
  const std::string start = header_with(dictionary("'<f8'", "False", "(6,)"));
  for (std::size_t size = 10; size < start.size(); ++size) {
    expect_start_refused(start.substr(0, size), size,
                         "header longer than the file: it should end at byte " + std::to_string(start.size()) +
                             ", the file at byte " + std::to_string(size));
  }
  const std::string huge("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
  expect_start_refused(huge, huge.size(), "header longer than the file: it should end at byte 4294967307");
}

TEST(NpyHeader, RefusesAHeaderThatNoPlainArrayNeeds) {
  const std::string huge("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14);
  expect_start_refused(huge, std::uint64_t{1} << 40U, "header of 4294967295 bytes is longer than the 65535");
}

TEST(NpyHeader, RefusesAHeaderThatCouldNotBeReadInFull) {
  const std::string start = header_with(dictionary("'<f8'", "False", "(6,)"));
  expect_start_refused(start.substr(0, 40), start.size() + 48, "header longer than the file");
}

TEST(NpyHeader, RefusesMalformedDictionaries) {
  expect_malformed("", "expected '{' at byte 0");
  expect_malformed("    \n", "expected '{' at byte 5");
  expect_malformed("{}", "no entry 'descr'");
  expect_malformed("{", "expected a string at byte 1");
  expect_malformed("{,}", "expected a string at byte 1");
  expect_malformed("{'descr': '<f8', 'shape': (6,)}", "no entry 'fortran_order'");
  expect_malformed("{'descr': '<f8', 'fortran_order': False}", "no entry 'shape'");
  expect_malformed("{'descr': '<f8', 'fortran_order': False, 'shape': (6,)", "expected '}'");
  expect_malformed("{'descr': '<f8' 'fortran_order': False, 'shape': (6,)}", "expected '}' at byte 16");
  expect_malformed("{'descr': '<f8', 'descr': '<f8'}", "entry 'descr' appears twice");
  expect_malformed("{'fortran_order': True, 'fortran_order': True}", "entry 'fortran_order' appears twice");
  expect_malformed("{'shape': (6,), 'shape': (6,)}", "entry 'shape' appears twice");
  expect_malformed("{'order': 'C'}", "unknown entry 'order'");
  expect_malformed("{'descr", "a string does not end");
  expect_malformed("{'descr\"", "a string does not end");
  expect_malformed("{'des\\x63r': '<f8'}", "escape in the string 'des\\x63r'");
  expect_malformed("{'descr' '<f8'}", "expected ':'");
  expect_malformed("{'descr': <f8}", "expected a string");
  expect_malformed("{u'descr': '<f8'}", "expected a string at byte 1");
  expect_malformed(dictionary("'<f8'", "0", "(6,)"), "expected True or False");
  expect_malformed(dictionary("'<f8'", "false", "(6,)"), "expected True or False");
  expect_malformed(dictionary("'<f8'", "Falsely", "(6,)"), "expected '}'");
  expect_malformed(dictionary("'<f8'", "False", "6"), "expected '('");
  expect_malformed(dictionary("'<f8'", "False", "[6]"), "expected '('");
  expect_malformed(dictionary("'<f8'", "False", "(6)"), "shape is not a tuple");
  expect_malformed(dictionary("'<f8'", "False", "(2 3)"), "shape is not a tuple");
  expect_malformed(dictionary("'<f8'", "False", "(2, 3 4)"), "expected ','");
  expect_malformed(dictionary("'<f8'", "False", "(,)"), "expected a dimension");
  expect_malformed(dictionary("'<f8'", "False", "(2,,3)"), "expected a dimension");
  expect_malformed(dictionary("'<f8'", "False", "(-6,)"), "expected a dimension");
  expect_malformed(dictionary("'<f8'", "False", "(6.0,)"), "shape is not a tuple");
  expect_malformed(dictionary("'<f8'", "False", "(6L,)"), "shape is not a tuple");
  expect_malformed(dictionary("'<f8'", "False", "(06,)"), "a dimension starts with 0");
  expect_malformed(dictionary("'<f8'", "False", "(6,"), "expected a dimension");
  expect_malformed(dictionary("'<f8'", "False", "(6,)") + "x", "something follows the dictionary");
  expect_malformed(dictionary("'<f8'", "False", "(6,)") + '\0', "something follows the dictionary");
}

TEST(NpyHeader, RefusesOtherTypesEachByItsName) {
  const auto expect = [](const std::string& descr, const std::string& kind) {
    expect_dictionary_refused(dictionary("'" + descr + "'", "False", "(6,)"),
                              kind + "type '" + descr + "' is not supported; save it");
  };
  expect("<c16", "complex ");
  expect("|O", "Python object ");
  expect("<U3", "string ");
  expect("|S3", "string ");
  expect("|V8", "structured or raw ");
  expect("<M8[ns]", "date or time ");
  for (const char* odd : {"=f8", "|f8", "f8", "<f", "<f88", "<f12", "<i3", "<b8", "=i1", "float64", "<", "", " <f8"})
    expect(odd, "");
  expect_dictionary_refused(dictionary("'|O'", "False", "(6,)"),
                            "Python object type '|O' is not supported; save it as float64: "
                            "np.save(path, x.astype(np.float64))");
  expect_dictionary_refused(dictionary("[('a', '<f8'), ('b', '<i4')]", "False", "(6,)"),
                            "structured type is not supported");
}

TEST(NpyHeader, ShowsTextFromTheFileShortAndPrintable) {
  expect_dictionary_refused(dictionary("'\n\x1b[31m\xffx\x7f'", "False", "(6,)"), "type '??[31m?x?' is not supported");
  const std::string message = refusal(header_with("{'" + std::string(60000, 'k') + "': 1}"), 70000);
  EXPECT_LT(message.size(), 160U);
  EXPECT_NE(message.find("unknown entry '" + std::string(32, 'k') + "...'"), std::string::npos) << message;
}

TEST(NpyHeader, RefusesOtherRanks) {
  expect_dictionary_refused(dictionary("'<f8'", "False", "()"), "a single number with 0 dimensions");
  expect_dictionary_refused(dictionary("'<f8'", "False", "(1, 2, 3)"), "has 3 dimensions");
  expect_dictionary_refused(dictionary("'<f8'", "True", "(1, 2, 3, 1)"), "has 4 dimensions");
  std::string many = "(";
  for (int k = 0; k < 20000; ++k) many += "1, ";
  expect_dictionary_refused(dictionary("'<f8'", "False", many + ")"), "has 20000 dimensions");
}

TEST(NpyHeader, RefusesArraysWithoutElements) {
  expect_dictionary_refused(dictionary("'<f8'", "False", "(0,)"), "has no elements: its shape is (0,)");
  expect_dictionary_refused(dictionary("'<f8'", "False", "(0, 3)"), "has no elements: its shape is (0, 3)");
  expect_dictionary_refused(dictionary("'<f8'", "False", "(3, 0)"), "has no elements: its shape is (3, 0)");
}

TEST(NpyHeader, RefusesShapesThatOverflow) {
  for (const char* shape : {"(2305843009213693952,)", "(4294967296, 4294967296)", "(18446744073709551615, 1)",
                            "(9223372036854775808, 2)", "(18446744073709551616,)", "(1, 99999999999999999999999999)"}) {
    expect_dictionary_refused(dictionary("'<f8'", "False", shape), "shape overflows: ");
  }
  // The largest that does not overflow is merely truncated.
  expect_dictionary_refused(dictionary("'<f8'", "False", "(2305843009213693951,)"), "data truncated: ");
  expect_dictionary_refused(dictionary("'<f4'", "False", "(4611686018427387903,)"), "data truncated: ");
}

TEST(NpyHeader, RefusesTruncatedData) {
  const std::string start = header_with(dictionary("'<f8'", "False", "(2, 3)"));
  for (const std::uint64_t present : {0U, 1U, 40U, 47U}) {
    expect_start_refused(start, start.size() + present,
                         "data truncated: shape (2, 3) needs 48 bytes, the file has " + std::to_string(present));
  }
}

TEST(NpyHeader, RefusesBytesAfterTheData) {
  const std::string start = header_with(dictionary("'<f4'", "False", "(2, 3)"));
  for (const std::uint64_t extra : {1U, 24U}) {
    expect_start_refused(start, start.size() + 24 + extra,
                         "has " + std::to_string(extra) + " bytes more than its header promises");
  }
}

/// Damages valid files at random. Whatever comes out is refused in one printable line or means exactly its own size.
TEST(NpyHeader, SurvivesRandomDamage) {
  constexpr int kRounds = 60000;
  std::mt19937_64 random(20240607);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };

  const std::vector<std::string> seeds = {
      header_with(dictionary("'<f8'", "False", "(2, 3)")) + std::string(48, 'x'),
      header_with(dictionary("'<f4'", "False", "(12,)")) + std::string(48, '\0'),
      header_with(R"({"shape": (1, 5), "descr": "<f8", "fortran_order": True})", 2) + std::string(40, '\xff'),
      header_with("{'fortran_order':False,'shape':(10,1,),'descr':'<f4',}\n", 3) + std::string(40, '7'),
      header_with(dictionary("'<f8'", "False", "(123456789, 987654321)")),
      header_with(dictionary("[('a', '<f8')]", "False", "(3,)")) + std::string(24, ' '),
  };
  const std::string characters = "'\"(),:{}[]\\ \t\n0123456789";
  const std::vector<std::string> words = {"'<f8'", "'<f4'", "'>f8'", "True", "False", "shape", "descr", "()", "(1,"};
  int accepted = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string file = seeds[below(seeds.size())];
    for (std::size_t damage = below(4); damage-- > 0 && !file.empty();) {
      // Most of it where it matters: past the header there is nothing to parse.
      const std::size_t at = below(std::min<std::size_t>(file.size(), below(8) == 0 ? 12 : 100));
      switch (below(8)) {
        case 0: file[at] = static_cast<char>(file[at] ^ static_cast<char>(1U << below(8))); break;
        case 1: file.insert(at, 1, static_cast<char>(below(256))); break;
        case 2: file.erase(at, 1 + below(8)); break;
        case 3: file.resize(at); break;
        case 4: file.insert(at, words[below(words.size())]); break;
        case 5: file[at] = characters[below(characters.size())]; break;
        case 6: file.insert(at, below(30), '9'); break;
        default: {
          const std::string& other = seeds[below(seeds.size())];
          const std::size_t from = below(other.size());
          file.replace(at, below(20), other, from, 1 + below(40));
        }
      }
    }
    // The size of the file is an input too: the true one, one nearby, or anything.
    std::uint64_t file_size = file.size();
    if (const std::size_t choice = below(4); choice == 0) {
      file_size += below(64);
    } else if (choice == 1) {
      file_size = random() >> below(64);
    }
    std::optional<NpyHeader> parsed;
    try {
      parsed = parse_start(file, file_size);
    } catch (const InputError& error) {
      ASSERT_TRUE(is_one_printable_line(error.what())) << "round " << round << ": " << error.what();
      ASSERT_LT(std::string_view(error.what()).size(), 250U) << "round " << round << ": " << error.what();
    }
    if (!parsed) continue;
    ++accepted;
    ASSERT_TRUE(parsed->shape.size() == 1 || parsed->shape.size() == 2) << "round " << round;
    std::uint64_t bytes = parsed->format.bytes;
    for (const std::size_t dimension : parsed->shape) {
      ASSERT_GT(dimension, 0U) << "round " << round;
      ASSERT_FALSE(__builtin_mul_overflow(bytes, std::uint64_t{dimension}, &bytes)) << "round " << round;
    }
    ASSERT_LE(parsed->data_offset, file_size) << "round " << round;
    ASSERT_EQ(bytes, file_size - parsed->data_offset) << "round " << round;
  }
  // Neither side of the test is idle.
  EXPECT_GT(accepted, kRounds / 20);
  EXPECT_LT(accepted, kRounds / 2);
}

}  // namespace
}  // namespace fedsinkhorn
