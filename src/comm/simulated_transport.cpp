#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "comm/draw.hpp"
#include "comm/first_cause.hpp"
#include "comm/lost_lines.hpp"
#include "comm/transports.hpp"
#include "comm/virtual_time.hpp"
#include "comm/watch.hpp"
#include "core/refused_threads.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

/// Thrown at a lost client to make it leave its thread. Not a std::exception: it must not be taken for a failure.
struct Gone {};

/// Why all clients end.
struct Verdict {
  enum class Kind { bad_input, failed, lost };
  Kind kind;
  std::string line;
  std::vector<std::size_t> lost{};

  [[noreturn]] void raise() const {
    if (kind == Kind::bad_input) throw InputError(line);
    if (kind == Kind::lost) throw ClientLost(line, lost);
    throw ClientFailed(line);
  }
};

/// The state of a message on either side.
struct Delivery {
  bool is_done = false;
  bool is_awaited = false;  // its client sleeps until it is done
};

class Message : public PeerPending {
 public:
  using PeerPending::PeerPending;
  virtual void set_awaited(bool is_awaited) = 0;
};

class SimulatedSend final : public Message {
 public:
  /// taken: for news that have not been taken yet.
  SimulatedSend(std::size_t to, std::shared_ptr<Delivery> taken) : Message(to), taken_(std::move(taken)) {}
  [[nodiscard]] bool done() override { return taken_ == nullptr || taken_->is_done; }
  void set_awaited(bool is_awaited) override {
    if (taken_ != nullptr) taken_->is_awaited = is_awaited;
  }

 private:
  std::shared_ptr<Delivery> taken_;
};

struct Letter {
  Tag tag;
  std::vector<std::byte> bytes;
  std::shared_ptr<Delivery> taken;  // for the sender of news
};

class SimulatedReceipt;

/// From one client to another.
struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  const LinkScenario* special = nullptr;
  std::uint64_t sent = 0;  // messages
  double free_at = 0;      // when all of them have left
  std::vector<std::pair<Tag, double>> last_arrivals;
  std::list<Letter> letters;                // arrived, not received yet
  std::vector<SimulatedReceipt*> receipts;  // not filled yet, in the order they were posted

  /// The earliest time at which a message of this tag may arrive.
  [[nodiscard]] double& last_arrival(Tag tag) {
    const auto known = std::ranges::find(last_arrivals, tag, &std::pair<Tag, double>::first);
    return known != last_arrivals.end() ? known->second : last_arrivals.emplace_back(tag, 0.0).second;
  }
};

/// What the clients share. Used by the client whose turn it is.
class Network {
 public:
  Network(std::size_t clients, double timeout, const Scenario& scenario);

  [[nodiscard]] std::size_t clients() const { return clients_.size(); }
  [[nodiscard]] double timeout() const { return timeout_; }
  [[nodiscard]] VirtualTime& time() { return time_; }
  /// Created on first use: most of the c^2 possible links may never exist.
  [[nodiscard]] Link& link(std::size_t from, std::size_t to);

  /// For news, returns what tells whether it has been taken.
  std::shared_ptr<Delivery> send(std::span<const std::byte> data, Link& link, Tag tag);
  void deliver(Link& link, Letter letter);
  /// The letter has reached the receiver's port, which it occupies for that long before it has arrived.
  void enter_port(Link& link, Letter letter, double seconds);
  void post(Link& link, SimulatedReceipt& receipt);

  void sleep(std::size_t client, std::span<Pending* const> messages, double until);
  void work(std::size_t client, double entries);

  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }
  /// The first verdict holds. Wakes all sleeping clients.
  void come_to(Verdict verdict);

 private:
  struct Client {
    double slower = 1;
    std::uint64_t stretches = 0;  // of work
    double out_free_at = 0;       // ports that all links share
    double in_free_at = 0;
    bool awaits_wrapped = false;  // waits for wrapped messages: any may be the one
  };

  /// For a link's number-th message, or a client's number-th stretch of work (as a link to itself). They do not depend
  /// on what else happens.
  [[nodiscard]] Draws draws(std::size_t from, std::size_t to, std::uint64_t number) const {
    return {scenario_.seed, number * clients() * clients() + from * clients() + to};
  }
  void tell(std::size_t client, Delivery& delivery);

  const Scenario& scenario_;
  double timeout_;
  VirtualTime time_;
  std::vector<Client> clients_;
  std::map<std::pair<std::size_t, std::size_t>, Link> links_;  // by sender and receiver
  std::optional<Verdict> verdict_;
};

