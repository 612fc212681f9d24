// Solves of synthetic problems, by clients of this process or by processes of their own, and what they report.
#pragma once

#include <cstddef>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "report/run_record.hpp"
#include "study.hpp"
#include "synthetic/generate.hpp"

namespace fedsinkhorn::experiments {

/// Points whose largest squared distance is 1. The view points into it.
class PointsProblem {
 public:
  PointsProblem(const SyntheticSpec& spec, double epsilon) : drawn_(generate(spec)), epsilon_(epsilon) {}

  [[nodiscard]] Problem view() const;
  [[nodiscard]] const SyntheticProblem& drawn() const { return drawn_; }
  [[nodiscard]] double epsilon() const { return epsilon_; }

 private:
  SyntheticProblem drawn_;
  double epsilon_;
};

/// n points in the unit square, random masses: the problem of most studies.
[[nodiscard]] PointsProblem square_problem(std::size_t n, std::uint64_t seed, double epsilon = 0.05);

/// One thread per client, plain Sinkhorn on the CPU, errors in L2: what the paper measures.
[[nodiscard]] Options paper_options(const std::string& topology, std::size_t clients);

/// What the solve has reported: summary.json and trace.csv. transport: "threads", clients are threads of this process;
/// "mpi", they are started by mpirun. Throws std::runtime_error if that fails; InputError, as solve().
[[nodiscard]] report::RunRecord record_of_solve(const PointsProblem& problem, const Options& options,
                                                const std::string& transport);
/// Of a solve in this process.
[[nodiscard]] report::RunRecord record_of(const Result& result, const Options& options, double epsilon);

/// A number of every client, such as "compute_seconds".
[[nodiscard]] Json of_clients(const report::RunRecord& run, const char* key);
/// The largest of them.
[[nodiscard]] double largest_of_clients(const report::RunRecord& run, const char* key);

/// Points (x, y) of a trace, at most `most` of them, the last one always. Seconds count from the first point.
[[nodiscard]] Json curve_of(const report::RunRecord& run, double report::TracePoint::*x, double report::TracePoint::*y,
                            std::size_t most = 100);

/// Seconds per iteration, of a run whose errors are checked in each, without the first two, which write kernels.
/// Infinite if there are no others.
[[nodiscard]] double seconds_per_iteration(const report::RunRecord& run);

/// 1 if it has converged, else 0: for shares.
[[nodiscard]] int is_converged(const report::RunRecord& run);

}  // namespace fedsinkhorn::experiments
