// The entry points of the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn {

/// Solves the problem, on Options::clients clients in this process. Throws InputError for data that cannot be solved as
/// given (naming the culprit) and for a problem that does not fit into memory; anything else, non-convergence included,
/// is in Result::status. Throws ClientLost if a client did not answer in time. Safe to call from several threads at
/// once. Changes nothing for the rest of the process: the OpenBLAS inside is a copy of this library's own.
[[nodiscard]] Result solve(const Problem& problem, const Options& options = {});

/// The same with every client's part given by itself (see Parts): one problem a client, all in this process.
[[nodiscard]] Result solve(std::span<const Problem> clients, const Options& options = {});

/// This process as one client of a solve that others take part in. Made before the first solve; its end takes leave of
/// the others. Every client does the same calls, from one thread. Throws InputError where there is no such transport,
/// where it runs all clients in one process (Options::transport is for those), or where it is not in this build.
class Session {
 public:
  /// transport: "mpi". timeout: seconds to wait for another client, whoever is asked.
  explicit Session(const std::string& transport, double timeout = 60);
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

/// One among those mpirun started. Starts MPI and ends it, which can be done once in a process; where somebody else has
/// started it (with MPI_THREAD_FUNNELED at least), it is left to them to end it.
class MpiSession : public Session {
 public:
  explicit MpiSession(double timeout = 60) : Session("mpi", timeout) {}
};

/// Solves with the other clients, who call it too; Options::transport is not looked at. Besides InputError, the same on
/// all of them: ClientLost when one no longer answers, ClientFailed when one gave up; the session is of no use after
/// that.
[[nodiscard]] Result solve(const Problem& problem, const Options& options, Session& session);

/// Bytes solve() would hold at its peak for this problem, inputs not counted. Backend cuda: on the host; the kernel is
/// not there.
[[nodiscard]] std::uint64_t predicted_bytes(const Problem& problem, const Options& options = {});

/// The plan of a result, row by row, never stored as a whole: P_ij = exp((f_i + g_j - C_ij) / epsilon), computed from
/// logarithms, so that no entry overflows. Both arguments must outlive it.
/// A result that has some rows of f alone, an MPI rank's, gives those rows of the plan; the problem is the whole or,
/// with Parts::rows, the part with just these rows. Points of columns must be all there.
class Plan {
 public:
  /// threads as in Options: 0 means all cores.
  Plan(const Problem& problem, const Result& result, int threads = 0);
  Plan(const Problem&, Result&&, int = 0) = delete;  // it would refer to a result that is gone
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  /// Writes rows [first, first + count) of all for one target into out, row-major, count x columns. Throws InputError
  /// if there are no such rows or out is too small. May be called from several threads.
  void rows(std::size_t first, std::size_t count, std::size_t target, std::span<double> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fedsinkhorn