/// A receive. Destroying it withdraws it, so nothing is written into a freed buffer.
class SimulatedReceipt final : public Message {
 public:
  SimulatedReceipt(Communicator& owner, Network& network, Link& link, std::span<std::byte> data, Tag tag)
      : Message(link.from), owner_(owner), link_(link), data_(data), tag_(tag) {
    network.post(link, *this);
  }
  ~SimulatedReceipt() override {
    if (!delivery_.is_done) std::erase(link_.receipts, this);
  }
  SimulatedReceipt(const SimulatedReceipt&) = delete;
  SimulatedReceipt& operator=(const SimulatedReceipt&) = delete;

  [[nodiscard]] Tag tag() const { return tag_; }
  [[nodiscard]] Delivery& delivery() { return delivery_; }
  void set_awaited(bool is_awaited) override { delivery_.is_awaited = is_awaited; }
  [[nodiscard]] bool done() override {
    if (delivery_.is_done && came_ != data_.size()) owner_.distrust(peer(), line_of_size(came_, data_.size()));
    return delivery_.is_done;
  }
  void fill(std::span<const std::byte> data) {
    came_ = data.size();
    if (came_ == data_.size()) std::ranges::copy(data, data_.begin());
  }

 private:
  Communicator& owner_;
  Link& link_;
  std::span<std::byte> data_;
  Tag tag_;
  std::size_t came_ = 0;
  Delivery delivery_;
};

class Arrival final : public VirtualTime::Happening {
 public:
  Arrival(Network& network, Link& link, Letter letter) : network_(network), link_(link), letter_(std::move(letter)) {}
  void happen() override { network_.deliver(link_, std::move(letter_)); }

 private:
  Network& network_;
  Link& link_;
  Letter letter_;
};

class AtPort final : public VirtualTime::Happening {
 public:
  AtPort(Network& network, Link& link, Letter letter, double seconds)
      : network_(network), link_(link), letter_(std::move(letter)), seconds_(seconds) {}
  void happen() override { network_.enter_port(link_, std::move(letter_), seconds_); }

 private:
  Network& network_;
  Link& link_;
  Letter letter_;
  double seconds_;
};

Network::Network(std::size_t clients, double timeout, const Scenario& scenario)
    : scenario_(scenario), timeout_(timeout), time_(clients, scenario.clients), clients_(clients) {
  for (const ClientScenario& one : scenario.clients) clients_.at(one.client).slower = one.slower;
  for (const LinkScenario& one : scenario.links) link(one.from, one.to).special = &one;
}

Link& Network::link(std::size_t from, std::size_t to) {
  Link& link = links_[{from, to}];
  link.from = from;
  link.to = to;
  return link;
}

std::shared_ptr<Delivery> Network::send(std::span<const std::byte> data, Link& link, Tag tag) {
  const bool has_own_latency = link.special != nullptr && link.special->latency;
  const bool has_own_bandwidth = link.special != nullptr && link.special->bandwidth;
  const bool has_own_late = link.special != nullptr && link.special->late;
  Draws drawn = draws(link.from, link.to, link.sent++);
  const double latency = drawn.from(has_own_latency ? *link.special->latency : scenario_.latency);
  const double bandwidth = drawn.from(has_own_bandwidth ? *link.special->bandwidth : scenario_.bandwidth);
  const double late = drawn.from(has_own_late ? *link.special->late : scenario_.late);

  const double seconds = static_cast<double>(data.size()) / bandwidth;
  if (scenario_.shares_ports) {
    double& free_at = clients_[link.from].out_free_at;
    const double start = std::max(free_at, time_.now());
    free_at = start + seconds;
    double reach = start + latency + late;
    if (!is_news(tag) || !scenario_.reorder) {
      double& last = link.last_arrival(tag);
      last = reach = std::max(reach, last);
    }
    auto taken = is_news(tag) ? std::make_shared<Delivery>() : nullptr;
    time_.plan(reach, std::make_unique<AtPort>(*this, link, Letter{tag, {data.begin(), data.end()}, taken}, seconds));
    return taken;
  }
  link.free_at = std::max(link.free_at, time_.now()) + seconds;
  double arrival = link.free_at + latency + late;
  if (!is_news(tag) || !scenario_.reorder) {
    double& last = link.last_arrival(tag);
    last = arrival = std::max(arrival, last);
  }
  auto taken = is_news(tag) ? std::make_shared<Delivery>() : nullptr;
  time_.plan(arrival, std::make_unique<Arrival>(*this, link, Letter{tag, {data.begin(), data.end()}, taken}));
  return taken;
}

