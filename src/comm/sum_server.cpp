#include "comm/sum_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/from_peer.hpp"
#include "comm/summing.hpp"

namespace fedsinkhorn {
namespace {

constexpr Label kRequest{Tag::slice, Payload::control};

Label label_of(Payload kind, SumRequest::Kind what) {
  return {Tag::collective, kind, what == SumRequest::Kind::add_up ? Form::masked : Form::plain};
}

/// As the clients see it.
class ServedSumming final : public Summing {
 public:
  ServedSumming(Communicator& everyone, Communicator& clients) : everyone_(everyone), clients_(clients) {}

  [[nodiscard]] Communicator& clients() const override { return clients_; }

  [[nodiscard]] std::string relay(const std::string& mine) override {
    ask({kSumProtocol, SumRequest::Kind::relay, static_cast<std::uint16_t>(Payload::keys), 0, mine.size()});
    std::string all(clients_.size() * mine.size(), '\0');
    exchange(label_of(Payload::keys, SumRequest::Kind::relay), std::as_bytes(std::span(mine)),
             std::as_writable_bytes(std::span(all)));
    return all;
  }

  void add_up(Payload kind, std::uint64_t counter, std::span<Word> words) override {
    ask({kSumProtocol, SumRequest::Kind::add_up, static_cast<std::uint16_t>(kind), counter, words.size_bytes()});
    const std::vector<Word> mine(words.begin(), words.end());
    exchange(label_of(kind, SumRequest::Kind::add_up), std::as_bytes(std::span(mine)), std::as_writable_bytes(words));
  }

 private:
  [[nodiscard]] std::size_t server() const { return everyone_.size() - 1; }
  void ask(const SumRequest& request) { everyone_.send(std::as_bytes(std::span(&request, 1)), server(), kRequest); }
  void exchange(Label label, std::span<const std::byte> mine, std::span<std::byte> answer) {
    const auto receipt = everyone_.start_receive(answer, server(), label);
    const auto sending = everyone_.start_send(mine, server(), label);
    everyone_.wait(*sending);
    everyone_.wait(*receipt);
  }

  Communicator& everyone_;
  Communicator& clients_;
};

class Server {
 public:
  explicit Server(Communicator& everyone) : everyone_(everyone), clients_(everyone.size() - 1) {}

  /// What all clients ask for.
  [[nodiscard]] SumRequest next_request() {
    constexpr double kDay = 24.0 * 3600;
    std::vector<SumRequest> said(clients_);
    std::vector<std::unique_ptr<Pending>> messages;
    std::vector<Pending*> awaited;
    for (std::size_t k = 0; k < clients_; ++k) {
      messages.push_back(everyone_.start_receive(std::as_writable_bytes(std::span(&said[k], 1)), k, kRequest));
      awaited.push_back(messages.back().get());
    }
    if (!everyone_.wait_any(awaited, everyone_.now() + std::max(kDay, everyone_.timeout()))) {
      everyone_.miss(*messages.front());
    }
    for (std::size_t k = 0; k < clients_; ++k) {
      everyone_.wait(*messages[k]);
      check(FromPeer(everyone_, k), said[k], said[0]);
    }
    return said[0];
  }

  void relay(const SumRequest& request) {
    std::vector<std::byte> all(clients_ * request.bytes);
    const Label label = label_of(static_cast<Payload>(request.payload), request.kind);
    receive(label, request.bytes, all);
    send_to_all(label, all);
  }

  void add_up(const SumRequest& request) {
    const std::size_t words = request.bytes / sizeof(Word);
    std::vector<Word> said(clients_ * words);
    const Label label = label_of(static_cast<Payload>(request.payload), request.kind);
    receive(label, request.bytes, std::as_writable_bytes(std::span(said)));
    for (std::size_t k = 1; k < clients_; ++k) {
      for (std::size_t i = 0; i < words; ++i) said[i] += said[k * words + i];
    }
    send_to_all(label, std::as_bytes(std::span(said).first(words)));
  }

 private:
  static void check(const FromPeer& peer, const SumRequest& said, const SumRequest& first) {
    if (said.protocol != kSumProtocol) peer.refuse("a request in a protocol not known here");
    const bool has_words = said.kind == SumRequest::Kind::add_up;
    if (said.kind > SumRequest::Kind::leave || said.payload >= kPayloads.size() || said.bytes > kMostSummed ||
        (has_words && said.bytes % sizeof(Word) != 0)) {
      peer.refuse("a request that makes no sense");
    }
    if (said != first) peer.refuse("another request than client 0");
  }

  void receive(Label label, std::size_t bytes, std::span<std::byte> all) {
    std::vector<std::unique_ptr<Pending>> messages;
    for (std::size_t k = 0; k < clients_; ++k) {
      messages.push_back(everyone_.start_receive(all.subspan(k * bytes, bytes), k, label));
    }
    for (const auto& message : messages) everyone_.wait(*message);
  }

  void send_to_all(Label label, std::span<const std::byte> data) {
    std::vector<std::unique_ptr<Pending>> messages;
    for (std::size_t k = 0; k < clients_; ++k) messages.push_back(everyone_.start_send(data, k, label));
    for (const auto& message : messages) everyone_.wait(*message);
  }

  Communicator& everyone_;
  std::size_t clients_;
};

}  // namespace

std::unique_ptr<Summing> make_served_summing(Communicator& everyone, Communicator& clients) {
  return std::make_unique<ServedSumming>(everyone, clients);
}

ServerLease::~ServerLease() {
  if (is_abandoned_) return;
  try {
    const SumRequest request{kSumProtocol, SumRequest::Kind::leave};
    everyone_.send(std::as_bytes(std::span(&request, 1)), everyone_.size() - 1, kRequest);
  } catch (const std::exception&) {  // it has left
  }
}

void serve_sums(Communicator& everyone) {
  Server server(everyone);
  for (;;) {
    const SumRequest request = server.next_request();
    switch (request.kind) {
      case SumRequest::Kind::relay: server.relay(request); break;
      case SumRequest::Kind::add_up: server.add_up(request); break;
      case SumRequest::Kind::leave: return;
    }
  }
}

}  // namespace fedsinkhorn
