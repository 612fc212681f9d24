// Row-reduce where nothing leaves but masked sums (policy sums).
//
//   r: the clients' summands of K' u, added up securely; every client gets the sum for all columns.
//   v: known to all clients, as g is in the end. Its owners say it, but masked: nobody else can read it.
//   Notes: errors and products are added up, flags are united, maxima are of values that all clients know.
//
// Sent by each client are vectors of words of 16 bytes (comm/secure_sums.hpp): m N in a round for r, and m N / 2 for v
// with w words for the notes, for m columns and N targets.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "comm/ring.hpp"
#include "topology/exchanges.hpp"
#include "topology/round.hpp"

namespace fedsinkhorn {

class SecureSums;

class SumExchanges final : public Exchanges {
 public:
  explicit SumExchanges(const TopologyContext& context);

  [[nodiscard]] Known rows() const override { return {own_rows_, {0, own_rows_}}; }
  [[nodiscard]] Known columns() const override { return {columns_, own_}; }

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override;
  void rows_in(Payload kind, std::size_t targets, const double* own, double* known) override;
  void rows_out(Payload kind, std::size_t targets, const double* part, double* own) override;
  void columns_out(Payload kind, std::size_t targets, const double* part, const double* v, double* own) override;
  void column_logs_out(const double* part, double* own) override;
  void columns_of_rows_out(Payload kind, const double* part, double* own) override;

  [[nodiscard]] bool rows_stay() const override { return true; }
  [[nodiscard]] bool takes_local_steps() const override { return false; }
  [[nodiscard]] std::uint64_t each_round() const override { return clients_ > 1 ? 1 : 0; }

 private:
  void copy_own(std::size_t targets, const double* known, double* own) const;
  void add_up_exactly(Payload kind, std::span<const std::size_t> positions, std::span<double> sums);

  SecureSums& sums_;
  const std::size_t clients_;
  const std::size_t rank_;
  const std::size_t own_rows_;
  const std::size_t columns_;
  const Range own_;
  const double mass_;
};

/// A client's summands of r, as they are added up. v_j r_j is a share of the mass: its sum over all columns is the
/// mass, since u = a / K v. Multiplied by the power of two in v_j / mass, r_j becomes a number below 2. If one does not
/// fit, or there is no v, all words are random: a sum over the other clients alone would tell more than one over all.
/// The last word is a flag that says so.
struct Shares {
  Shares(std::span<const double> part, const double* v, double mass);

  std::vector<Word> words;
  std::vector<int> exponents;
};

/// What its clients exchange in a round.
[[nodiscard]] std::vector<RoundExchange> exchanges_of_sums(const RoundShape& shape);

/// Words of a note of so many sums and maxima: flags, whether a number does not fit (then the numbers are random),
/// numbers, and a place for every client's maxima.
[[nodiscard]] std::size_t words_in_note(std::size_t clients, std::size_t sums, std::size_t maxima);
/// That all clients see of it and did not know (see SecureSums).
[[nodiscard]] std::uint64_t numbers_shown_by(const Note& note);
/// words: zeros.
void write_note(const Note& note, std::size_t rank, std::span<Word> words);

}  // namespace fedsinkhorn
