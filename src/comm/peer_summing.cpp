#include <vector>

#include "comm/collectives.hpp"
#include "comm/summing.hpp"

namespace fedsinkhorn {
namespace {

/// How words are dealt to those who add them up.
struct Deal {
  std::size_t words;
  std::size_t clients;

  [[nodiscard]] std::size_t adders() const { return words <= kFewWords * clients ? 1 : clients; }
  [[nodiscard]] std::size_t first(std::size_t adder) const { return words * adder / adders(); }
  [[nodiscard]] std::size_t size(std::size_t adder) const { return first(adder + 1) - first(adder); }
};

class PeerSumming final : public Summing {
 public:
  explicit PeerSumming(Communicator& clients) : clients_(clients) {}

  [[nodiscard]] Communicator& clients() const override { return clients_; }

  [[nodiscard]] std::string relay(const std::string& mine) override {
    const std::vector<std::size_t> sizes(clients_.size(), mine.size());
    return Collectives(clients_).of(Payload::keys).allgather_bytes(mine, sizes);
  }

  void add_up(Payload kind, std::uint64_t /*counter*/, std::span<Word> words) override {
    const Label label{Tag::collective, kind, Form::masked};
    const Deal deal{words.size(), clients_.size()};
    const std::size_t adders = deal.adders();
    const std::size_t me = clients_.rank();
    const auto part = [&](std::size_t adder) { return words.subspan(deal.first(adder), deal.size(adder)); };
    std::vector<std::unique_ptr<Pending>> sends;
    for (std::size_t step = 1; step <= clients_.size(); ++step) {
      const std::size_t adder = (me + step) % clients_.size();
      if (adder < adders && adder != me) {
        sends.push_back(clients_.start_send(std::as_bytes(part(adder)), adder, label));
      }
    }
    if (me < adders) add_others(part(me), label);
    wait_all(sends);
    std::vector<std::unique_ptr<Pending>> sums;
    for (std::size_t step = 1; step < clients_.size(); ++step) {
      const std::size_t k = (me + step) % clients_.size();  // not everybody to client 0 first
      if (k < adders) sums.push_back(clients_.start_receive(std::as_writable_bytes(part(k)), k, label));
      if (me < adders) sums.push_back(clients_.start_send(std::as_bytes(part(me)), k, label));
    }
    wait_all(sums);
  }

 private:
  void add_others(std::span<Word> own, Label label) {
    const std::size_t others = clients_.size() - 1;
    std::vector<Word> said(others * own.size());
    std::vector<std::unique_ptr<Pending>> messages;
    for (std::size_t k = 0; k < others; ++k) {
      const std::span<Word> from = std::span(said).subspan(k * own.size(), own.size());
      messages.push_back(clients_.start_receive(std::as_writable_bytes(from), k < clients_.rank() ? k : k + 1, label));
    }
    for (std::size_t k = 0; k < others; ++k) {
      clients_.wait(*messages[k]);
      for (std::size_t i = 0; i < own.size(); ++i) own[i] += said[k * own.size() + i];
    }
  }

  void wait_all(const std::vector<std::unique_ptr<Pending>>& messages) {
    for (const auto& message : messages) clients_.wait(*message);
  }

  Communicator& clients_;
};

}  // namespace

std::vector<std::size_t> words_added_by(std::size_t clients, std::size_t words) {
  const Deal deal{words + 1, clients};
  std::vector<std::size_t> sizes(clients);
  for (std::size_t k = 0; k < deal.adders(); ++k) sizes[k] = deal.size(k);
  return sizes;
}

std::unique_ptr<Summing> make_peer_summing(Communicator& clients) { return std::make_unique<PeerSumming>(clients); }

}  // namespace fedsinkhorn
