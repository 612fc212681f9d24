#include "topology/bulletin.hpp"

#include <algorithm>
#include <cmath>

#include "comm/from_peer.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::array kKinds = {SliceKind::u, SliceKind::v};

// A client waits for answers at most this many times as long as its own computation, or one time slice if longer.
constexpr double kPatienceForAnswers = 1;
constexpr Label kFarewell{Tag::farewell, Payload::control};

// After this many iterations, clients that were not worth waiting for get another try.
constexpr std::int64_t kBetweenTrials = 64;

Label label_of(SliceKind kind, Payload payload) { return {kind == SliceKind::u ? Tag::news_u : Tag::news_v, payload}; }

}  // namespace

Bulletin::Bulletin(Communicator& communicator, const Shape& shape, const Apply& apply, DelayTable& delays)
    : communicator_(communicator),
      shape_(shape),
      apply_(apply),
      delays_(delays),
      times_(shape.max_staleness),
      farewells_(communicator.size()),
      heard_from_(communicator.size()) {
  const std::size_t me = communicator_.rank();
  const double now = communicator_.now();
  for (const SliceKind kind : kKinds) {
    const std::vector<std::size_t>& numbers = shape_.numbers[index(kind)];
    subjects_[index(kind)].resize(communicator_.size());
    own(kind).outboxes.resize(communicator_.size());
    own(kind).iteration = static_cast<double>(shape_.iteration);
    own(kind).published = now;
    for (std::size_t k = 0; k < communicator_.size(); ++k) {
      if (k == me) continue;
      Subject& other = subject(kind, k);
      other.published = now;
      if (!communicator_.shares_clock()) other.clock_ahead = std::numeric_limits<double>::infinity();
      // A round ends with v, which answers u.
      other.iteration = other.used = static_cast<double>(shape_.iteration);
      other.answers = static_cast<double>(kind == SliceKind::v ? shape_.iteration : shape_.iteration - 1);
      if (numbers[k] > 0)
        other.inbox.emplace(communicator_, k, label_of(kind, shape_.payload), numbers[k], shape_.stretch);
      if (numbers[me] > 0) own(kind).outboxes[k].emplace(communicator_, k, label_of(kind, shape_.payload));
    }
  }
  for (std::size_t k = 0; k < farewells_.size(); ++k) {
    if (k == me) continue;
    farewells_[k].receipt =
        communicator_.start_receive(std::as_writable_bytes(std::span(farewells_[k].incoming)), k, kFarewell);
  }
}

void Bulletin::begin_iteration() {
  times_.begin(communicator_.now());
  if (++iterations_ % kBetweenTrials != 0) return;
  for (auto& subjects : subjects_) {
    for (Subject& other : subjects) other.answer_after = 0;
  }
}

void Bulletin::keep(SliceKind kind, std::int64_t iteration, std::span<const double> values) {
  std::vector<double>& message = own(kind).message;
  message.resize(kStampNumbers + values.size());
  message[0] = shape_.stretch;
  message[1] = static_cast<double>(iteration);
  message[2] = communicator_.now();
  std::copy(values.begin(), values.end(), message.begin() + kStampNumbers);
  own(kind).took = communicator_.now() - used_at_;
}

void Bulletin::publish(SliceKind kind, std::int64_t iteration, std::span<const double> values) {
  keep(kind, iteration, values);
  send(kind);
}

void Bulletin::send(SliceKind kind) {
  Own& mine = own(kind);
  for (std::size_t k = 0; k < mine.outboxes.size(); ++k) {
    if (mine.outboxes[k]) mine.outboxes[k]->publish(mine.message, subject(other(kind), k).used);
  }
  mine.iteration = mine.message[1];
  mine.published = mine.message[2];
}

void Bulletin::catch_up() {
  for (const SliceKind kind : kKinds) {
    Own& mine = own(kind);
    for (std::size_t k = 0; k < mine.outboxes.size(); ++k) {
      if (mine.outboxes[k]) mine.outboxes[k]->catch_up(mine.message, subject(other(kind), k).used);
    }
  }
}

