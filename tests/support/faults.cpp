#include "support/faults.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/watch.hpp"

namespace fedsinkhorn {
namespace {

/// Up as long as this lives.
class FlagRaised {
 public:
  explicit FlagRaised(bool& flag) : flag_(flag) { flag_ = true; }
  ~FlagRaised() { flag_ = false; }
  FlagRaised(const FlagRaised&) = delete;
  FlagRaised& operator=(const FlagRaised&) = delete;

 private:
  bool& flag_;
};

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Messages that come late

class HoldingCommunicator::Outgoing final : public PeerPending {
 public:
  Outgoing(HoldingCommunicator& owner, std::span<const std::byte> data, std::size_t to, Label label)
      : PeerPending(to), owner_(owner), data_(data), label_(label) {}
  ~Outgoing() override {
    if (inner_) return;
    std::erase_if(owner_.held_, [this](const auto& held) { return held.second == this; });
  }
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;

  void start() { inner_ = owner_.inner().start_send(data_, peer(), label_); }
  [[nodiscard]] bool is_for(std::size_t to, Tag tag) const { return peer() == to && label_.tag == tag; }
  [[nodiscard]] Tag tag() const { return label_.tag; }

  [[nodiscard]] bool done() override {
    owner_.start_what_is_due();
    return inner_ && inner_->done();
  }

 private:
  HoldingCommunicator& owner_;
  std::span<const std::byte> data_;
  Label label_;
  std::unique_ptr<Pending> inner_;  // once it has been started
};

/// A receive like any other: a client that looks at it again and again still has messages to send.
class HoldingCommunicator::Incoming final : public PeerPending {
 public:
  Incoming(HoldingCommunicator& owner, std::size_t from, std::unique_ptr<Pending> inner)
      : PeerPending(from), owner_(owner), inner_(std::move(inner)) {}

  [[nodiscard]] bool done() override {
    owner_.start_what_is_due();
    return inner_->done();
  }

 private:
  HoldingCommunicator& owner_;
  std::unique_ptr<Pending> inner_;
};

std::unique_ptr<Pending> HoldingCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Label label) {
  start_what_is_due();
  auto message = std::make_unique<Outgoing>(*this, data, to, label);
  const double seconds = hold_for(to, label.tag);
  double due = seconds > 0 ? now() + seconds : 0;
  bool is_held = seconds > 0;
  if (!is_news(label.tag)) {  // not before those held already
    for (const auto& held : held_) {
      if (!held.second->is_for(to, label.tag)) continue;
      due = std::max(due, held.first);
      is_held = true;
    }
  }
  if (is_held) {
    held_.emplace(due, message.get());
  } else {
    start(*message);
  }
  return message;
}

std::unique_ptr<Pending> HoldingCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Label label) {
  start_what_is_due();
  return std::make_unique<Incoming>(*this, from, inner().start_receive(data, from, label));
}

bool HoldingCommunicator::wait_any(std::span<Pending* const> messages, double until) {
  const auto wait_below = [&](double next) {
    const FlagRaised waiting(is_waiting_);
    return inner().wait_any(messages, next);
  };
  for (;;) {
    start_what_is_due();
    if (wait_below(held_.empty() ? until : std::min(until, held_.begin()->first))) return true;
    if (now() >= until) return false;
  }
}

void HoldingCommunicator::look_up() {
  start_what_is_due();
  inner().look_up();
}

bool HoldingCommunicator::is_holding(std::size_t to, Tag tag) const {
  return std::any_of(held_.begin(), held_.end(), [&](const auto& held) { return held.second->is_for(to, tag); });
}

void HoldingCommunicator::let_go(std::size_t to, Tag tag) {
  for (;;) {
    const auto first =
        std::find_if(held_.begin(), held_.end(), [&](const auto& held) { return held.second->is_for(to, tag); });
    if (first == held_.end()) return;
    Outgoing& message = *first->second;
    held_.erase(first);
    start(message);
  }
}

void HoldingCommunicator::start(Outgoing& message) {
  message.start();
  after_start(message.peer(), message.tag());
}

void HoldingCommunicator::start_what_is_due() {
  if (is_waiting_) return;
  while (!held_.empty() && held_.begin()->first <= now()) {
    Outgoing& message = *held_.begin()->second;
    held_.erase(held_.begin());
    start(message);
  }
}

DelayedCommunicator::DelayedCommunicator(Communicator& inner, const Delays& delays)
    : HoldingCommunicator(inner), delays_(delays), random_(delays.seed, inner.rank()) {}

double DelayedCommunicator::hold_for(std::size_t /*to*/, Tag /*tag*/) {
  const bool is_late = random_.uniform() < delays_.probability;
  const double seconds = random_.uniform(delays_.least, delays_.most);
  return is_late ? seconds : 0;
}

DroppedCommunicator::DroppedCommunicator(Communicator& inner, const Losses& losses)
    : HoldingCommunicator(inner), losses_(losses), random_(losses.seed, inner.rank()) {}

