#include "core/caches.hpp"

#include <gtest/gtest.h>

#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr Caches kOtherwise{1, 2, 64};

TEST(Caches, SizesAreReadWithTheirUnits) {
  const Caches both = parse_caches("512K,32M", kOtherwise);
  EXPECT_EQ(both.second, std::size_t{512} << 10U);
  EXPECT_EQ(both.last, std::size_t{32} << 20U);
  EXPECT_EQ(parse_caches("4096", kOtherwise).second, 4096U);
}

TEST(Caches, TheLastLevelIsNotSmallerThanTheSecond) {
  EXPECT_EQ(parse_caches("1M", kOtherwise).last, std::size_t{1} << 20U);
  EXPECT_GE(caches().last, caches().second);
  EXPECT_GT(caches().second, 0U);
}

TEST(Caches, WhatIsNoSizeIsRefused) {
  for (const char* text : {"0", "", "-1", "12X", "K", "512K,", "512K,x", "99999999999999999999", "512 K"}) {
    EXPECT_THROW((void)parse_caches(text, kOtherwise), InputError) << text;
  }
}

TEST(Caches, AreDescribed) {
  EXPECT_EQ(describe({std::size_t{512} << 10U, std::size_t{32} << 20U, 64}), "512 kB second level, 32 MB last level");
}

}  // namespace
}  // namespace fedsinkhorn