void Bulletin::take() {
  communicator_.look_up();
  // Farewells first: one means that all news was received, so news seen after it is the last.
  for (Farewell& farewell : farewells_) {
    if (farewell.send && farewell.send->done()) {
      farewell.send.reset();
      farewell.has_gone = true;
    }
    if (farewell.has_come || !farewell.receipt || !farewell.receipt->done()) continue;
    farewell.has_come = true;
    is_called_ = true;
  }
  for (const SliceKind kind : kKinds) {
    for (std::size_t k = 0; k < communicator_.size(); ++k) {
      Subject& other = subject(kind, k);
      if (!other.inbox) continue;
      const std::size_t newer = other.inbox->take();
      if (newer == 0) continue;
      heard_from_[k] += newer;
      if (uses(kind, k)) {
        delays_.superseded(kind, k, newer - 1 + (other.is_new ? 1 : 0));
        other.is_new = true;
      }
      const NewsStamp& stamp = other.inbox->stamp();
      if (!communicator_.shares_clock()) {
        other.clock_ahead = std::min(other.clock_ahead, communicator_.now() - stamp.published);
      }
      other.published = stamp.published + other.clock_ahead;
      other.iteration = stamp.iteration;
      other.answers = stamp.answers;
      const Own& answered = own(Bulletin::other(kind));
      if (other.answers >= answered.iteration && std::isfinite(other.answer_after)) {
        other.answer_after = communicator_.now() - answered.published;
      }
      apply_(kind, k, other.inbox->values());
    }
  }
  catch_up();
}

bool Bulletin::has_told_all() const {
  return std::all_of(own_.begin(), own_.end(),
                     [](const Own& mine) { return mine.message.empty() || mine.message[1] <= mine.iteration; });
}

bool Bulletin::uses(SliceKind kind, std::size_t from) const {
  const std::size_t me = communicator_.rank();
  return from != me && shape_.has_slice[index(kind)][from] && shape_.has_slice[index(other(kind))][me];
}

std::optional<std::size_t> Bulletin::nothing_new() const {
  std::optional<std::size_t> source;
  for (const SliceKind kind : kKinds) {
    for (std::size_t k = 0; k < communicator_.size(); ++k) {
      if (!uses(kind, k)) continue;
      if (subjects_[index(kind)][k].is_new) return std::nullopt;
      source = k;
    }
  }
  return source;
}

// What clients know at the start of a stretch is news to all of them.
void Bulletin::await_news() {
  if (is_called_ || iterations_ == 0 || !has_told_all() || !nothing_new()) return;
  wait_until_none([&] { return is_called_ ? std::nullopt : nothing_new(); });
}

std::optional<std::size_t> Bulletin::too_old(SliceKind kind, bool about_to_begin) const {
  for (std::size_t k = 0; k < communicator_.size(); ++k) {
    if (!uses(kind, k)) continue;
    const std::size_t age = times_.begun_after(subjects_[index(kind)][k].published) + (about_to_begin ? 1 : 0);
    if (age > shape_.max_staleness) return k;
  }
  return std::nullopt;
}

std::vector<Pending*> Bulletin::everything_awaited() {
  std::vector<Pending*> list;
  for (auto& subjects : subjects_) {
    for (Subject& other : subjects) {
      if (other.inbox) list.push_back(&other.inbox->next());
    }
  }
  for (const Own& own : own_) {
    for (const auto& outbox : own.outboxes) {
      if (outbox) outbox->add_to(list);
    }
  }
  for (const Farewell& farewell : farewells_) {
    if (farewell.receipt && !farewell.has_come) list.push_back(farewell.receipt.get());
    if (farewell.send) list.push_back(farewell.send.get());
  }
  return list;
}

const Pending& Bulletin::awaited_from(std::size_t client) {
  Subject& of_u = subject(SliceKind::u, client);
  Subject& of_v = subject(SliceKind::v, client);
  if (farewells_[client].has_come) return *farewells_[client].receipt;
  return of_v.inbox ? of_v.inbox->next() : of_u.inbox ? of_u.inbox->next() : *farewells_[client].receipt;
}

