#include "solve/joined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fedsinkhorn/error.hpp"
#include "solve/private_solve.hpp"

namespace fedsinkhorn {

Result joined(std::vector<std::optional<Result>>& results) {
  Result result = std::move(*results[0]);
  const bool has_own_rows = result.clients.size() < results.size();  // else client 0 has gathered them
  for (std::size_t k = 1; k < results.size(); ++k) {
    if (!results[k] && has_own_rows) throw ClientLost(fmt::format("client {} was lost, and its rows with it", k), {k});
    if (!results[k]) continue;
    const Result& own = *results[k];
    if (!has_own_rows) {
      if (k < result.clients.size()) result.clients[k].left = own.clients.front().left;
      continue;
    }
    result.f.insert(result.f.end(), own.f.begin(), own.f.end());
    result.f_rest.insert(result.f_rest.end(), own.f_rest.begin(), own.f_rest.end());
    result.clients.insert(result.clients.end(), own.clients.begin(), own.clients.end());
    result.kernel_bytes += own.kernel_bytes;
    result.exchanges = std::max(result.exchanges, own.exchanges);
  }
  add_up_errors(results, result);
  return result;
}

}  // namespace fedsinkhorn
