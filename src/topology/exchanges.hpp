// How slices travel between clients: what distinguishes one topology from another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/payload.hpp"
#include "core/range.hpp"
#include "kernel/block.hpp"
#include "problem/checked_problem.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {

/// A client owns some rows and some columns. Its part of the kernel (see Layout) needs the v of its columns and the u
/// of its rows, which other clients may own. It gives products, which may belong to other clients or be only summands.
///
///   columns in   own v -> v as known here               rows out      K v, of the rows of the part     -> own q
///   rows in      own u -> u as known here               columns out   K' u, of the columns of the part -> own r
///
/// Vectors of several targets are stored one target after the other. All verbs are collective: every client calls the
/// same ones in the same order, with the same kind of payload.
class Exchanges {
 public:
  virtual ~Exchanges() = default;
  Exchanges() = default;
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  /// Number of entries of a vector known here after it has come in, and which of them are this client's own.
  struct Known {
    std::size_t size = 0;
    Range own;
  };
  [[nodiscard]] virtual Known rows() const = 0;
  [[nodiscard]] virtual Known columns() const = 0;

  /// Also shares the clients' notes, one per target or none. On return they are combined.
  virtual void columns_in(Payload kind, std::size_t targets, const double* own, double* known,
                          std::span<Note> notes) = 0;
  virtual void rows_in(Payload kind, std::size_t targets, const double* own, double* known) = 0;
  virtual void rows_out(Payload kind, std::size_t targets, const double* part, double* own) = 0;
  /// v: what the products will be multiplied by, as known here, so that v_j r_j is a share of the mass; null if they
  /// will not. It may help to send them.
  virtual void columns_out(Payload kind, std::size_t targets, const double* part, const double* v, double* own) = 0;
  /// The same for one target, if the products are given by their logarithms.
  virtual void column_logs_out(const double* part, double* own);
  void row_logs_out(const double* part, double* own);

  /// If the result is a sum over clients: the summands, one client after the other. Nothing if the product is already
  /// complete. A topology whose rows stay must give those of the columns if it takes local steps.
  [[nodiscard]] virtual std::optional<std::vector<double>> row_summands(Payload /*kind*/, std::size_t /*targets*/,
                                                                        const double* /*part*/) {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::optional<std::vector<double>> column_summands(Payload /*kind*/, std::size_t /*targets*/,
                                                                           const double* /*part*/) {
    return std::nullopt;
  }
  /// Like columns_out, for one target and sums over the rows of the part that rows_out takes. columns_out may use a
  /// different part (Layout::whole_columns).
  virtual void columns_of_rows_out(Payload kind, const double* part, double* own) {
    columns_out(kind, 1, part, nullptr, own);
  }

  /// Whether rows_out returns its input, so that u = a / q can be formed where K v is.
  [[nodiscard]] virtual bool rows_stay() const { return false; }
  /// Whether each row of the kernel is held whole by one client; the same at all clients.
  [[nodiscard]] virtual bool holds_whole_rows() const { return true; }
  /// Whether a client can take steps without the others.
  [[nodiscard]] virtual bool takes_local_steps() const { return true; }
  /// How often a round waits for slices of others.
  [[nodiscard]] virtual std::uint64_t each_round() const = 0;
};

/// What a topology is built from. All of it must outlive the topology.
struct TopologyContext {
  const CheckedProblem& problem;
  const Options& options;
  const Collectives& clients;
  BlockSettings block;
};

}  // namespace fedsinkhorn
