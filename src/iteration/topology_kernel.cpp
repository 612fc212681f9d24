#include "iteration/topology_kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "comm/from_peer.hpp"
#include "comm/secure_sums.hpp"

namespace fedsinkhorn {
namespace {

/// The sum of two sorted lists.
std::vector<SparseEntry> merged(const std::vector<SparseEntry>& x, const std::vector<SparseEntry>& y) {
  std::vector<SparseEntry> sum;
  sum.reserve(x.size() + y.size());
  auto at = y.begin();
  for (const SparseEntry& entry : x) {
    while (at != y.end() && at->position < entry.position) sum.push_back(*at++);
    sum.push_back(entry);
    if (at != y.end() && at->position == entry.position) sum.back().value += (at++)->value;
  }
  sum.insert(sum.end(), at, y.end());
  return sum;
}

}  // namespace

// Slices as given: which rows have mass is not told to others.
std::size_t TopologyKernel::fewest_of_others(std::span<const Range> slices) {
  std::size_t all = 0;
  std::size_t most = 0;
  for (const Range& slice : slices) {
    all += slice.size();
    most = std::max(most, slice.size());
  }
  return all - most;
}

// Two matrices K' D K at different v give every client the rows of all others.
void TopologyKernel::count_matrix(std::size_t size) {
  if (slices_.empty() || size <= slices_.back().last) return;
  if (!may_add_up_matrices_) throw std::logic_error("a secure sum of more numbers than there are columns");
  ++matrices_added_up_;
}

void TopologyKernel::add_up(std::span<double> values) {
  count_matrix(values.size());
  const Collectives clients = topology_.clients().of(Payload::sum);
  if (clients.sums() == nullptr) return clients.allreduce(values);
  std::vector<ExactSum> sums(values.size());
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k].value = values[k];
  add_up_of_all(clients, sums);
  for (std::size_t k = 0; k < sums.size(); ++k) values[k] = sums[k].total();
}

void TopologyKernel::add_up_shares(std::span<double> values) {
  count_matrix(values.size());
  const Collectives clients = topology_.clients().of(Payload::sum);
  if (clients.sums() == nullptr) return clients.allreduce(values);
  clients.sums()->add_up(Payload::sum, kShare, values);
}

std::vector<double> TopologyKernel::gather(std::vector<double> own, std::size_t total) {
  const Collectives clients = topology_.clients().of(Payload::sum);
  if (clients.size() == 1) return own;
  if (clients.sums() != nullptr) throw std::logic_error("vectors of single clients are not gathered with secure sums");
  const auto length = static_cast<double>(own.size());
  const std::vector<double> lengths = clients.allgather_numbers({&length, 1});
  std::vector<double> whole(total);
  std::vector<std::size_t> counts;
  std::size_t left = total;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    const FromPeer peer = from_peer(clients, k);
    counts.push_back(peer.count(lengths[k], left, "a number of values"));
    if (k == clients.rank()) std::ranges::copy(own, whole.end() - static_cast<std::ptrdiff_t>(left));
    left -= counts.back();
    if (k + 1 == clients.size() && left > 0) peer.refuse("too few values");
  }
  clients.allgather(whole, counts);
  return whole;
}

// All positions of a client, then all its values. Added up in rank order.
std::vector<SparseEntry> TopologyKernel::add_up_sparse(std::vector<SparseEntry> own, std::uint64_t positions) {
  const Collectives clients = topology_.clients().of(Payload::sum);
  if (clients.size() == 1) return own;
  if (clients.sums() != nullptr) throw std::logic_error("positions of entries are not added up securely");
  const auto length = static_cast<double>(own.size());
  const std::vector<double> lengths = clients.allgather_numbers({&length, 1});
  std::vector<std::size_t> counts;
  std::size_t total = 0;
  std::size_t first = 0;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    counts.push_back(2 * from_peer(clients, k).count(lengths[k], positions, "a number of entries"));
    if (k < clients.rank()) first += counts.back();
    total += counts.back();
  }
  std::vector<double> whole(total);
  for (std::size_t k = 0; k < own.size(); ++k) {
    whole[first + k] = static_cast<double>(own[k].position);
    whole[first + own.size() + k] = own[k].value;
  }
  clients.allgather(whole, counts);

  std::vector<SparseEntry> sum;
  const double* from = whole.data();
  for (std::size_t k = 0; k < clients.size(); from += counts[k++]) {
    const FromPeer peer = from_peer(clients, k);
    std::vector<SparseEntry> entries(counts[k] / 2);
    std::uint64_t least = 0;
    for (std::size_t e = 0; e < entries.size(); ++e) {
      const std::uint64_t position = peer.count(from[e], positions - 1, "a position");
      if (position < least) peer.refuse("positions that do not increase");
      least = position + 1;
      entries[e] = {position, peer.finite(from[entries.size() + e], "an entry")};
    }
    sum = k == 0 ? std::move(entries) : merged(sum, entries);
  }
  return sum;
}

}  // namespace fedsinkhorn