// The deadline applies to the culprit: only news from it extends the deadline.
template <class Culprit>
void Bulletin::wait_until_none(const Culprit& culprit) {
  std::optional<std::size_t> client;
  std::uint64_t heard = 0;
  double deadline = 0;
  take();  // what follows relies on this state, see Outbox::add_to
  while (const std::optional<std::size_t> now_awaited = culprit()) {
    if (now_awaited != client || heard_from_[*client] != heard) {
      client = now_awaited;
      heard = heard_from_[*client];
      deadline = communicator_.now() + communicator_.timeout();
    }
    if (!communicator_.wait_any(everything_awaited(), deadline)) communicator_.miss(awaited_from(*client));
    take();
  }
}

bool Bulletin::await_fresh(SliceKind kind, bool about_to_begin) {
  if (is_called_) return false;
  if (!too_old(kind, about_to_begin)) return true;
  ++waits_;
  // What was published is still this client's newest.
  for (const SliceKind each : kKinds) {
    if (own(each).message.empty()) continue;
    own(each).message[2] = communicator_.now();
    send(each);
  }
  wait_until_none([&] { return is_called_ ? std::nullopt : too_old(kind, about_to_begin); });
  return !is_called_;
}

void Bulletin::await_answers(SliceKind kind) {
  const Own& asked = own(other(kind));
  const double patience = std::max(kPatienceForAnswers * own(kind).took, communicator_.time_slice());
  const double deadline = communicator_.now() + patience;
  std::vector<Subject*> awaited;
  for (std::size_t k = 0; k < communicator_.size(); ++k) {
    Subject& from = subject(kind, k);
    if (!uses(kind, k)) continue;
    if (asked.published + from.answer_after <= deadline) awaited.push_back(&from);
  }
  const auto all_answer = [&] {
    return std::all_of(awaited.begin(), awaited.end(), [&](Subject* from) { return from->answers >= asked.iteration; });
  };
  while (!all_answer() && !is_called_) {
    if (!communicator_.wait_any(everything_awaited(), deadline)) {
      for (Subject* from : awaited) {
        if (from->answers < asked.iteration) from->answer_after = std::numeric_limits<double>::infinity();
      }
      return;
    }
    take();
  }
}

void Bulletin::await_anything() {
  if (!communicator_.wait_any(everything_awaited(), communicator_.now() + communicator_.timeout())) {
    communicator_.miss(*everything_awaited().front());
  }
  take();
}

void Bulletin::note_use(SliceKind kind) {
  used_at_ = communicator_.now();
  for (std::size_t k = 0; k < communicator_.size(); ++k) {
    Subject& other = subject(kind, k);
    other.used = other.iteration;
    if (!other.is_new) continue;
    other.is_new = false;
    delays_.used(kind, k, times_.begun_after(other.published));
  }
}

std::int64_t Bulletin::part(std::int64_t number, std::int64_t most) {
  const std::size_t me = communicator_.rank();
  const auto all_taken_by = [&](std::size_t k) {
    return std::all_of(own_.begin(), own_.end(),
                       [k](const Own& own) { return !own.outboxes[k] || own.outboxes[k]->is_empty(); });
  };
  const auto has_parted = [&](std::size_t k) { return farewells_[k].has_come && farewells_[k].has_gone; };
  // The first other client without the property.
  const auto first_without = [&](const auto& property) -> std::optional<std::size_t> {
    for (std::size_t k = 0; k < communicator_.size(); ++k) {
      if (k != me && !property(k)) return k;
    }
    return std::nullopt;
  };
  wait_until_none([&] { return first_without(all_taken_by); });
  for (std::size_t k = 0; k < farewells_.size(); ++k) {
    if (k == me) continue;
    farewells_[k].outgoing = {shape_.stretch, static_cast<double>(number)};
    farewells_[k].send = communicator_.start_send(std::as_bytes(std::span(farewells_[k].outgoing)), k, kFarewell);
  }
  wait_until_none([&] { return first_without(has_parted); });
  std::int64_t largest = number;
  for (std::size_t k = 0; k < farewells_.size(); ++k) {
    if (k == me) continue;
    const FromPeer peer(communicator_, k);
    if (farewells_[k].incoming[0] != shape_.stretch) peer.refuse("a farewell to another stretch of iterations");
    const auto limit = std::min(static_cast<std::uint64_t>(most), kMostCount);
    const std::uint64_t made = peer.count(farewells_[k].incoming[1], limit, "a number of iterations");
    largest = std::max(largest, static_cast<std::int64_t>(made));
  }
  return largest;
}

}  // namespace fedsinkhorn
