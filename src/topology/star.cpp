#include <algorithm>
#include <memory>

#include "topology/slice_group.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kServer = 0;

/// Sends slices of a vector to the server and back. Clients other than the server only store their own slice.
class Spokes {
 public:
  Spokes(const Collectives& clients, std::span<const Range> slices) : clients_(clients), sizes_(sizes_of(slices)) {
    for (const std::size_t size : sizes_) {
      firsts_.push_back(whole_);
      whole_ += size;
    }
  }

  [[nodiscard]] std::size_t whole_size() const { return whole_; }
  [[nodiscard]] std::size_t own_size() const { return sizes_[clients_.rank()]; }

  /// The server calls use(client, slice, values) for every client in order, as its values arrive: `targets` slices one
  /// after the other, then `extra` numbers. own: the same, of this client.
  template <class Use>
  void collect(Payload kind, std::size_t targets, std::span<const double> own, std::size_t extra, const Use& use) {
    Communicator& communicator = clients_.communicator();
    if (clients_.rank() != kServer) {
      communicator.send(std::as_bytes(own), kServer, {Tag::slice, kind});
      return;
    }
    std::vector<std::vector<double>> slices(sizes_.size());
    std::vector<std::unique_ptr<Pending>> messages(sizes_.size());
    for (std::size_t k = 1; k < sizes_.size(); ++k) {
      slices[k].resize(targets * sizes_[k] + extra);
      messages[k] = communicator.start_receive(std::as_writable_bytes(std::span(slices[k])), k, {Tag::slice, kind});
    }
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      if (k != kServer) communicator.wait(*messages[k]);
      use(k, Range{firsts_[k], firsts_[k] + sizes_[k]}, k == kServer ? own.data() : slices[k].data());
    }
  }

  /// Copies values collected from one client to their place in the whole.
  void place(std::size_t targets, Range slice, const double* values, double* whole) const {
    for (std::size_t k = 0; k < targets; ++k) {
      std::copy_n(values + k * slice.size(), slice.size(), whole + k * whole_ + slice.first);
    }
  }

  /// Sends every client its slice of the server's vector.
  void deal_out(Payload kind, std::size_t targets, const double* whole, double* own) {
    Communicator& communicator = clients_.communicator();
    if (clients_.rank() != kServer) {
      communicator.receive(std::as_writable_bytes(std::span(own, targets * own_size())), kServer, {Tag::slice, kind});
      return;
    }
    std::vector<std::vector<double>> slices(sizes_.size());
    std::vector<std::unique_ptr<Pending>> messages;
    for (std::size_t client = 0; client < sizes_.size(); ++client) {
      double* to = own;
      if (client != kServer) {
        slices[client].resize(targets * sizes_[client]);
        to = slices[client].data();
      }
      for (std::size_t k = 0; k < targets; ++k) {
        std::copy_n(whole + k * whole_ + firsts_[client], sizes_[client], to + k * sizes_[client]);
      }
      if (client == kServer) continue;
      messages.push_back(communicator.start_send(std::as_bytes(std::span(slices[client])), client, {Tag::slice, kind}));
    }
    for (const auto& message : messages) communicator.wait(*message);
  }

 private:
  const Collectives& clients_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> firsts_;
  std::size_t whole_ = 0;
};

/// v_J to the server, q = K v, q_I back, u_I = a_I / q_I;  u_I to the server, r = K' u, r_J back, v_J = b_J / r_J.
///
/// The paper broadcasts q and r whole. Here a client gets only its slice: c times fewer bytes, and memory for a slice.
class Star final : public Exchanges {
 public:
  explicit Star(const TopologyContext& context)
      : norm_(context.options.norm),
        everyone_(context.clients),
        rows_(everyone_, context.problem.rows.slices),
        columns_(everyone_, context.problem.columns.slices) {}

  // Clients other than the server only know their own slices. The server's slices come first.
  [[nodiscard]] Known rows() const override {
    return is_server() ? Known{rows_.whole_size(), {0, rows_.own_size()}} : Known{};
  }
  [[nodiscard]] Known columns() const override {
    return {is_server() ? columns_.whole_size() : columns_.own_size(), {0, columns_.own_size()}};
  }

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override {
    const std::size_t size = targets * columns_.own_size();
    const std::size_t extra = numbers_in(notes);
    NoteReader reader(norm_, notes);
    std::vector<double> message(size + extra);
    std::copy_n(own, size, message.begin());
    write_notes(notes, message.data() + size);
    if (!is_server()) std::copy_n(own, size, known);
    columns_.collect(kind, targets, message, extra, [&](std::size_t client, Range slice, const double* values) {
      columns_.place(targets, slice, values, known);
      reader.take(from_peer(everyone_, client), values + targets * slice.size());
    });
    if (notes.empty()) return;
    std::vector<double> verdict(extra);
    write_notes(notes, verdict.data());
    everyone_.of(Payload::note).broadcast(std::as_writable_bytes(std::span(verdict)), kServer);
    NoteReader(norm_, notes).take(from_peer(everyone_, kServer), verdict.data());
  }
  void rows_in(Payload kind, std::size_t targets, const double* own, double* known) override {
    rows_.collect(kind, targets, {own, targets * rows_.own_size()}, 0,
                  [&](std::size_t, Range slice, const double* values) { rows_.place(targets, slice, values, known); });
  }
  void rows_out(Payload kind, std::size_t targets, const double* part, double* own) override {
    rows_.deal_out(kind, targets, part, own);
  }
  void columns_out(Payload kind, std::size_t targets, const double* part, const double* /*v*/, double* own) override {
    columns_.deal_out(kind, targets, part, own);
  }

  /// Only the server has a kernel; the others would just recompute what they have.
  [[nodiscard]] bool takes_local_steps() const override { return is_server(); }
  /// To the server and back, for v and for u.
  [[nodiscard]] std::uint64_t each_round() const override { return everyone_.size() > 1 ? 2 : 0; }

 private:
  [[nodiscard]] bool is_server() const { return everyone_.rank() == kServer; }

  const Norm norm_;
  Collectives everyone_;
  Spokes rows_, columns_;
};

}  // namespace

Layout star_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  Layout layout = own_rows(client, clients);
  layout.row_slices = client == kServer ? Range{0, clients} : Range{};
  layout.column_slices = client == kServer ? Range{0, clients} : Range{};
  layout.takes_parts = false;
  return layout;
}

// q back, u in, r back, v in with a note of each client, and all notes combined.
Round star_round(const RoundShape& shape) {
  const std::size_t note = shape.targets * shape.note_numbers;
  Round round;
  round.exchanges = {deal_exchange(shape.rows, shape.client, shape.targets),
                     collect_exchange(shape.rows, shape.client, shape.targets),
                     deal_exchange(shape.columns, shape.client, shape.targets),
                     collect_exchange(shape.columns, shape.client, shape.targets, note),
                     broadcast_exchange(shape.clients(), shape.client, note)};
  round.work = work_of(shape, star_layout(shape.client, shape.clients(), {}), false);
  round.work.works_alone = shape.clients() > 1;
  return round;
}

std::unique_ptr<Exchanges> star_exchanges(const TopologyContext& context) { return std::make_unique<Star>(context); }

}  // namespace fedsinkhorn
