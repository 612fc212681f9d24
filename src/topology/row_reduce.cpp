#include "topology/group_exchanges.hpp"
#include "topology/sum_exchanges.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {

Layout row_reduce_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  return own_rows(client, clients);
}

std::unique_ptr<Exchanges> row_reduce_exchanges(const TopologyContext& context) {
  if (context.clients.sums() != nullptr) return std::make_unique<SumExchanges>(context);
  const Layout& layout = context.problem.layout;
  return std::make_unique<GroupExchanges>(context, std::vector<std::size_t>{context.problem.client},
                                          layout.column_clients);
}

}  // namespace fedsinkhorn
