#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "comm/alone.hpp"
#include "comm/first_cause.hpp"
#include "comm/lost_lines.hpp"
#include "comm/transports.hpp"
#include "comm/watch.hpp"
#include "core/refused_threads.hpp"

namespace fedsinkhorn {
namespace {

/// Wakes a client when something has arrived for it.
class Bell {
 public:
  void ring() {
    {
      const std::lock_guard lock(mutex_);
      rings_.fetch_add(1, std::memory_order_release);
    }
    rung_.notify_one();
  }
  [[nodiscard]] std::uint64_t rings() const { return rings_.load(std::memory_order_acquire); }
  /// Returns when it has rung since `seen`, or at `until`.
  void wait(std::uint64_t seen, std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    rung_.wait_until(lock, until, [&] { return rings() != seen; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  std::atomic<std::uint64_t> rings_{0};
};

/// Set when a letter is taken, for a sender that needs to know.
using Taken = std::shared_ptr<std::atomic<bool>>;

class MailedSend final : public PeerPending {
 public:
  MailedSend(std::size_t to, Taken taken) : PeerPending(to), taken_(std::move(taken)) {}
  [[nodiscard]] bool done() override { return taken_ == nullptr || taken_->load(std::memory_order_acquire); }

 private:
  Taken taken_;
};

class MailedReceipt;

/// One client's incoming messages. A message goes directly into the buffer of the first receipt that waits for its
/// sender and tag; if there is none, a copy is kept. Only senders that have sent something take up space, so a thousand
/// clients do not need a million mailboxes.
class Mailbox {
 public:
  /// For news not taken at once, returns what tells whether it has been taken.
  Taken put(std::span<const std::byte> data, std::size_t from, Tag tag);
  /// Returns whether it took a letter whose sender needs to know.
  bool add(MailedReceipt& receipt);
  void withdraw(MailedReceipt& receipt);

 private:
  struct Letter {
    std::size_t from;
    std::vector<std::byte> bytes;
    Taken taken;
  };
  /// For one sender and tag. One of the two is empty.
  struct Lane {
    std::list<Letter> letters;
    std::list<MailedReceipt*> receipts;
  };

  /// Control messages are received from any client.
  [[nodiscard]] Lane& lane(std::size_t from, Tag tag) {
    constexpr std::size_t anybody = std::numeric_limits<std::size_t>::max();
    return lanes_[{tag == Tag::control ? anybody : from, tag}];
  }

  std::mutex mutex_;
  std::map<std::pair<std::size_t, Tag>, Lane> lanes_;
};

/// A receive. Destroying it withdraws it, so nothing is written into a freed buffer.
class MailedReceipt final : public PeerPending {
 public:
  MailedReceipt(Communicator& owner, Mailbox& mailbox, std::span<std::byte> data, std::size_t from, Tag tag)
      : PeerPending(from), owner_(owner), mailbox_(mailbox), data_(data), tag_(tag), took_news_(mailbox_.add(*this)) {}
  ~MailedReceipt() override {
    if (state_.load(std::memory_order_acquire) == State::open) mailbox_.withdraw(*this);
  }
  MailedReceipt(const MailedReceipt&) = delete;
  MailedReceipt& operator=(const MailedReceipt&) = delete;

  [[nodiscard]] Tag tag() const { return tag_; }
  /// Whether it was filled at once by a letter whose sender needs to know.
  [[nodiscard]] bool took_news() const { return took_news_; }
  [[nodiscard]] bool done() override {
    const State state = state_.load(std::memory_order_acquire);
    if (state == State::wrong_size) owner_.distrust(peer(), line_of_size(came_, data_.size()));
    return state == State::filled;
  }

  /// Call under the mailbox's lock.
  void fill(std::size_t from, std::span<const std::byte> data) {
    set_peer(from);
    came_ = data.size();
    const bool fits = data.size() == data_.size();
    if (fits) std::ranges::copy(data, data_.begin());
    state_.store(fits ? State::filled : State::wrong_size, std::memory_order_release);
  }

 private:
  enum class State : char { open, filled, wrong_size };
  Communicator& owner_;
  Mailbox& mailbox_;
  std::span<std::byte> data_;
  Tag tag_;
  std::size_t came_ = 0;  // bytes; written before the state
  std::atomic<State> state_{State::open};
  bool took_news_;  // last: its initialiser uses all others
};

Taken Mailbox::put(std::span<const std::byte> data, std::size_t from, Tag tag) {
  const std::lock_guard lock(mutex_);
  Lane& sent = lane(from, tag);
  if (sent.receipts.empty()) {
    Taken taken = is_news(tag) ? std::make_shared<std::atomic<bool>>(false) : nullptr;
    sent.letters.push_back({from, {data.begin(), data.end()}, taken});
    return taken;
  }
  MailedReceipt& receipt = *sent.receipts.front();
  sent.receipts.pop_front();
  receipt.fill(from, data);  // last: from here on its owner may destroy it
  return nullptr;
}

bool Mailbox::add(MailedReceipt& receipt) {
  const std::lock_guard lock(mutex_);
  Lane& awaited = lane(receipt.peer(), receipt.tag());
  if (awaited.letters.empty()) {
    awaited.receipts.push_back(&receipt);
    return false;
  }
  const Letter letter = std::move(awaited.letters.front());
  awaited.letters.pop_front();
  receipt.fill(letter.from, letter.bytes);
  if (letter.taken) letter.taken->store(true, std::memory_order_release);
  return letter.taken != nullptr;
}

void Mailbox::withdraw(MailedReceipt& receipt) {
  const std::lock_guard lock(mutex_);
  lane(receipt.peer(), receipt.tag()).receipts.remove(&receipt);
}

/// What the clients share, by rank.
struct Office {
  explicit Office(std::size_t clients) : bells(clients), mailboxes(clients) {}

  std::vector<Bell> bells;
  std::vector<Mailbox> mailboxes;
};

class ThreadCommunicator final : public WatchedCommunicator {
 public:
  ThreadCommunicator(Office& office, std::size_t rank, Seconds timeout)
      : WatchedCommunicator(timeout), office_(office), rank_(rank) {
    listen();
  }
  ~ThreadCommunicator() override { stop_listening(); }
  ThreadCommunicator(const ThreadCommunicator&) = delete;
  ThreadCommunicator& operator=(const ThreadCommunicator&) = delete;

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return office_.mailboxes.size(); }

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    Taken taken = office_.mailboxes.at(to).put(data, rank_, label.tag);
    office_.bells[to].ring();
    return std::make_unique<MailedSend>(to, std::move(taken));
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    auto receipt = std::make_unique<MailedReceipt>(*this, office_.mailboxes[rank_], data, from, label.tag);
    if (receipt->took_news()) office_.bells[from].ring();
    return receipt;
  }

 protected:
  [[nodiscard]] std::unique_ptr<PeerPending> start_receive_control(std::span<std::byte> data) override {
    return std::make_unique<MailedReceipt>(*this, office_.mailboxes[rank_], data, rank_, Tag::control);
  }
  void idle(std::uint64_t turn, std::chrono::steady_clock::time_point until) override {
    Bell& bell = office_.bells[rank_];
    if (turn < (size() <= kFewClients ? kYields : 1)) {
      if (bell.rings() == seen_) std::this_thread::yield();
    } else {
      bell.wait(seen_, until);
    }
    seen_ = bell.rings();
  }

 private:
  // Sleeping and waking take longer than most answers: with some yields first, a sum over 7 clients on 2 busy cores
  // takes half the time. 10 to 1000 yields were equal within the noise.
  static constexpr std::uint64_t kYields = 100;
  // With a thousand clients, one that yields waits for all others to yield, too.
  static constexpr std::size_t kFewClients = 64;

  Office& office_;
  std::size_t rank_;
  std::uint64_t seen_ = 0;
};

template <class Body>
void run_client_on_thread(Office& office, std::size_t rank, Seconds timeout, FirstCause& first, const Body& body) {
  try {
    ThreadCommunicator communicator(office, rank, timeout);
    run_and_tell(communicator, first, body);
  } catch (...) {  // no memory for the communicator: the others will reach their time limit
    first.keep(std::current_exception());
  }
}

}  // namespace

void run_on_threads(std::size_t clients, Seconds timeout, const ClientBody& body) {
  Office office(clients);
  FirstCause first;
  {
    std::vector<std::jthread> threads;  // joined at the end of this block
    threads.reserve(clients - 1);
    // Client 0 starts the others as part of its work: if that fails, those already running are told.
    run_client_on_thread(office, 0, timeout, first, [&](Communicator& communicator) {
      try {
        for (std::size_t rank = 1; rank < clients; ++rank) {
          threads.emplace_back([&, rank] { run_client_on_thread(office, rank, timeout, first, body); });
        }
      } catch (const std::system_error&) {
        refuse_threads("`clients`", clients);
      }
      body(communicator);
    });
  }
  first.rethrow();
}

void run_threads(std::size_t clients, const RunSettings& settings, const ClientBody& body) {
  if (clients > 1) return run_on_threads(clients, settings.timeout, body);
  Alone alone;
  body(alone);
}

}  // namespace fedsinkhorn
