#include "topology/slice_group.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

/// q_I = K[I,:] v, u_I = a_I / q_I, gather u;  r_J = K[:,J]' u, v_J = b_J / r_J, gather v.
///
/// Each q_i is summed along its row in the same way at every client, and each r_j over the rows in order, so the bits
/// do not depend on the number of clients. Nothing is computed while slices are in flight: MPI moves large messages
/// only while both sides are in it, so a client that computed meanwhile kept the others waiting.
class AllToAll final : public Exchanges {
 public:
  explicit AllToAll(const TopologyContext& context)
      : norm_(context.options.norm),
        rows_(context.clients, sizes_of(context.problem.rows.slices)),
        columns_(context.clients, sizes_of(context.problem.columns.slices)) {}

  [[nodiscard]] Known rows() const override { return {rows_.whole_size(), rows_.own_slice()}; }
  [[nodiscard]] Known columns() const override { return {columns_.whole_size(), columns_.own_slice()}; }

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override {
    columns_.gather(kind, targets, own, known, norm_, notes);
  }
  void rows_in(Payload kind, std::size_t targets, const double* own, double* known) override {
    rows_.gather(kind, targets, own, known);
  }
  void rows_out(Payload /*kind*/, std::size_t targets, const double* part, double* own) override {
    std::copy_n(part, targets * rows_.own_size(), own);
  }
  void columns_out(Payload /*kind*/, std::size_t targets, const double* part, const double* /*v*/,
                   double* own) override {
    std::copy_n(part, targets * columns_.own_size(), own);
  }
  void columns_of_rows_out(Payload kind, const double* part, double* own) override { columns_.sum(kind, 1, part, own); }
  /// u, and v when it is shared.
  [[nodiscard]] std::uint64_t each_round() const override { return rows_.members() > 1 ? 2 : 0; }

 private:
  const Norm norm_;
  SliceGroup rows_, columns_;
};

}  // namespace

Layout all_to_all_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  Layout layout = own_rows(client, clients);
  layout.whole_columns = true;
  return layout;
}

Round all_to_all_round(const RoundShape& shape) {
  Round round;
  round.exchanges.push_back(gather_exchange(shape.rows, shape.client, shape.targets));
  add_gather(round.exchanges, shape.columns, shape.client, shape.targets, shape.targets * shape.note_numbers);
  round.work = work_of(shape, all_to_all_layout(shape.client, shape.clients(), {}), false);
  return round;
}

std::unique_ptr<Exchanges> all_to_all_exchanges(const TopologyContext& context) {
  return std::make_unique<AllToAll>(context);
}

}  // namespace fedsinkhorn
