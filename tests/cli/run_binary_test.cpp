// The helper that the other tests trust.
#include "cli/run_binary.hpp"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "fedsinkhorn/npy.hpp"

namespace fedsinkhorn::test {
namespace {

// A hang must be a failure, not a wait.
TEST(RunBinaryTest, AChildThatOutlivesItsLimitFailsTheTest) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "C.npy", std::vector<double>{0, 1, 1, 0}, Shape{2, 2});
  const Arguments endless = words_of(
      "solve --cost C.npy --epsilon 1 --tolerance 0 --max-iterations 1000000000000 --check-every 1000000 --quiet");
  RunResult result;
  EXPECT_NONFATAL_FAILURE(result = run_binary(endless, {.limit = std::chrono::seconds(1), .folder = folder.path()}),
                          "still running after 1 s");
  EXPECT_EQ(result.status, 128 + 9);
}

TEST(RunBinaryTest, TellsTheStreamsApart) {
  const RunResult good = run_binary({"--version"});
  EXPECT_EQ(good.status, 0);
  EXPECT_NE(good.out, "");
  EXPECT_EQ(good.err, "");
  EXPECT_GT(good.peak_bytes, 1000000U);
  const RunResult bad = run_binary({"nonsense"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.out, "");
  EXPECT_NE(bad.err, "");
}

TEST(RunBinaryTest, WordsAreSplitAsInAShell) {
  EXPECT_EQ(words_of("  a 'b c'  d''e ''\n"), (Arguments{"a", "b c", "de", ""}));
  EXPECT_TRUE(words_of("").empty());
}

TEST(RunBinaryTest, ReadsArraysOfAnyRank) {
  const TemporaryFolder folder;
  NpyWriter writer(folder.path() / "x.npy", Shape{2, 1, 3});
  writer.append(std::vector<double>{1, 2, 3, 4, 5, 6});
  writer.finish();
  const Array array = read_npy(folder.path() / "x.npy");
  EXPECT_EQ(array.shape, (Shape{2, 1, 3}));
  EXPECT_EQ(array.values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  write_bytes(folder.path() / "short.npy", read_bytes(folder.path() / "x.npy").substr(0, 150));
  EXPECT_THROW((void)read_npy(folder.path() / "short.npy"), std::runtime_error);
}

}  // namespace
}  // namespace fedsinkhorn::test