void Network::enter_port(Link& link, Letter letter, double seconds) {
  double& free_at = clients_[link.to].in_free_at;
  free_at = std::max(free_at, time_.now()) + seconds;
  time_.plan(free_at, std::make_unique<Arrival>(*this, link, std::move(letter)));
}

void Network::deliver(Link& link, Letter letter) {
  const auto first = std::ranges::find(link.receipts, letter.tag, &SimulatedReceipt::tag);
  if (first == link.receipts.end()) {
    link.letters.push_back(std::move(letter));
    return;
  }
  SimulatedReceipt& receipt = **first;
  link.receipts.erase(first);
  receipt.fill(letter.bytes);
  tell(link.to, receipt.delivery());
  if (letter.taken != nullptr) tell(link.from, *letter.taken);
}

void Network::post(Link& link, SimulatedReceipt& receipt) {
  const auto first = std::ranges::find(link.letters, receipt.tag(), &Letter::tag);
  if (first == link.letters.end()) {
    link.receipts.push_back(&receipt);
    return;
  }
  receipt.fill(first->bytes);
  receipt.delivery().is_done = true;
  if (first->taken != nullptr) tell(link.from, *first->taken);
  link.letters.erase(first);
}

void Network::tell(std::size_t client, Delivery& delivery) {
  delivery.is_done = true;
  if (delivery.is_awaited || clients_[client].awaits_wrapped) time_.wake(client);
}

void Network::sleep(std::size_t client, std::span<Pending* const> messages, double until) {
  const auto set_awaited = [&](bool is_awaited) {
    bool has_wrapped = false;
    for (Pending* pending : messages) {
      while (Pending* const below = pending->below()) pending = below;
      if (auto* const message = dynamic_cast<Message*>(pending)) {
        message->set_awaited(is_awaited);
      } else {
        has_wrapped = true;
      }
    }
    clients_[client].awaits_wrapped = is_awaited && has_wrapped;
  };
  set_awaited(true);
  time_.sleep(client, until);
  set_awaited(false);
}

void Network::work(std::size_t client, double entries) {
  Client& worker = clients_[client];
  const double factor = draws(client, client, worker.stretches++).from(scenario_.compute_factor);
  time_.work(client, entries * scenario_.seconds_per_entry * worker.slower * factor);
}

void Network::come_to(Verdict verdict) {
  if (verdict_) return;
  verdict_ = std::move(verdict);
  time_.wake_all();
}

class SimulatedCommunicator final : public Communicator {
 public:
  SimulatedCommunicator(Network& network, std::size_t rank) : network_(network), time_(network.time()), rank_(rank) {}

  [[nodiscard]] std::size_t rank() const override { return rank_; }
  [[nodiscard]] std::size_t size() const override { return network_.clients(); }
  [[nodiscard]] double timeout() const override { return network_.timeout(); }
  [[nodiscard]] double now() const override { return time_.now(); }
  [[nodiscard]] bool clock_is_virtual() const override { return true; }
  [[nodiscard]] std::size_t clients_on_machine() const override { return 1; }  // one computes at a time

  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override {
    leave_if_gone();
    return std::make_unique<SimulatedSend>(to, network_.send(data, network_.link(rank_, to), label.tag));
  }
  [[nodiscard]] std::unique_ptr<Pending> start_receive(std::span<std::byte> data, std::size_t from,
                                                       Label label) override {
    leave_if_gone();
    return std::make_unique<SimulatedReceipt>(*this, network_, network_.link(from, rank_), data, label.tag);
  }

