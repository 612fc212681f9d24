// A solve takes at most the memory that is predicted, and the prediction is not far above where a kernel is stored: a
// matrix that is held twice is noticed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/run_binary.hpp"
#include "fedsinkhorn/cost_model.hpp"
#include "fedsinkhorn/npy.hpp"
#include "support/shadow_memory.hpp"

namespace fedsinkhorn::test {
namespace {

namespace fs = std::filesystem;

/// Sizes of pages, of an allocator's arenas and of what a library keeps vary from run to run.
constexpr double kAllowed = 0.1;
constexpr std::size_t kTargets = 16;
/// From this many rows the stored kernel is most of it.
constexpr std::size_t kLargeKernel = 3000;

/// A run, and the same as a question.
struct Setting {
  std::size_t n = 2000;
  std::size_t clients = 1;
  std::string topology = "centralized";
  KernelKind kernel = KernelKind::dense;
  bool with_points = false;
  std::size_t targets = 1;
  Precision precision = Precision::float64;
  std::string policy = "open";
  std::string mechanism = "marginal";
  Server server = Server::none;
};

Prediction predicted(const Setting& setting, bool one_process, double process_bytes) {
  SolveShape shape;
  shape.rows = shape.columns = setting.n;
  shape.targets = setting.targets;
  shape.clients = setting.clients;
  shape.dimension = setting.with_points ? 3 : 0;
  shape.options.topology = setting.topology;
  shape.options.kernel = setting.kernel;
  shape.options.precision = setting.precision;
  shape.options.policy = setting.policy;
  shape.options.mechanism = setting.mechanism;
  shape.options.server = setting.server;
  shape.options.method = "sinkhorn";
  shape.options.threads = 1;
  Profile profile = read_profile("office");
  profile.transport = one_process ? "threads" : "mpi";
  profile.process_bytes = process_bytes;
  return predict(profile, shape);
}

class PeakMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kHasShadowMemory) GTEST_SKIP() << "a sanitizer's own memory would be measured";
  }

  /// Costs that are not symmetric, row by row: this process stays small.
  void write_cost(std::size_t n) {
    const fs::path path = folder_.path() / ("C" + std::to_string(n) + ".npy");
    if (fs::exists(path)) return;
    NpyWriter writer(path, Shape{n, n});
    std::vector<double> row(n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double x = static_cast<double>(i) / static_cast<double>(n);
        row[j] = std::abs(x * x - static_cast<double>(j) / static_cast<double>(n));
      }
      writer.append(row);
    }
    writer.finish();
  }
  void write_points(std::size_t n) {
    for (const char* name : {"X", "Y"}) {
      std::vector<double> points(n * 3);
      for (std::size_t k = 0; k < points.size(); ++k) {
        points[k] = std::fmod(static_cast<double>(k) * 0.6180339887 + (name[0] == 'Y' ? 0.3 : 0.0), 1.0);
      }
      write_npy(folder_.path() / (name + std::to_string(n) + ".npy"), points, Shape{n, 3});
    }
  }
  void write_targets(std::size_t n) {
    std::vector<double> b(n * kTargets);
    const auto all = static_cast<double>(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t k = 0; k < kTargets; ++k) {
        // Linear in j, with total 1.
        const double slope = static_cast<double>(k) / kTargets;
        b[j * kTargets + k] = (1 + slope * ((2 * static_cast<double>(j) + 1) / all - 1)) / all;
      }
    }
    write_npy(folder_.path() / ("B" + std::to_string(n) + ".npy"), b, Shape{n, kTargets});
  }

  [[nodiscard]] std::string flags_of(const Setting& setting) {
    const std::string n = std::to_string(setting.n);
    std::string flags = "solve --epsilon 0.05 --quiet --backend cpu --threads 1 --output results --topology " +
                        setting.topology + " --kernel " + KernelName(setting.kernel).text();
    setting.with_points ? write_points(setting.n) : write_cost(setting.n);
    flags += setting.with_points ? " --points X" + n + ".npy Y" + n + ".npy" : " --cost C" + n + ".npy";
    if (setting.targets > 1) {
      write_targets(setting.n);
      flags += " --b B" + n + ".npy";
    }
    if (setting.precision == Precision::mixed) flags += " --precision mixed";
    if (setting.server == Server::sums) flags += " --server sums";
    if (setting.policy != "private") {
      return flags + " --method sinkhorn --tolerance 0 --max-iterations 3 --policy " + setting.policy;
    }
    const std::string clip = setting.mechanism == "scalings" ? " --clip 8 --rows-moved 2" : "";
    return flags + " --policy private --noise 1e-6 --releases 3 --mechanism " + setting.mechanism + clip;
  }

  /// The peaks in the summary of a run.
  [[nodiscard]] std::vector<double> measured(const Setting& setting, bool one_process) {
    const std::string flags = flags_of(setting);
    const RunOptions here{.folder = folder_.path()};
    const std::size_t ranks = setting.clients + (setting.server == Server::sums ? 1 : 0);
    const RunResult result = one_process
                                 ? run_binary(words_of(flags + " --clients " + std::to_string(setting.clients)), here)
                                 : run_ranks({{ranks, words_of(flags)}}, here);
    EXPECT_TRUE(result.status == 3 || result.status == 0) << result;
    std::vector<double> peaks;
    const auto summary = read_json(folder_.path() / "results" / "summary.json");
    for (const auto& client : summary.at("clients")) peaks.push_back(client.at("peak_memory_bytes").get<double>());
    return peaks;
  }

  /// What a process takes before it reads a problem, from a problem of next to nothing.
  [[nodiscard]] double process_bytes(std::size_t processes, bool one_process) {
    double& bytes = process_bytes_[{processes, one_process}];
    if (bytes > 0) return bytes;
    const Setting tiny{.n = 8, .clients = processes, .topology = processes > 1 ? "row-reduce" : "centralized"};
    const std::vector<double> peaks = measured(tiny, one_process);
    return bytes = *std::max_element(peaks.begin(), peaks.end());
  }

  void expect_at_most_predicted(const Setting& setting, bool one_process) {
    SCOPED_TRACE(flags_of(setting) + (one_process ? ", threads" : ", mpi"));
    const std::size_t processes = one_process ? 1 : setting.clients + (setting.server == Server::sums ? 1 : 0);
    const Prediction prediction = predicted(setting, one_process, process_bytes(processes, one_process));
    const std::vector<double> peaks = measured(setting, one_process);
    const auto expect_below = [&](double bound, double peak) {
      EXPECT_LE(peak, (1 + kAllowed) * bound) << bound / 1e6 << " MB predicted, " << peak / 1e6 << " measured";
      const double least = setting.n >= kLargeKernel ? 0.7 * bound : 0;
      EXPECT_GE(peak, least) << bound / 1e6 << " MB predicted, " << peak / 1e6 << " measured";
    };
    if (one_process) return expect_below(prediction.process_memory_bytes, peaks.front());
    const bool has_root = setting.topology == "star";
    if (has_root) expect_below(prediction.server_memory_bytes, peaks.front());
    expect_below(prediction.memory_bytes,
                 *std::max_element(peaks.begin() + (has_root && peaks.size() > 1 ? 1 : 0), peaks.end()));
  }

  TemporaryFolder folder_;

 private:
  std::map<std::pair<std::size_t, bool>, double> process_bytes_;
};

