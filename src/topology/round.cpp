#include "topology/round.hpp"

#include <algorithm>
#include <numeric>

#include "comm/collectives.hpp"
#include "comm/sum_server.hpp"
#include "comm/summing.hpp"
#include "core/range.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {
namespace {

std::vector<std::uint64_t> bytes_of(const std::vector<std::size_t>& sizes, std::size_t targets, std::size_t extra) {
  std::vector<std::uint64_t> bytes;
  bytes.reserve(sizes.size());
  for (const std::size_t size : sizes) bytes.push_back((targets * size + extra) * sizeof(double));
  return bytes;
}

std::uint64_t total(const std::vector<std::uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

}  // namespace

std::string_view name_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::gather: return "gather";
    case Exchange::sum: return "sum";
    case Exchange::regather: return "regather";
    case Exchange::notes: return "notes";
    case Exchange::collect: return "collect";
    case Exchange::deal: return "deal";
    case Exchange::broadcast: return "broadcast";
    case Exchange::secure_sum: return "secure-sum";
    case Exchange::served_sum: return "served-sum";
    case Exchange::news: return "news";
  }
  return {};
}

std::uint64_t MessagePhase::whole() const { return total(bytes); }

Sent MessagePhase::sent_by(std::size_t member) const {
  const auto to = [this](std::size_t receivers, std::uint64_t size) {
    return size == 0 && !sends_empty ? Sent{} : Sent{receivers * size, receivers * pieces};
  };
  const std::size_t others = bytes.size() - 1;
  switch (pattern) {
    case Pattern::each_to_each: return to(others, bytes[member]);
    case Pattern::to_first: return member == 0 ? Sent{} : to(1, bytes[member]);
    case Pattern::whole_to_first: return member == 0 ? Sent{} : to(1, whole());
    case Pattern::whole_from_first: return member == 0 ? to(others, whole()) : Sent{};
    case Pattern::from_first:
      if (member != 0) return {};
      [[fallthrough]];
    case Pattern::to_owners: {
      Sent all;
      for (std::size_t k = 0; k < bytes.size(); ++k) {
        if (k != member) all = all + to(1, bytes[k]);
      }
      return all;
    }
  }
  return {};
}

// Not member by member, of which there may be thousands.
Sent MessagePhase::sent_by_all() const {
  const std::uint64_t others = bytes.size() - 1;
  const auto parts = static_cast<std::uint64_t>(
      sends_empty ? std::ssize(bytes) : std::ranges::count_if(bytes, [](std::uint64_t part) { return part > 0; }));
  const bool first_counts = sends_empty || bytes[0] > 0;
  const std::uint64_t parts_of_others = parts - (first_counts ? 1 : 0);
  switch (pattern) {
    case Pattern::each_to_each:
    case Pattern::to_owners: return {others * whole(), others * parts * pieces};
    case Pattern::to_first:
    case Pattern::from_first: return {whole() - bytes[0], parts_of_others * pieces};
    case Pattern::whole_to_first:
    case Pattern::whole_from_first: return {others * whole(), others * pieces};
  }
  return {};
}

std::uint64_t MessagePhase::received_by(std::size_t member) const {
  const std::uint64_t others = bytes.size() - 1;
  switch (pattern) {
    case Pattern::each_to_each: return whole() - bytes[member];
    case Pattern::to_owners: return others * bytes[member];
    case Pattern::to_first: return member == 0 ? whole() - bytes[0] : 0;
    case Pattern::whole_to_first: return member == 0 ? others * whole() : 0;
    case Pattern::from_first: return member == 0 ? 0 : bytes[member];
    case Pattern::whole_from_first: return member == 0 ? 0 : whole();
  }
  return 0;
}

std::uint64_t MessagePhase::largest_message() const {
  const bool is_whole = pattern == Pattern::whole_to_first || pattern == Pattern::whole_from_first;
  return is_whole ? whole() : *std::ranges::max_element(bytes);
}

Sent RoundExchange::sent() const {
  Sent all;
  for (const MessagePhase& phase : phases) all = all + phase.sent_by(member);
  return all;
}

Sent Round::sent() const {
  Sent all;
  for (const RoundExchange& exchange : exchanges) all = all + exchange.sent();
  return all;
}

double RoundWork::entries() const {
  const double row_block = static_cast<double>(rows) * static_cast<double>(columns);
  if (is_fused) return row_block;
  if (column_block_rows == 0) return 2 * row_block;
  return row_block + static_cast<double>(column_block_rows) * static_cast<double>(column_block_columns);
}

RoundShape even_round(std::size_t rows, std::size_t columns, std::size_t clients, std::size_t targets,
                      const Options& options) {
  RoundShape shape;
  for (std::size_t k = 0; k < clients; ++k) {
    shape.rows.push_back(chunk_range(rows, clients, k).size());
    shape.columns.push_back(chunk_range(columns, clients, k).size());
  }
  shape.targets = targets;
  shape.note_numbers = kNoteNumbers;
  shape.grid = options.grid;
  shape.passes = options.passes;
  shape.has_server = options.server == Server::sums;
  return shape;
}

RoundExchange gather_exchange(const std::vector<std::size_t>& sizes, std::size_t member, std::size_t targets,
                              std::size_t numbers) {
  RoundExchange gather{.exchange = Exchange::gather, .member = member, .members = sizes.size()};
  const std::vector<std::uint64_t> bytes = bytes_of(sizes, targets, numbers);
  gather.bytes = total(bytes);
  if (sizes.size() == 1) return gather;
  if (is_little_for_many(sizes.size(), gather.bytes)) {
    gather.phases = {{Pattern::to_first, bytes}, {Pattern::whole_from_first, bytes}};
  } else {
    gather.phases = {{Pattern::each_to_each, bytes}};
  }
  return gather;
}

