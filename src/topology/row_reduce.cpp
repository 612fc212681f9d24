#include "topology/group_exchanges.hpp"
#include "topology/sum_exchanges.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

Layout row_reduce_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  return own_rows(client, clients);
}

Round row_reduce_round(const RoundShape& shape) {
  Round round;
  if (shape.adds_securely && shape.clients() > 1) {
    round.exchanges = exchanges_of_sums(shape);
  } else {
    round.exchanges.push_back(sum_exchange(shape.columns, shape.client, shape.targets));
    add_gather(round.exchanges, shape.columns, shape.client, shape.targets, shape.targets * shape.note_numbers);
    round.exchanges.back().exchange = Exchange::regather;
  }
  round.work = work_of(shape, row_reduce_layout(shape.client, shape.clients(), {}), true);
  return round;
}

std::unique_ptr<Exchanges> row_reduce_exchanges(const TopologyContext& context) {
  if (context.clients.sums() != nullptr) return std::make_unique<SumExchanges>(context);
  const Layout& layout = context.problem.layout;
  return std::make_unique<GroupExchanges>(context, std::vector<std::size_t>{context.problem.client},
                                          layout.column_clients);
}

}  // namespace fedsinkhorn
