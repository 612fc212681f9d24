#include "comm/collectives.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "comm/kept_reason.hpp"
#include "comm/policy.hpp"
#include "comm/secure_sums.hpp"
#include "core/buffer.hpp"
#include "core/exact_sum.hpp"

namespace fedsinkhorn {
namespace {

using Messages = std::vector<std::unique_ptr<Pending>>;

void wait_all(const Collectives& clients, const Messages& messages) {
  for (const auto& message : messages) clients.communicator().wait(*message);
}

std::vector<std::size_t> even_parts(std::size_t count, std::size_t clients) {
  std::vector<std::size_t> parts(clients, count / clients);
  for (std::size_t k = 0; k < count % clients; ++k) ++parts[k];
  return parts;
}

// Where each part begins, and where the last one ends.
std::vector<std::size_t> offsets_of(std::span<const std::size_t> counts) {
  std::vector<std::size_t> offsets(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), offsets.begin() + 1);
  return offsets;
}

/// Values split into one part per client. Parts may be empty: both sides know, and no message is sent.
template <class T>
class Parts {
 public:
  Parts(std::span<T> whole, std::span<const std::size_t> counts) : whole_(whole), offsets_(offsets_of(counts)) {
    if (whole.size() != offsets_.back()) throw std::logic_error("the parts of a collective do not make up the whole");
  }
  [[nodiscard]] std::span<T> whole() const { return whole_; }
  [[nodiscard]] std::span<T> operator[](std::size_t k) const {
    return whole_.subspan(offsets_[k], offsets_[k + 1] - offsets_[k]);
  }

