// How slices travel between clients: all that tells one topology from another.
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
#include "topology/sent.hpp"

namespace fedsinkhorn {

/// A client owns some rows and some columns. The part of the kernel that it holds (see Layout) takes the v of its
/// columns and the u of its rows, which others may own, and gives products, which may be meant for others or be
/// summands only.
///
///   columns in   own v -> v as known here               rows out      K v, of the rows of the part     -> own q
///   rows in      own u -> u as known here               columns out   K' u, of the columns of the part -> own r
///
/// Vectors of several targets lie one target after the other on both sides. All verbs are collective: every client
/// calls the same ones in the same order, for the same kind of payload.
class Exchanges {
 public:
  virtual ~Exchanges() = default;
  Exchanges() = default;
  Exchanges(const Exchanges&) = delete;
  Exchanges& operator=(const Exchanges&) = delete;

  /// How many entries of a vector are known here after it has come in, and which of them are this client's own.
  struct Known {
    std::size_t size = 0;
    Range own;
  };
  [[nodiscard]] virtual Known rows() const = 0;
  [[nodiscard]] virtual Known columns() const = 0;

  /// With the clients' notes, one a target or none: on return they are combined.
  virtual void columns_in(Payload kind, std::size_t targets, const double* own, double* known,
                          std::span<Note> notes) = 0;
  virtual void rows_in(Payload kind, std::size_t targets, const double* own, double* known) = 0;
  virtual void rows_out(Payload kind, std::size_t targets, const double* part, double* own) = 0;
  virtual void columns_out(Payload kind, std::size_t targets, const double* part, double* own) = 0;

  /// Where what comes out is a sum over clients: the summands, one client after the other. Nothing where the product is
  /// whole as it is formed.
  [[nodiscard]] virtual std::optional<std::vector<double>> row_summands(Payload /*kind*/, std::size_t /*targets*/,
                                                                        const double* /*part*/) {
    return std::nullopt;
  }
  [[nodiscard]] virtual std::optional<std::vector<double>> column_summands(Payload /*kind*/, std::size_t /*targets*/,
                                                                           const double* /*part*/) {
    return std::nullopt;
  }
  /// As columns_out, of one target, for sums over the rows of the part that rows_out takes. Another part may serve
  /// columns_out (Layout::whole_columns).
  virtual void columns_of_rows_out(Payload kind, const double* part, double* own) { columns_out(kind, 1, part, own); }

  /// Whether rows_out hands over what it is given, so that u = a / q can be formed where K v is.
  [[nodiscard]] virtual bool rows_stay() const { return false; }
  /// Whether a client can take steps of its own, without the others.
  [[nodiscard]] virtual bool takes_local_steps() const { return true; }
  /// Times slices of others are waited for in a round.
  [[nodiscard]] virtual std::uint64_t each_round() const = 0;
  /// What this client sends in a round of as many targets: v and the notes come in, q goes out, u comes in, r goes out.
  /// The notes are as small as they can be (kNoteNumbers), and there are up to kManyClients clients. What more clients
  /// do about small messages is in comm/collectives.hpp. The tables of docs/clients.md say the same.
  [[nodiscard]] virtual Sent sent_each_round(std::size_t targets) const = 0;
};

/// Everything a topology is made of. All of it outlives the topology.
struct TopologyContext {
  const CheckedProblem& problem;
  const Options& options;
  const Collectives& clients;
  BlockSettings block;
};

}  // namespace fedsinkhorn
