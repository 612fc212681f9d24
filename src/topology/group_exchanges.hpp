// Each client holds one block of the kernel; clients add up their results. The blocks form a grid: blocks in a grid row
// share their rows of K, blocks in a grid column share their columns.
//
//   q_I: the clients of a grid row add up their K v          u_I = a_I / q_I, shared in the grid row
//   r_J: the clients of a grid column add up their K' u      v_J = b_J / r_J, shared in the grid column
//
// With a single grid column every client has whole rows: q needs no messages, and one pass over K gives both q and the
// client's summand of K' u. That is row-reduce. A single block is the centralized solver.
#pragma once

#include <memory>
#include <vector>

#include "topology/exchanges.hpp"
#include "topology/slice_group.hpp"

namespace fedsinkhorn {

class GroupExchanges final : public Exchanges {
 public:
  /// row_members, column_members: ranks of the clients in this client's grid row and grid column, in order.
  GroupExchanges(const TopologyContext& context, const std::vector<std::size_t>& row_members,
                 const std::vector<std::size_t>& column_members)
      : norm_(context.options.norm),
        row_communicator_(make_group(context.clients.communicator(), row_members, 1)),
        column_communicator_(make_group(context.clients.communicator(), column_members, 2)),
        row_group_(Collectives(*row_communicator_), sizes_of(context.problem.rows.slices, row_members)),
        column_group_(Collectives(*column_communicator_), sizes_of(context.problem.columns.slices, column_members)) {}

  [[nodiscard]] Known rows() const override { return {row_group_.whole_size(), row_group_.own_slice()}; }
  [[nodiscard]] Known columns() const override { return {column_group_.whole_size(), column_group_.own_slice()}; }

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override {
    column_group_.gather(kind, targets, own, known, norm_, notes);
    row_group_.share_notes(norm_, notes);
  }
  void rows_in(Payload kind, std::size_t targets, const double* own, double* known) override {
    row_group_.gather(kind, targets, own, known);
  }
  void rows_out(Payload kind, std::size_t targets, const double* part, double* own) override {
    row_group_.sum(kind, targets, part, own);
  }
  void columns_out(Payload kind, std::size_t targets, const double* part, const double* /*v*/, double* own) override {
    column_group_.sum(kind, targets, part, own);
  }
  [[nodiscard]] std::optional<std::vector<double>> row_summands(Payload kind, std::size_t targets,
                                                                const double* part) override {
    return row_group_.summands(kind, targets, part);
  }
  [[nodiscard]] std::optional<std::vector<double>> column_summands(Payload kind, std::size_t targets,
                                                                   const double* part) override {
    return column_group_.summands(kind, targets, part);
  }

  [[nodiscard]] bool rows_stay() const override { return row_group_.members() == 1; }
  [[nodiscard]] bool holds_whole_rows() const override { return rows_stay(); }
  [[nodiscard]] bool takes_local_steps() const override { return rows_stay(); }
  [[nodiscard]] std::uint64_t each_round() const override {
    return (row_group_.members() > 1 ? 1 : 0) + (column_group_.members() > 1 ? 1 : 0);
  }

 private:
  const Norm norm_;
  std::unique_ptr<Communicator> row_communicator_, column_communicator_;
  SliceGroup row_group_, column_group_;
};

}  // namespace fedsinkhorn