 private:
  std::span<T> whole_;
  std::vector<std::size_t> offsets_;
};

template <class T>
void send_later(const Collectives& clients, Messages& messages, std::span<T> data, std::size_t to) {
  if (!data.empty()) messages.push_back(clients.communicator().start_send(std::as_bytes(data), to, clients.label()));
}

template <class T>
void receive_later(const Collectives& clients, Messages& messages, std::span<T> data, std::size_t from) {
  if (!data.empty())
    messages.push_back(clients.communicator().start_receive(std::as_writable_bytes(data), from, clients.label()));
}

/// Allgather of any data, directly between all clients.
void allgather_directly(const Collectives& clients, const Parts<std::byte>& parts) {
  const std::size_t mine = clients.rank();
  Messages messages;
  for (std::size_t k = 0; k < clients.size(); ++k) {
    if (k != mine) receive_later(clients, messages, parts[k], k);
  }
  // Each client starts with its neighbour, so that not all send to client 0 first.
  for (std::size_t step = 1; step < clients.size(); ++step) {
    send_later(clients, messages, parts[mine], (mine + step) % clients.size());
  }
  wait_all(clients, messages);
}

/// The root receives all parts and sends the whole to every client.
void allgather_through_root(const Collectives& clients, const Parts<std::byte>& parts) {
  const std::size_t mine = clients.rank();
  Messages messages;
  if (mine != 0) {
    const std::vector<std::byte> said(parts[mine].begin(), parts[mine].end());
    send_later(clients, messages, std::span(said), 0);
    receive_later(clients, messages, parts.whole(), 0);
    wait_all(clients, messages);
    // Later steps rely on all clients having the same data, including this client's part.
    if (!std::ranges::equal(said, parts[mine])) from_peer(clients, 0).refuse("back something else than it was told");
    return;
  }
  for (std::size_t k = 1; k < clients.size(); ++k) receive_later(clients, messages, parts[k], k);
  wait_all(clients, messages);
  messages.clear();
  for (std::size_t k = 1; k < clients.size(); ++k) send_later(clients, messages, parts.whole(), k);
  wait_all(clients, messages);
}

/// The part of the whole that is this client's.
Range part_of(std::size_t client, std::span<const std::size_t> counts) {
  const auto offsets = offsets_of(counts);
  return {offsets[client], offsets[client + 1]};
}

void allgather_parts(const Collectives& clients, std::span<std::byte> whole, std::span<const std::size_t> counts) {
  const Parts<std::byte> parts(whole, counts);
  if (clients.route() == Route::through_server) {
    clients.sums()->gather(clients.label().kind, whole, part_of(clients.rank(), counts));
    return;
  }
  if (clients.route() == Route::through_root || is_little_for_many(clients.size(), whole.size())) {
    allgather_through_root(clients, parts);
  } else {
    allgather_directly(clients, parts);
  }
}

std::vector<std::size_t> in_bytes(std::span<const std::size_t> counts) {
  std::vector<std::size_t> bytes(counts.begin(), counts.end());
  for (std::size_t& count : bytes) count *= sizeof(double);
  return bytes;
}

// sum = values_0 + values_1 + ..., rounded once; addends holds all but those of client `rank`, which are `own`.
void add_up(std::span<const double> own, std::span<const double> addends, std::size_t rank, std::size_t clients,
            std::span<double> sum) {
  std::vector<ExactSum> exact(sum.size());
  for (std::size_t k = 0; k < clients; ++k) {
    const auto values = k == rank ? own : addends.subspan((k < rank ? k : k - 1) * sum.size(), sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) exact[i].add(values[i]);
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = exact[i].total();
}

// Receives what the others send and adds it to `own`.
void receive_and_add(const Collectives& clients, std::span<const double> own, std::span<double> sum) {
  const std::size_t others = clients.size() - 1;
  Buffer<double> memory(others * sum.size());
  const auto addends = memory.span();
  Messages receives;
  for (std::size_t k = 0; k < others; ++k) {
    receive_later(clients, receives, addends.subspan(k * sum.size(), sum.size()), k < clients.rank() ? k : k + 1);
  }
  wait_all(clients, receives);
  add_up(own, addends, clients.rank(), clients.size(), sum);
}

void reduce_scatter_directly(const Collectives& clients, const Parts<const double>& parts, std::span<double> mine) {
  const std::size_t rank = clients.rank();
  Messages sends;
  for (std::size_t step = 1; step < clients.size(); ++step) {
    const std::size_t to = (rank + step) % clients.size();
    send_later(clients, sends, parts[to], to);
  }
  receive_and_add(clients, parts[rank], mine);
  wait_all(clients, sends);
}

void reduce_scatter_through_root(const Collectives& clients, const Parts<const double>& parts,
                                 std::span<const std::size_t> counts, std::span<double> mine) {
  if (clients.rank() != 0) {
    Messages messages;
    receive_later(clients, messages, mine, 0);
    send_later(clients, messages, parts.whole(), 0);
    wait_all(clients, messages);
    return;
  }
  Buffer<double> memory(parts.whole().size());
  const Parts<double> sums(memory.span(), counts);
  receive_and_add(clients, parts.whole(), sums.whole());
  Messages sends;
  for (std::size_t k = 1; k < clients.size(); ++k) send_later(clients, sends, sums[k], k);
  std::ranges::copy(sums[0], mine.begin());
  wait_all(clients, sends);
}

}  // namespace

Label Collectives::label() const {
  if (!kind_) throw std::logic_error("a collective has to say what its messages are about");
  return {Tag::collective, *kind_};
}

void Collectives::allgather(std::span<double> whole, std::span<const std::size_t> counts) const {
  allgather_parts(*this, std::as_writable_bytes(whole), in_bytes(counts));
}

void Collectives::reduce_scatter(std::span<const double> values, std::span<const std::size_t> counts,
                                 std::span<double> mine) const {
  if (route_ == Route::through_server) throw std::logic_error("a server adds up only masked words");
  const Parts<const double> parts(values, counts);
  if (mine.size() != counts[rank()]) throw std::logic_error("the result of a reduce_scatter has the size of one part");
  if (size() > 1 && (route_ == Route::through_root || adds_up_at_root(size(), values.size_bytes()))) {
    reduce_scatter_through_root(*this, parts, counts, mine);
  } else {
    reduce_scatter_directly(*this, parts, mine);
  }
}

void Collectives::allreduce(std::span<double> values) const {
  if (size() == 1) return;
  const auto counts = even_parts(values.size(), size());
  const Parts<double> parts(values, counts);
  std::vector<double> mine(counts[rank()]);
  reduce_scatter(values, counts, mine);
  std::ranges::copy(mine, parts[rank()].begin());
  allgather(values, counts);
}

void Collectives::broadcast(std::span<std::byte> data, std::size_t root) const {
  if (route_ == Route::through_server) {
    return sums_->gather(label().kind, data, rank() == root ? Range{0, data.size()} : Range{});
  }
  // In a star, client 0 forwards another client's data.
  const bool passed_on = route_ == Route::through_root && root != 0;
  const std::size_t source = passed_on ? 0 : root;
  Messages messages;
  if (passed_on && rank() == root) send_later(*this, messages, data, 0);
  if (rank() == source) {
    if (passed_on && !data.empty()) communicator_.receive(data, root, label());
    for (std::size_t k = 0; k < size(); ++k) {
      if (k != source && k != root) send_later(*this, messages, data, k);
    }
  } else if (rank() != root) {
    receive_later(*this, messages, data, source);
  }
  wait_all(*this, messages);
}

void Collectives::gather(std::span<const double> mine, std::span<const std::size_t> counts, std::span<double> whole,
                         std::size_t root) const {
  if (route_ == Route::through_server) {
    const Range own = part_of(rank(), counts);
    std::vector<double> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(own.first));
    allgather(all, counts);
    if (rank() == root) std::ranges::copy(all, whole.begin());
    return;
  }
  const bool passed_on = route_ == Route::through_root && root != 0;
  const bool collects = rank() == (passed_on ? 0 : root);
  std::vector<double> on_the_way;
  if (passed_on && collects) {
    on_the_way.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    whole = on_the_way;
  }
  Messages messages;
  if (rank() == root || collects) {
    const Parts<double> parts(whole, counts);
    std::ranges::copy(mine, parts[rank()].begin());
    for (std::size_t k = 0; k < size(); ++k) {
      // In a star, client 0 collects all parts but the root's own and sends them to it one by one.
      if (k != rank() && k != root) receive_later(*this, messages, parts[k], collects ? k : 0);
    }
    wait_all(*this, messages);
    messages.clear();
    for (std::size_t k = 0; passed_on && collects && k < size(); ++k) {
      if (k != root) send_later(*this, messages, parts[k], root);
    }
  } else {
    send_later(*this, messages, mine, passed_on ? 0 : root);
  }
  wait_all(*this, messages);
}