double DroppedCommunicator::hold_for(std::size_t /*to*/, Tag /*tag*/) {
  int lost = 0;
  while (lost < losses_.most && random_.uniform() < losses_.probability) ++lost;
  return losses_.retry * lost;
}

ReorderedCommunicator::ReorderedCommunicator(Communicator& inner, const Swaps& swaps)
    : HoldingCommunicator(inner), swaps_(swaps), random_(swaps.seed, inner.rank()) {}

double ReorderedCommunicator::hold_for(std::size_t to, Tag tag) {
  if (!is_news(tag)) return 0;
  const bool is_overtaken = random_.uniform() < swaps_.probability;
  return is_overtaken && !is_holding(to, tag) ? swaps_.limit : 0;
}

void ReorderedCommunicator::after_start(std::size_t to, Tag tag) {
  if (is_news(tag)) let_go(to, tag);
}

// ---------------------------------------------------------------------------------------------------------------------
// Messages that come twice

/// A receive of something that will come again: `keep` takes a copy when it has come.
class DuplicatedCommunicator::Copied final : public PeerPending {
 public:
  Copied(std::span<const std::byte> data, std::size_t from, std::unique_ptr<Pending> inner, Letters& keep)
      : PeerPending(from), data_(data), inner_(std::move(inner)), keep_(&keep) {}
  /// It has come already.
  explicit Copied(std::size_t from) : PeerPending(from) {}

  [[nodiscard]] bool done() override {
    if (inner_ && !inner_->done()) return false;
    if (keep_ != nullptr) std::exchange(keep_, nullptr)->emplace_back(data_.begin(), data_.end());
    return true;
  }

 private:
  std::span<const std::byte> data_;
  std::unique_ptr<Pending> inner_;
  Letters* keep_ = nullptr;
};

DuplicatedCommunicator::DuplicatedCommunicator(Communicator& inner, const Copies& copies)
    : ForwardingCommunicator(inner), copies_(copies), random_(copies.seed, inner.rank()) {}

std::unique_ptr<Pending> DuplicatedCommunicator::start_receive(std::span<std::byte> data, std::size_t from,
                                                               Label label) {
  if (!is_news(label.tag)) return inner().start_receive(data, from, label);
  Letters& letters = kept_[{from, label.tag}];
  if (!letters.empty()) {
    const std::vector<std::byte> letter = std::move(letters.front());
    letters.erase(letters.begin());
    if (letter.size() == data.size()) {  // what is sent now may have another size: that one came too late
      std::ranges::copy(letter, data.begin());
      return std::make_unique<Copied>(from);
    }
  }
  const bool comes_again = random_.uniform() < copies_.probability;
  auto message = inner().start_receive(data, from, label);
  if (!comes_again) return message;
  return std::make_unique<Copied>(data, from, std::move(message), letters);
}

// ---------------------------------------------------------------------------------------------------------------------
// Clients that stop

void StruckCommunicator::strike_if_due() {
  if (has_come()) strike();
}

std::unique_ptr<Pending> StruckCommunicator::start_send(std::span<const std::byte> data, std::size_t to, Label label) {
  strike_if_due();
  ++started_;
  return inner().start_send(data, to, label);
}

std::unique_ptr<Pending> StruckCommunicator::start_receive(std::span<std::byte> data, std::size_t from, Label label) {
  strike_if_due();
  ++started_;
  return inner().start_receive(data, from, label);
}

bool StruckCommunicator::wait_any(std::span<Pending* const> messages, double until) {
  for (;;) {
    const bool is_to_come = !has_come();
    if (!is_to_come) strike();
    if (inner().wait_any(messages, is_to_come ? std::min(until, moment_.time) : until)) return true;
    if (now() >= until) return false;
  }
}

void StruckCommunicator::miss(const Pending& message) {
  strike_if_due();
  inner().miss(message);
}

void StruckCommunicator::look_up() {
  strike_if_due();
  inner().look_up();
}

void PausedCommunicator::sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

PausedCommunicator::PausedCommunicator(Communicator& inner, const Moment& moment, double seconds, Rest rest)
    : StruckCommunicator(inner, moment), seconds_(seconds), rest_(std::move(rest)) {}

void PausedCommunicator::strike() {
  if (!std::exchange(has_rested_, true)) rest_(seconds_);
}

KilledCommunicator::KilledCommunicator(Communicator& inner, const Moment& moment, std::stop_token over)
    : KilledCommunicator(inner, moment, [over = std::move(over)] {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait(lock, over, [] { return false; });
      }) {}

KilledCommunicator::KilledCommunicator(Communicator& inner, const Moment& moment, std::function<void()> until_over)
    : StruckCommunicator(inner, moment), until_over_(std::move(until_over)) {}

void KilledCommunicator::give_up(bool bad_input, const char* text) noexcept {
  if (!has_come()) inner().give_up(bad_input, text);
}

void KilledCommunicator::strike() {
  until_over_();
  throw Killed("this client was killed by a test");
}

}  // namespace fedsinkhorn
