// The entry points of the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Solves the problem with Options::clients clients in this process. Throws InputError (naming the culprit) for data
/// that cannot be solved as given and for a problem that does not fit into memory, ClientLost if a client did not
/// answer in time, and Interrupted (see Options::interrupt). Failure to converge is reported in Result::status. Safe to
/// call from several threads at once. Does not affect the rest of the process: the library has its own copy of
/// OpenBLAS.
[[nodiscard]] Result solve(const Problem& problem, const Options& options = {});

/// The same with each client's part given separately (see Parts): one problem per client, all in this process.
[[nodiscard]] Result solve(std::span<const Problem> clients, const Options& options = {});

/// This process as one of several clients of a solve. Create it before the first solve; its destructor takes leave of
/// the others. Every client makes the same calls, from one thread. Throws InputError if there is no such transport, if
/// it runs all clients in one process (Options::transport is for those), or if the library was built without it.
class Session {
 public:
  /// transport: "mpi". timeout: seconds to wait for any other client. interrupt: as Options::interrupt, while it waits
  /// for the others to start; where MPI is running already. Then throws Interrupted.
  explicit Session(const std::string& transport, double timeout = 60, const std::atomic<bool>* interrupt = nullptr);
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] std::size_t rank() const;
  [[nodiscard]] std::size_t size() const;

  struct State;
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// This process as one of the clients that mpirun started. It starts MPI and shuts it down, which a process can do
/// once; where someone else has started MPI (with MPI_THREAD_FUNNELED at least), shutting it down is left to them.
class MpiSession : public Session {
 public:
  explicit MpiSession(double timeout = 60, const std::atomic<bool>* interrupt = nullptr)
      : Session("mpi", timeout, interrupt) {}
};

/// Solves together with the other clients, which must call it too; Options::transport is ignored. What is not among
/// Problem::parts must be the same at all clients, which compare digests of it. Throws the
/// same InputError on all clients, ClientLost if one no longer answers, and ClientFailed if one gave up; the session
/// cannot be used after the last two.
[[nodiscard]] Result solve(const Problem& problem, const Options& options, Session& session);

/// Takes part in a solve, or a risk, of all clients without a problem of its own, so that they do not wait for it but
/// throw an InputError with this line, or one without a reason where Options::policy keeps reasons apart. Throws an
/// exception with this line, too. With Options::server the others throw ClientFailed, and the session cannot be used
/// afterwards. No other options matter.
[[noreturn]] void decline(const std::string& line, const Options& options, Session& session);

/// This process as the server of the others' solves with Options::server sums: it must be the last one. Returns when
/// the others' sessions end. It gets no data and no results.
void serve(Session& session);

/// Peak memory of solve() for this problem, in bytes, without the inputs. Backend cuda: memory of the host, which does
/// not hold the kernel.
[[nodiscard]] std::uint64_t predicted_bytes(const Problem& problem, const Options& options = {});

/// Room for rows of a plan in the memory of a CUDA device, row-major. No work that uses it may be queued.
struct DeviceRows {
  std::variant<double*, float*> data;
  std::size_t size = 0;  ///< numbers
  int device = 0;
};

/// The plan of a result, computed row by row, never stored as a whole: P_ij = exp((f_i + g_j - C_ij) / epsilon), from
/// logarithms, so that no entry overflows. Both arguments must outlive it. A result with only some rows of f, such as
/// an MPI rank's, gives those rows of the plan. The problem is then the whole or, with Parts::rows, the part with just
/// these rows. It must have the points of all columns. A result of `backend` cuda whose costs are from points, or lie
/// on a device, is computed with on the device.
class Plan {
 public:
  /// threads as in Options: 0 means all cores.
  Plan(const Problem& problem, const Result& result, int threads = 0);
  Plan(const Problem&, Result&&, int = 0) = delete;  // the result would not outlive it
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  /// Writes rows [first, first + count) of the whole plan for one target into out, row-major, count x columns. Throws
  /// InputError if there are no such rows or out is too small. May be called from several threads.
  void rows(std::size_t first, std::size_t count, std::size_t target, std::span<double> out) const;

  /// The same into the memory of the device that the plan is computed on; see DeviceRows.
  void rows(std::size_t first, std::size_t count, std::size_t target, const DeviceRows& out) const;

  // Products with the plan of one target. The plan is computed block by block and never stored. `out` is row-major, one
  // row for each row of the result. Throws InputError if shapes do not fit. May be called from several threads; the
  // bits do not depend on the number of threads.

  /// out = P values. values: columns x k; out: k numbers for each row of the plan that the result has.
  void apply(MatrixView<double> values, std::size_t target, std::span<double> out) const;
  /// out = P' values. values: one row for each row that the result has; out: columns x k.
  void apply_transposed(MatrixView<double> values, std::size_t target, std::span<double> out) const;
  /// The mean of values under each row of the plan: P values / P 1. NaN for rows without mass.
  void barycentric(MatrixView<double> values, std::size_t target, std::span<double> out) const;

  /// The number of the device that computes; nothing: the host does.
  [[nodiscard]] std::optional<int> device() const;

  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Other rows under the potential g of a result, such as new points: each has the same mass, in total 1, and f follows
/// from g by one half-step. problem: the new rows, with the columns and epsilon of the solve; its masses do not matter.
/// The result has potentials alone, for a Plan. Throws InputError if the columns do not fit.
[[nodiscard]] Result extend_rows(const Problem& problem, const Result& result, int threads = 0);

}  // namespace fedsinkhorn
