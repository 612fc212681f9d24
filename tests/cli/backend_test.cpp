// --backend, --devices and info, on machines with and without a device.
#include <gtest/gtest.h>

#include <algorithm>

#include "build_info.hpp"
#include "cli/run_binary.hpp"
#include "device/devices.hpp"

namespace fedsinkhorn::test {
namespace {

class BackendTest : public ::testing::Test {
 protected:
  [[nodiscard]] RunResult run(const std::string& command) const {
    return run_binary(words_of(command), {.folder = folder_.path()});
  }
  void generate(const std::string& rest) const {
    const RunResult result = run("generate --dimension 2 --output p " + rest);
    ASSERT_EQ(result.status, 0) << result;
  }

  TemporaryFolder folder_;
  const std::string why_none_ = cuda::why_no_device();
};

TEST_F(BackendTest, InfoListsDevicesOrSaysWhyThereAreNone) {
  const RunResult result = run("info");
  EXPECT_EQ(result.status, 0) << result;
  const std::string expected = !build_info::kCuda ? "not in this build" : !why_none_.empty() ? why_none_ : "device 0: ";
  EXPECT_NE(result.out.find("CUDA         " + expected), std::string::npos) << result;
}

TEST_F(BackendTest, WithoutADeviceCudaIsRefusedInOneLine) {
  if (why_none_.empty()) GTEST_SKIP() << "there is a device";
  generate("--rows 20 --columns 30");
  for (const char* rest : {"--backend cuda", "--backend cuda --clients 3 --topology star", "--precision bfloat16",
                           "--precision tf32 --kernel online", "--backend cuda --devices 0"}) {
    const RunResult result =
        run(std::string("solve --points p/X.npy p/Y.npy --epsilon 0.1 --output new/results ") + rest);
    EXPECT_EQ(result.status, 2) << rest << '\n' << result;
    EXPECT_EQ(result.out, "") << rest;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result;
    EXPECT_NE(result.err.find(why_none_), std::string::npos) << result;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "new")) << rest;
  }
}

TEST_F(BackendTest, AutoTakesTheProcessorsWhereThereIsNoDevice) {
  generate("--rows 2100 --columns 2000");
  for (const char* rest : {"", "--clients 2"}) {
    const RunResult result =
        run(std::string("solve --points p/X.npy p/Y.npy --epsilon 0.1 --tolerance 0 --max-iterations 2 --output r ") +
            rest);
    ASSERT_EQ(result.status, 3) << result;
    const auto summary = read_json(folder_.path() / "r" / "summary.json");
    EXPECT_EQ(summary.at("backend"), why_none_.empty() ? "cuda" : "cpu");
    EXPECT_EQ(summary.contains("device"), why_none_.empty());
    EXPECT_EQ(result.out.find("(cuda)") != std::string::npos, why_none_.empty()) << result;
  }
}

TEST_F(BackendTest, RanksAreRefusedTogether) {
  if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun";
  if (why_none_.empty()) GTEST_SKIP() << "there is a device";
  generate("--rows 20 --columns 30");
  const RunResult result =
      run_ranks({{2, words_of("solve --points p/X.npy p/Y.npy --epsilon 0.1 --backend cuda --output new/results"), {}}},
                {.folder = folder_.path()});
  EXPECT_EQ(result.status, 2) << result;
  EXPECT_EQ(own_lines(result.err).size(), 1U) << result;
  EXPECT_NE(result.err.find(why_none_), std::string::npos) << result;
}

}  // namespace
}  // namespace fedsinkhorn::test
