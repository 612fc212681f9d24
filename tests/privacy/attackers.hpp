// What a curious client can work out about another one, the victim, from messages that it has sent or received itself.
//
// Curious clients follow the protocol. They know the program, the options and what set-up tells everybody. Every attack
// has two steps: reading numbers out of messages, and algebra on these numbers. A policy that writes numbers in another
// way, or keeps some of them public by other means, changes only the first. Fed with messages that mean something else,
// an attack returns nothing, or a bad estimate; it does not fail.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "support/transcript.hpp"

namespace fedsinkhorn::testing {

/// From bytes to numbers.
using Reading = std::vector<double> (*)(std::span<const std::byte>);
/// Numbers as they are sent in plain; empty if the length is no multiple of 8 bytes.
[[nodiscard]] std::vector<double> doubles_in(std::span<const std::byte> bytes);
/// Signed fixed-point numbers of 16 bytes with the unit 2^-80; empty if the length is no multiple of 16 bytes.
[[nodiscard]] std::vector<double> ring_numbers_in(std::span<const std::byte> bytes);

/// What the curious client knows before it looks at messages.
struct Knowledge {
  std::size_t curious = 0;           ///< its rank
  std::size_t victim = 1;            ///< the rank of the other one
  double epsilon = 0;                ///< all clients have the same
  std::vector<std::size_t> rows;     ///< of each client: how many it owns
  std::vector<std::size_t> columns;  ///< of each client
  Reading read = doubles_in;         ///< how the numbers in messages are written
};

/// One vector per round.
using Rounds = std::vector<std::vector<double>>;

// ---------------------------------------------------------------------------------------------------------------------
// Row-reduce: the victim sends its summand K[I,:]' u_I to the owners of the columns.

/// The summands of the curious client's columns, in order.
[[nodiscard]] Rounds summands_received(const Knowledge& knowledge, const Transcript& messages);
/// The column scalings v that the curious client has sent and that rounds started from: summands[t] follows from
/// scalings[t]. There may be more summands, which measure the plan at the end.
[[nodiscard]] Rounds scalings_sent(const Knowledge& knowledge, const Transcript& messages);

/// The summand of one row is a multiple of exp(-C_i / epsilon) if psi = 0, as in the first rounds. Returns the costs
/// less their mean.
[[nodiscard]] std::optional<std::vector<double>> costs_of_one_row(const Knowledge& knowledge,
                                                                  std::span<const double> summand);

struct TwoRows {
  std::array<std::vector<double>, 2> costs;  ///< less their means
  std::array<double, 2> masses{};
};
/// Two rows, in any order, from plain rounds: summands[t] = K' u and u = a / (K scalings[t]). The curious client owns
/// all columns.
[[nodiscard]] std::optional<TwoRows> two_rows(const Knowledge& knowledge, const Rounds& scalings,
                                              const Rounds& summands);

// ---------------------------------------------------------------------------------------------------------------------
// All-to-all: u, v and the absorbed potentials go to everybody.

/// Of two clients in plain rounds with one kernel. Slices of both clients are joined, the curious client's first.
struct Published {
  std::vector<double> log_a;     ///< the victim's
  std::vector<double> phi, psi;  ///< absorbed
  Rounds v;                      ///< before each round
  Rounds u;                      ///< u_I = a_I / (K v)_I
};
[[nodiscard]] std::optional<Published> published_rounds(const Knowledge& knowledge, const Transcript& messages);

/// The block of costs that only the victim holds, its rows x its columns. known: its rows x the curious client's
/// columns, which that client holds as well.
[[nodiscard]] std::optional<std::vector<double>> private_block(const Knowledge& knowledge, const Published& published,
                                                               std::span<const double> known);

struct Entry {
  std::size_t row = 0;
  std::size_t column = 0;
  friend bool operator==(const Entry&, const Entry&) = default;
};
/// The one number in the victim's rows that is not known, from the fingerprint that the victim sends when clients check
/// whether the costs are symmetric. whole: n x n, in the order of the clients; unknown: where the number stands, once,
/// or twice if the costs are symmetric.
[[nodiscard]] std::optional<double> entry_from_fingerprint(const Knowledge& knowledge, const Transcript& messages,
                                                           std::span<const double> whole,
                                                           std::span<const Entry> unknown);

// ---------------------------------------------------------------------------------------------------------------------
// Numbers that are sent as they are.

/// How many messages have these eight bytes somewhere in them.
[[nodiscard]] std::size_t times_verbatim(const Transcript& messages, double value);
/// The number in these messages that is nearest to the value.
[[nodiscard]] std::optional<double> nearest(const Knowledge& knowledge, const Transcript& messages, double value);
/// sum a log(u / a) over the victim's rows, which it adds to its notes in accelerated rounds. The victim has no
/// columns, whose part would be added.
[[nodiscard]] std::vector<double> row_sums_in_notes(const Knowledge& knowledge, const Transcript& messages);

}  // namespace fedsinkhorn::testing