std::vector<std::string> Collectives::allgather_text(const std::string& mine, std::size_t most) const {
  if (mine.size() > most) throw std::logic_error("a text is longer than the others expect");
  const auto length = static_cast<double>(mine.size());
  const auto lengths = allgather_numbers({&length, 1});
  std::vector<std::size_t> counts(size());
  for (std::size_t k = 0; k < size(); ++k) counts[k] = from_peer(*this, k).count(lengths[k], most, "a length");
  const auto offsets = offsets_of(counts);
  const std::string whole = allgather_bytes(mine, counts);
  std::vector<std::string> texts(size());
  for (std::size_t k = 0; k < size(); ++k) texts[k] = whole.substr(offsets[k], counts[k]);
  return texts;
}

std::string Collectives::allgather_bytes(const std::string& mine, std::span<const std::size_t> bytes) const {
  const auto offsets = offsets_of(bytes);
  std::string whole(offsets.back(), '\0');
  whole.replace(offsets[rank()], mine.size(), mine);
  allgather_parts(*this, std::as_writable_bytes(std::span(whole)), bytes);
  return whole;
}

std::string Collectives::broadcast_text(const std::string& text, std::size_t root, std::size_t most) const {
  if (rank() == root && text.size() > most) throw std::logic_error("a text is longer than the others expect");
  auto length = static_cast<double>(text.size());
  broadcast(std::as_writable_bytes(std::span(&length, 1)), root);
  std::string result =
      rank() == root ? text : std::string(from_peer(*this, root).count(length, most, "a length"), '\0');
  broadcast(std::as_writable_bytes(std::span(result)), root);
  return result;
}

