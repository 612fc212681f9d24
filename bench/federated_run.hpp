// One solve across processes, of the program itself or of the paper's stack, and what it cost.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/temporary_folder.hpp"
#include "report.hpp"

namespace fedsinkhorn::bench {

inline constexpr double kFederatedEpsilon = 0.05;  // of the largest cost, which is 1

/// A folder of its own with the problem both sides read: points that look like learned features, transported onto
/// themselves with other masses. Gone with the object.
class ProblemOnDisk {
 public:
  explicit ProblemOnDisk(std::size_t n);

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

struct ClientFigures {
  double compute_seconds = 0;        ///< the whole solve
  double communication_seconds = 0;  ///< the whole solve, waiting for others included
  double kernel_bytes = 0;
  double peak_bytes = 0;
};

struct FederatedRun {
  double seconds = 0;  ///< an iteration, without the first, which is done in logs, and without what comes before
  std::vector<ClientFigures> clients;
  std::vector<double> f, g;
};

struct OurRun {
  std::string topology;
  std::string precision = "float64";
  int clients = 2;
  int iterations = 2;
  bool paper_grid = false;  ///< the grid as the paper's stack lays it: the longer side across
  int threads = 1;          ///< of each client
};

/// Whether clients can be processes here; if not, run_ours makes them threads of one.
[[nodiscard]] bool has_mpirun();

/// Runs the program, the error checked every iteration. Throws std::runtime_error when it fails.
[[nodiscard]] FederatedRun run_ours(const ProblemOnDisk& problem, const OurRun& run);

/// peers/paper_stack.py under mpirun.
class PaperStack {
 public:
  /// Nothing, and a note, where it cannot run.
  static std::optional<PaperStack> find(Report& report);

  struct Run {
    double seconds = 0;  ///< an iteration; the slowest process
    double compute = 0;  ///< thereof, in the busiest
    double communication = 0;
    std::vector<double> f, g;
  };
  [[nodiscard]] Run run(const ProblemOnDisk& problem, const std::string& topology, int clients, int iterations) const;

 private:
  PaperStack() = default;
};

}  // namespace fedsinkhorn::bench
