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
  [[nodiscard]] Sent sent_each_round(std::size_t targets) const override;

 private:
  void copy_own(std::size_t targets, const double* known, double* own) const;
  void add_up_exactly(Payload kind, std::span<const std::size_t> positions, std::span<double> sums);

  SecureSums& sums_;
  const std::size_t clients_;
  const std::size_t rank_;
  const bool has_server_;
  const std::size_t own_rows_;
  const std::size_t columns_;
  const Range own_;
  const double mass_;
};

/// Words of a note of so many sums and maxima.
[[nodiscard]] std::size_t words_in_note(std::size_t clients, std::size_t sums, std::size_t maxima);

}  // namespace fedsinkhorn
