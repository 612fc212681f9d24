// Clients of which only the first can be reached by all: what they say when something goes wrong takes that way, too.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "comm/waiting.hpp"
#include "comm/watch.hpp"
#include "fedsinkhorn/error.hpp"
#include "support/labels.hpp"

namespace fedsinkhorn::test {
namespace {

using namespace std::chrono_literals;

/// What is under way, and whether anything went where there is no way.
class Wires {
 public:
  void put(std::span<const std::byte> data, std::size_t from, std::size_t to, Tag tag) {
    const std::lock_guard lock(mutex_);
    if (from != 0 && to != 0) took_a_wrong_way_ = true;
    queues_[{from, to, tag}].emplace_back(data.begin(), data.end());
  }
  bool take(std::span<std::byte> data, std::size_t from, std::size_t to, Tag tag) {
    const std::lock_guard lock(mutex_);
    auto& queue = queues_[{from, to, tag}];
    if (queue.empty()) return false;
    std::ranges::copy(queue.front(), data.begin());
    queue.pop_front();
    return true;
  }
  [[nodiscard]] bool took_a_wrong_way() const { return took_a_wrong_way_; }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::size_t, std::size_t, Tag>, std::deque<std::vector<std::byte>>> queues_;
  bool took_a_wrong_way_ = false;
};

class Sent final : public Pending {
 public:
  [[nodiscard]] bool done() override { return true; }
};

class Receipt final : public PeerPending {
 public:
  Receipt(Wires& wires, std::span<std::byte> data, std::size_t from, std::size_t to, Tag tag)
      : PeerPending(from), wires_(wires), data_(data), to_(to), tag_(tag) {}
  [[nodiscard]] bool done() override { return is_done_ = is_done_ || wires_.take(data_, peer(), to_, tag_); }

 private:
  Wires& wires_;
  std::span<std::byte> data_;
  std::size_t to_;
  Tag tag_;
  bool is_done_ = false;
};

/// Of whatever comes first on Tag::control.
class NoticeReceipt final : public PeerPending {
 public:
  NoticeReceipt(Wires& wires, std::span<std::byte> data, std::size_t to, std::size_t clients)
      : PeerPending(to), wires_(wires), data_(data), to_(to), clients_(clients) {}
  [[nodiscard]] bool done() override {
    for (std::size_t from = 0; from < clients_ && !is_done_; ++from) {
      is_done_ = wires_.take(data_, from, to_, Tag::control);
      if (is_done_) set_peer(from);
    }
    return is_done_;
  }

 private:
  Wires& wires_;
  std::span<std::byte> data_;
  std::size_t to_;
  std::size_t clients_;
  bool is_done_ = false;
};

class StarCommunicator final : public WatchedCommunicator {
 public:
  StarCommunicator(Wires& wires, std::size_t rank, std::size_t size)
      : WatchedCommunicator(kShort), wires_(wires), rank_(rank), size_(size) {
    listen();
    keep_to_root(true);
  }
  ~StarCommunicator() override { stop_listening(); }
  StarCommunicator(const StarCommunicator&) = delete;
  StarCommunicator& operator=(const StarCommunicator&) = delete;

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return size_; }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    wires_.put(data, rank_, to, label.tag);
    return std::make_unique<Sent>();
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    return std::make_unique<Receipt>(wires_, data, from, rank_, label.tag);
  }

 protected:
  [[nodiscard]] std::unique_ptr<PeerPending> start_receive_control(std::span<std::byte> data) override {
    return std::make_unique<NoticeReceipt>(wires_, data, rank_, size_);
  }
  void idle(std::uint64_t /*turn*/, Clock::time_point /*until*/) override { std::this_thread::sleep_for(100us); }

 private:
  Wires& wires_;
  std::size_t rank_;
  std::size_t size_;
};

class Star : public ::testing::Test {
 protected:
  static constexpr std::size_t kClients = 4;

  /// What each client ended with, in words.
  std::vector<std::string> run(const std::function<void(Communicator&)>& body) {
    std::vector<std::string> ends(kClients);
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < kClients; ++rank) {
      threads.emplace_back([&, rank] {
        StarCommunicator communicator(wires_, rank, kClients);
        try {
          body(communicator);
          ends[rank] = "ended";
        } catch (const InputError& error) {
          ends[rank] = std::string("input: ") + error.what();
        } catch (const ClientLost& error) {
          ends[rank] = std::string("lost: ") + error.what();
        } catch (const std::exception& error) {
          ends[rank] = std::string("failed: ") + error.what();
        }
      });
    }
    threads.clear();
    return ends;
  }

  /// The server waits for everybody, everybody for the server.
  static void exchange(Communicator& communicator) {
    std::byte word{};
    for (std::size_t k = 1; k < kClients; ++k) {
      if (communicator.rank() == 0) communicator.receive({&word, 1}, k, on(Tag::slice));
      if (communicator.rank() != k) continue;
      communicator.send({&word, 1}, 0, on(Tag::slice));
      communicator.receive({&word, 1}, 0, on(Tag::slice));
    }
    for (std::size_t k = 1; communicator.rank() == 0 && k < kClients; ++k)
      communicator.send({&word, 1}, k, on(Tag::slice));
  }

  Wires wires_;
};

TEST_F(Star, AClientThatGivesUpIsHeardByAll) {
  const auto ends = run([](Communicator& communicator) {
    if (communicator.rank() == 2) return communicator.give_up(true, "b.npy: is wrong");
    exchange(communicator);
  });
  EXPECT_EQ(ends, (std::vector<std::string>{"input: b.npy: is wrong", "input: b.npy: is wrong", "ended",
                                            "input: b.npy: is wrong"}));
  EXPECT_FALSE(wires_.took_a_wrong_way());
}

TEST_F(Star, ASilentClientIsNamedByAll) {
  const auto ends = run([](Communicator& communicator) {
    if (communicator.rank() != 2) exchange(communicator);
  });
  const std::string line = "lost: client 2 has not answered for 0.2 s";
  EXPECT_EQ(ends, (std::vector<std::string>{line, line, "ended", line}));
  EXPECT_FALSE(wires_.took_a_wrong_way());
}

TEST_F(Star, ASilentServerIsNamedByAll) {
  const auto ends = run([](Communicator& communicator) {
    if (communicator.rank() != 0) exchange(communicator);
  });
  const std::string line = "lost: client 0 has not answered for 0.2 s";
  EXPECT_EQ(ends, (std::vector<std::string>{"ended", line, line, line}));
  EXPECT_FALSE(wires_.took_a_wrong_way());
}

// Clients know before the server does that it is one, since it may still be among those that come together.
TEST_F(Star, AServerThatDoesNotKnowItYetTellsAll) {
  const auto ends = run([](Communicator& communicator) {
    std::byte word{};
    const std::size_t server = kClients - 1;
    if (communicator.rank() == server) return communicator.receive({&word, 1}, 0, on(Tag::slice));
    communicator.keep_to_server();
    if (communicator.rank() == 1) return communicator.give_up(true, "b.npy: is wrong");
    communicator.receive({&word, 1}, server, on(Tag::slice));
  });
  const std::string line = "input: b.npy: is wrong";
  EXPECT_EQ(ends, (std::vector<std::string>{line, "ended", line, line}));
}

}  // namespace
}  // namespace fedsinkhorn::test