std::vector<double> Collectives::allgather_numbers(std::span<const double> mine) const {
  std::vector<double> all(size() * mine.size());
  const std::vector<std::size_t> counts(size(), mine.size());
  std::ranges::copy(mine, Parts<double>(all, counts)[rank()].begin());
  allgather(all, counts);
  return all;
}

void Collectives::barrier() const {
  std::vector<std::byte> here(size());
  allgather_parts(of(Payload::control), here, std::vector<std::size_t>(size(), 1));
}

namespace {

// Through client 0 on any route: this follows each of many small steps, and there is rarely anything to report.
void exchange_mishaps(const Collectives& clients, const Mishap& mine) {
  constexpr std::size_t root = 0;
  constexpr std::size_t most = 4096;
  constexpr auto last_kind = static_cast<std::uint64_t>(Mishap::Kind::interrupted);
  const Collectives everyone = clients.through_root().of(Payload::text);
  const auto kind = static_cast<double>(mine.kind);
  std::vector<double> kinds(everyone.rank() == root ? everyone.size() : 0);
  everyone.gather({&kind, 1}, std::vector<std::size_t>(everyone.size(), 1), kinds, root);
  // The lowest rank at which something went wrong, and what.
  std::array<double, 2> first = {0, 0};
  for (std::size_t k = kinds.size(); k-- > 0;) {
    if (from_peer(everyone, k).count(kinds[k], last_kind, "a kind of mishap") != 0) {
      first = {static_cast<double>(k), kinds[k]};
    }
  }
  everyone.broadcast(std::as_writable_bytes(std::span(first)), root);
  const FromPeer from_root = from_peer(everyone, root);
  const auto first_kind = static_cast<Mishap::Kind>(from_root.count(first[1], last_kind, "a kind of mishap"));
  if (first_kind == Mishap::Kind::none) return;
  const std::size_t client = from_root.count(first[0], everyone.size() - 1, "a client's number");
  const std::string own = mine.text.empty() ? "an unknown failure" : mine.text.substr(0, most);
  const bool tells = everyone.communicator().tells_reasons();
  const std::string text = everyone.broadcast_text(tells ? own : line_without_reason(everyone.rank()), client, most);
  const std::string line = text.substr(0, text.find('\0'));
  if (line.empty()) from_peer(everyone, client).refuse("a failure without a word");
  if (first_kind == Mishap::Kind::interrupted) throw Interrupted();
  if (!tells && client != everyone.rank()) {
    if (first_kind == Mishap::Kind::other) throw ClientFailed(line);
    throw RefusedElsewhere(line);
  }
  const std::string& reason = client == everyone.rank() ? own : line;
  if (first_kind == Mishap::Kind::other) throw std::runtime_error(reason);
  if (!tells) throw KeptReason(reason);
  throw InputError(reason);
}

}  // namespace

// The others may be faster to give up than this client is to finish telling them: it still knows its own reason.
void share_mishap(const Collectives& clients, const Mishap& mine) {
  try {
    exchange_mishaps(clients, mine);
  } catch (const InputError&) {
    const bool is_refusal = mine.kind == Mishap::Kind::input || mine.kind == Mishap::Kind::memory;
    if (is_refusal && !clients.communicator().tells_reasons()) throw KeptReason(mine.text);
    throw;
  }
}

}  // namespace fedsinkhorn