TEST_F(PeakMemoryTest, OneProcessTakesAtMostWhatIsPredicted) {
  using enum KernelKind;
  const std::vector<Setting> settings = {
      {.n = 3000},
      {.kernel = online},
      {.n = 3000, .precision = Precision::mixed},
      {.clients = 3, .topology = "all-to-all"},
      {.clients = 4, .topology = "star", .kernel = online, .with_points = true},
      {.clients = 4, .topology = "grid", .with_points = true},
      {.clients = 2, .topology = "row-reduce", .with_points = true, .targets = kTargets},
      {.clients = 3, .topology = "async", .kernel = online},
      {.clients = 3, .topology = "row-reduce", .with_points = true, .policy = "sums"},
      {.clients = 3, .topology = "all-to-all", .with_points = true, .policy = "private", .mechanism = "scalings"},
  };
  for (const Setting& setting : settings) expect_at_most_predicted(setting, true);
}

TEST_F(PeakMemoryTest, AProcessForEachClientTakesAtMostWhatIsPredicted) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  using enum KernelKind;
  const std::vector<Setting> settings = {
      {.clients = 3, .topology = "row-reduce"},
      {.clients = 3, .topology = "all-to-all", .with_points = true},
      {.clients = 3, .topology = "star"},
      {.clients = 3, .topology = "row-reduce", .with_points = true, .policy = "sums", .server = Server::sums},
      {.clients = 3, .topology = "row-reduce", .kernel = online, .with_points = true, .policy = "private"},
  };
  for (const Setting& setting : settings) expect_at_most_predicted(setting, false);
}

}  // namespace
}  // namespace fedsinkhorn::test
