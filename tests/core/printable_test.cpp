#include "core/printable.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace fedsinkhorn {
namespace {

TEST(Escaped, LeavesTextAlone) {
  for (const char* text : {"", "a/b c.npy", "\xc3\xa9t\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "back\\slash"}) {
    EXPECT_EQ(escaped(text), text);
  }
}

TEST(Escaped, NothingMovesTheCursor) {
  EXPECT_EQ(escaped("a\x1b[31mb"), "a\\x1b[31mb");
  EXPECT_EQ(escaped("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(escaped(std::string_view("\0\x07\x7f", 3)), "\\x00\\x07\\x7f");
  EXPECT_EQ(escaped("\xc2\x9b"), "\\u009b");  // a control sequence introducer of its own
  EXPECT_EQ(escaped("\xe2\x80\xae"), "\\u202e");
  EXPECT_EQ(escaped("\xe2\x80\xa8"), "\\u2028");
}

TEST(Escaped, InvalidBytesAreShownOneByOne) {
  EXPECT_EQ(escaped("\x9b"), "\\x9b");
  EXPECT_EQ(escaped("\xc3"), "\\xc3");
  EXPECT_EQ(escaped("\xc3(\xff"), "\\xc3(\\xff");
  EXPECT_EQ(escaped("\xc0\xaf"), "\\xc0\\xaf");                    // an overlong slash
  EXPECT_EQ(escaped("\xe0\x9b\x80"), "\\xe0\\x9b\\x80");           // overlong
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half a surrogate pair
  EXPECT_EQ(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above 10FFFF
  EXPECT_EQ(escaped("\xe2\x82"), "\\xe2\\x82");                    // ends too early
}

TEST(Escaped, WhateverTheBytes) {
  std::string all;
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) all += {static_cast<char>(a), static_cast<char>(b)};
  }
  const std::string text = escaped(all);
  EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  }));
  EXPECT_EQ(escaped(text), text);  // what is left is valid, so nothing is left to escape
}

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("0123456789", 10), "0123456789");
  EXPECT_EQ(shortened("0123456789a", 10), "0123...89a");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6),
            "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
  EXPECT_EQ(shortened("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5), "\xc3\xa9...\xc3\xa9");
  EXPECT_EQ(shortened("0123456789", 2), "..");
  EXPECT_EQ(shortened("0123456789", 0), "");
}

TEST(PrintableLine, LongWordsGiveWayToTheRest) {
  const std::string line = printable_line("--cost " + std::string(1 << 20, 'x') + ": cannot be opened; name a file \n");
  EXPECT_EQ(line.find("--cost xxx"), 0U);
  EXPECT_NE(line.find("cannot be opened; name a file"), std::string::npos);
  EXPECT_LE(line.size(), 500U);
}

TEST(PrintableLine, ManyWordsAreCutInTheMiddle) {
  std::string words = "first";
  for (int k = 0; k < 100000; ++k) words += " \x1b";
  const std::string line = printable_line(words + " last");
  EXPECT_EQ(line.find("first \\x1b \\x1b"), 0U);
  EXPECT_TRUE(line.ends_with(" last"));
  EXPECT_EQ(line.size(), kLongestLine);
}

}  // namespace
}  // namespace fedsinkhorn