RoundExchange sum_exchange(const std::vector<std::size_t>& sizes, std::size_t member, std::size_t targets) {
  RoundExchange sum{.exchange = Exchange::sum, .member = member, .members = sizes.size()};
  const std::vector<std::uint64_t> bytes = bytes_of(sizes, targets, 0);
  sum.bytes = total(bytes);
  if (sizes.size() == 1) return sum;
  if (adds_up_at_root(sizes.size(), sum.bytes)) {
    sum.phases = {{Pattern::whole_to_first, bytes}, {Pattern::from_first, bytes}};
  } else {
    sum.phases = {{Pattern::to_owners, bytes}};
  }
  return sum;
}

RoundExchange notes_exchange(std::size_t members, std::size_t member, std::size_t numbers) {
  RoundExchange notes{.exchange = Exchange::notes, .member = member, .members = members};
  const std::uint64_t of_one = numbers * sizeof(double);
  notes.bytes = members * of_one;
  if (members == 1 || numbers == 0) return notes;
  const std::vector<std::uint64_t> bytes(members, of_one);
  if (members > kManyClients) {  // the first one combines them
    std::vector<std::uint64_t> combined(members);
    combined[0] = of_one;
    notes.phases = {{Pattern::to_first, bytes}, {Pattern::whole_from_first, combined}};
  } else {
    notes.phases = {{Pattern::each_to_each, bytes}};
  }
  return notes;
}

RoundExchange collect_exchange(const std::vector<std::size_t>& sizes, std::size_t member, std::size_t targets,
                               std::size_t extra) {
  RoundExchange collect{.exchange = Exchange::collect, .member = member, .members = sizes.size()};
  const std::vector<std::uint64_t> bytes = bytes_of(sizes, targets, extra);
  collect.bytes = total(bytes);
  if (sizes.size() > 1) collect.phases = {{Pattern::to_first, bytes, true}};
  return collect;
}

RoundExchange deal_exchange(const std::vector<std::size_t>& sizes, std::size_t member, std::size_t targets) {
  RoundExchange deal{.exchange = Exchange::deal, .member = member, .members = sizes.size()};
  const std::vector<std::uint64_t> bytes = bytes_of(sizes, targets, 0);
  deal.bytes = total(bytes);
  if (sizes.size() > 1) deal.phases = {{Pattern::from_first, bytes, true}};
  return deal;
}

RoundExchange broadcast_exchange(std::size_t members, std::size_t member, std::size_t numbers) {
  RoundExchange broadcast{.exchange = Exchange::broadcast, .member = member, .members = members};
  broadcast.bytes = numbers * sizeof(double);
  std::vector<std::uint64_t> bytes(members);
  bytes[0] = broadcast.bytes;
  if (members > 1 && numbers > 0) broadcast.phases = {{Pattern::whole_from_first, bytes}};
  return broadcast;
}

RoundExchange secure_sum_exchange(std::size_t clients, std::size_t client, std::size_t words) {
  RoundExchange sum{.exchange = Exchange::secure_sum, .member = client, .members = clients};
  sum.bytes = words * sizeof(Word);
  if (clients == 1 || words == 0) return sum;
  std::vector<std::uint64_t> bytes;
  for (const std::size_t of_adder : words_added_by(clients, words)) bytes.push_back(of_adder * sizeof(Word));
  if (bytes[1] == 0) {
    sum.phases = {{Pattern::whole_to_first, bytes}, {Pattern::whole_from_first, bytes}};
  } else {
    sum.phases = {{Pattern::to_owners, bytes}, {Pattern::each_to_each, bytes}};
  }
  return sum;
}

RoundExchange served_sum_exchange(std::size_t clients, std::size_t client, std::size_t words) {
  // The server is the first of the group, and not one of the clients.
  RoundExchange sum{.exchange = Exchange::served_sum, .member = client + 1, .members = clients};
  sum.bytes = words * sizeof(Word);
  const std::uint64_t answer = sum.bytes + sizeof(Word);
  std::vector<std::uint64_t> asked(clients + 1, sizeof(SumRequest) + answer);
  std::vector<std::uint64_t> answered(clients + 1, answer);
  asked[0] = answered[0] = 0;
  sum.phases = {{Pattern::to_first, asked, false, 2}, {Pattern::from_first, answered}};
  return sum;
}

void add_gather(std::vector<RoundExchange>& exchanges, const std::vector<std::size_t>& sizes, std::size_t member,
                std::size_t targets, std::size_t numbers, std::size_t groups) {
  const bool notes_apart = sizes.size() > kManyClients && numbers > 0;
  if (notes_apart) {
    exchanges.push_back(notes_exchange(sizes.size(), member, numbers));
    exchanges.back().groups = groups;
  }
  exchanges.push_back(gather_exchange(sizes, member, targets, notes_apart ? 0 : numbers));
  exchanges.back().groups = groups;
}

RoundWork work_of(const RoundShape& shape, const Layout& layout, bool rows_stay) {
  RoundWork work;
  work.is_fused = rows_stay && shape.passes == Passes::fused;
  for (std::size_t k = layout.row_slices.first; k < layout.row_slices.last; ++k) work.rows += shape.rows[k];
  for (std::size_t k = layout.column_slices.first; k < layout.column_slices.last; ++k) {
    work.columns += shape.columns[layout.column_clients[k]];
  }
  if (layout.whole_columns) {
    work.column_block_rows = std::accumulate(shape.rows.begin(), shape.rows.end(), std::size_t{0});
    work.column_block_columns = shape.columns[shape.client];
  }
  return work;
}

}  // namespace fedsinkhorn