  [[nodiscard]] bool wait_any(std::span<Pending* const> messages, double until) override {
    for (;;) {
      look_up();
      if (std::ranges::any_of(messages, [](Pending* message) { return message->done(); })) return true;
      if (now() >= until) return false;
      network_.sleep(rank_, messages, until);
    }
  }

  void miss(const Pending& message) override {
    look_up();
    std::vector<std::size_t> silent;
    std::vector<std::size_t> ended;
    for (std::size_t k = 0; k < size(); ++k) {
      if (time_.is_silent(k)) silent.push_back(k);
      if (time_.has_ended(k)) ended.push_back(k);
    }
    if (silent.empty()) silent = ended;  // they do not answer either, but this need not be the cause
    const auto* addressed = dynamic_cast<const PeerPending*>(&message);
    const std::string peer = addressed == nullptr ? "" : fmt::format(" with client {}", addressed->peer());
    std::string line =
        silent.empty() ? line_of_no_exchange(rank_, peer, timeout()) : line_of_silence(silent, timeout());
    if (has_server_ && silent == std::vector{size() - 1}) line = line_of_silent_server(timeout());
    network_.come_to({Verdict::Kind::lost, line, silent});
    network_.verdict()->raise();
  }

  void distrust(std::size_t client, const std::string& sent) override {
    look_up();
    network_.come_to({Verdict::Kind::lost, line_of_distrust(client, sent), {client}});
    network_.verdict()->raise();
  }

  void break_off(const std::string& line) override {
    look_up();
    network_.come_to({Verdict::Kind::lost, line, {}});
    network_.verdict()->raise();
  }

  void look_up() override {
    leave_if_gone();
    if (time_.is_stuck()) {
      throw std::logic_error("all clients wait, without a limit, for messages that cannot come any more");
    }
    if (network_.verdict()) network_.verdict()->raise();
  }

  void keep_to_server() override { has_server_ = true; }

  void worked(double entries) noexcept override {
    if (entries > 0) network_.work(rank_, entries);
  }

  void give_up(bool bad_input, const char* text) noexcept override {
    if (time_.is_gone(rank_)) return;
    try {
      network_.come_to({bad_input ? Verdict::Kind::bad_input : Verdict::Kind::failed, text});
    } catch (const std::exception&) {  // the others will reach their time limit
    }
  }

 private:
  void leave_if_gone() const {
    if (time_.is_gone(rank_)) throw Gone{};
  }

  Network& network_;
  VirtualTime& time_;
  std::size_t rank_;
  bool has_server_ = false;
};

void run_simulated_client(Network& network, std::size_t rank, FirstCause& first, const ClientBody& body) {
  if (network.time().begin(rank)) {
    SimulatedCommunicator communicator(network, rank);
    run_and_tell(communicator, first, [&](Communicator& own) {
      try {
        body(own);
      } catch (...) {
        if (!network.time().is_gone(rank)) throw;
      }
    });
  }
  network.time().end(rank);
}

}  // namespace

void run_simulated(std::size_t clients, Seconds timeout, const Scenario& scenario, const ClientBody& body) {
  Network network(clients, timeout.count(), scenario);
  FirstCause first;
  {
    std::vector<std::jthread> threads;  // joined at the end of this block
    threads.reserve(clients - 1);
    try {
      for (std::size_t rank = 1; rank < clients; ++rank) {
        threads.emplace_back([&, rank] { run_simulated_client(network, rank, first, body); });
      }
    } catch (const std::system_error&) {
      network.time().call_off();
      refuse_threads("`clients`", clients);
    } catch (...) {
      network.time().call_off();
      throw;
    }
    run_simulated_client(network, 0, first, body);
  }
  first.rethrow();
}

}  // namespace fedsinkhorn
