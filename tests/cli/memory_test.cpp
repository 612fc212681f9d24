// Memory honesty: what the program says and does about memory, measured from outside.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_binary.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/shadow_memory.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

constexpr double kMegabyte = 1e6;
/// The program itself with its libraries, threads and vectors.
constexpr double kProgram = 60 * kMegabyte;

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kHasShadowMemory) GTEST_SKIP() << "a sanitizer's own memory would be measured";
    // A child's peak starts from this process's own.
    rusage own{};
    ASSERT_EQ(::getrusage(RUSAGE_SELF, &own), 0);
    ASSERT_LT(static_cast<double>(own.ru_maxrss) * 1024, 40 * kMegabyte);
  }

  /// Row by row, lest this process need the memory that the child should not.
  void write_cost(const fs::path& path, std::size_t rows, std::size_t columns) {
    NpyWriter writer(path, Shape{rows, columns});
    std::vector<double> row(columns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        row[j] = std::abs(static_cast<double>(i) / static_cast<double>(rows) -
                          static_cast<double>(j) / static_cast<double>(columns));
      }
      writer.append(row);
    }
    writer.finish();
  }

  [[nodiscard]] RunResult solve(const std::string& rest) const {
    const std::string command =
        "solve --epsilon 0.05 --tolerance 0 --max-iterations 3 --quiet --backend cpu --threads 2 --output results " +
        rest;
    const RunResult result = run_binary(words_of(command), {.folder = folder_.path()});
    EXPECT_EQ(result.status, 3) << result;
    return result;
  }

  [[nodiscard]] double kernel_bytes() const {
    return read_json(folder_.path() / "results" / "summary.json").at("kernel_bytes").get<double>();
  }

  TemporaryFolder folder_;
};

TEST_F(MemoryTest, AStoredKernelIsAllThatIsHeld) {
  constexpr std::size_t n = 3000;
  write_cost(folder_.path() / "C.npy", n, n);
  const double entries = static_cast<double>(n) * static_cast<double>(n);
  for (const auto& [precision, bytes_each] : {std::pair{"float64", 8.0}, {"mixed", 4.0}, {"float32", 4.0}}) {
    const RunResult result = solve(std::string("--cost C.npy --precision ") + precision);
    const double stored = entries * bytes_each;
    EXPECT_LT(static_cast<double>(result.peak_bytes), 1.25 * stored + kProgram) << precision;
    // Less than the kernel itself would mean that the measurement is broken.
    EXPECT_GT(static_cast<double>(result.peak_bytes), stored) << precision;
    EXPECT_GE(kernel_bytes(), stored) << precision;
    EXPECT_LT(kernel_bytes(), 1.25 * stored) << precision;
  }
}

// The costs pass by: neither the file nor the plan is ever held as a whole.
TEST_F(MemoryTest, AnOnlineKernelFromAFileHoldsNoMatrix) {
  write_cost(folder_.path() / "C.npy", 3000, 3000);  // 72 MB
  const RunResult result = solve("--cost C.npy --kernel online --plan");
  EXPECT_LT(static_cast<double>(result.peak_bytes), kProgram + 30 * kMegabyte);
}

TEST_F(MemoryTest, AnOnlineKernelFromPointsHoldsNoMatrix) {
  constexpr std::size_t n = 6000;
  for (const char* name : {"X.npy", "Y.npy"}) {
    std::vector<double> points(n * 3);
    for (std::size_t k = 0; k < points.size(); ++k) {
      points[k] = std::fmod(static_cast<double>(k) * 0.6180339887 + (name[0] == 'Y' ? 0.3 : 0.0), 1.0);
    }
    write_npy(folder_.path() / name, points, Shape{n, 3});
  }
  const RunResult result = solve("--points X.npy Y.npy --kernel online");
  EXPECT_LT(static_cast<double>(result.peak_bytes), 100 * kMegabyte);  // stored: 288 MB
  EXPECT_LT(kernel_bytes(), 100 * kMegabyte);
}

// Every client once kept what all clients keep: 4 GB.
TEST_F(MemoryTest, SixHundredClientsTakeWhatIsPredicted) {
  write_cost(folder_.path() / "C.npy", 3, 4);
  constexpr double clients = 600;
  for (const char* transport : {"simulated", "threads"}) {
    const RunResult result =
        run_binary(words_of(std::string("solve --cost C.npy --epsilon 0.05 --quiet --backend cpu --clients 600 "
                                        "--output results --transport ") +
                            transport),
                   {.limit = std::chrono::seconds(300), .folder = folder_.path()});
    EXPECT_EQ(result.status, 0) << result;
    EXPECT_LT(static_cast<double>(result.peak_bytes), clients * (256 * 1024 + clients * 640) + kProgram) << transport;
  }
}

}  // namespace
}  // namespace fedsinkhorn::test
