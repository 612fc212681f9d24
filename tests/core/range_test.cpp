#include "core/range.hpp"

#include <gtest/gtest.h>

namespace fedsinkhorn {
namespace {

TEST(ChunkRange, ChunksLieOneAfterTheOtherAndAreTheWhole) {
  for (const std::size_t grain : {1U, 4U, 64U}) {
    for (const std::size_t count : {0U, 1U, 5U, 64U, 101U, 1000U}) {
      for (const std::size_t chunks : {1U, 2U, 3U, 7U, 150U}) {
        std::size_t last = 0;
        for (std::size_t index = 0; index < chunks; ++index) {
          const Range chunk = chunk_range(count, chunks, index, grain);
          ASSERT_EQ(chunk.first, last) << count << " in " << chunks << " by " << grain;
          ASSERT_LE(chunk.first, chunk.last);
          ASSERT_TRUE(chunk.first % grain == 0 || chunk.first == count);
          last = chunk.last;
        }
        ASSERT_EQ(last, count) << count << " in " << chunks << " by " << grain;
      }
    }
  }
}

TEST(ChunkRange, DealsEvenly) {
  for (const std::size_t count : {3U, 101U}) {
    for (const std::size_t chunks : {2U, 7U}) {
      for (std::size_t index = 0; index < chunks; ++index) {
        const std::size_t size = chunk_range(count, chunks, index).size();
        EXPECT_GE(size, count / chunks);
        EXPECT_LE(size, count / chunks + 1);
      }
    }
  }
}

TEST(ChunkRange, TheLastOneTakesTheRemainder) {
  EXPECT_EQ(chunk_range(10, 2, 0, 4), (Range{0, 4}));
  EXPECT_EQ(chunk_range(10, 2, 1, 4), (Range{4, 10}));
  EXPECT_TRUE(chunk_range(3, 2, 0, 4).empty());
  EXPECT_EQ(chunk_range(3, 2, 1, 4), (Range{0, 3}));
}

}  // namespace
}  // namespace fedsinkhorn
