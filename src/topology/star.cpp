#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "topology/scalings.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::size_t kServer = 0;

/// Slices of a vector on their way to the server and back. Clients need room for their own slice alone.
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

  /// The server calls use(client, slice, values) for every client in order, as its values come in: `targets` slices one
  /// after the other, then `extra` numbers. own: likewise, of this client.
  template <class Use>
  void collect(std::size_t targets, std::span<const double> own, std::size_t extra, const Use& use,
               Payload kind = Payload::slice) {
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

  /// The server gets the whole, targets x all; elsewhere the result is empty.
  [[nodiscard]] std::vector<double> collected(std::size_t targets, const double* own, Payload kind = Payload::slice) {
    std::vector<double> whole(clients_.rank() == kServer ? targets * whole_ : 0);
    const auto put = [&](std::size_t, Range slice, const double* values) {
      for (std::size_t k = 0; k < targets; ++k) {
        std::copy_n(values + k * slice.size(), slice.size(), whole.data() + k * whole_ + slice.first);
      }
    };
    collect(targets, {own, targets * own_size()}, 0, put, kind);
    return whole;
  }

  /// Every client gets its slice of what the server has.
  void deal_out(std::size_t targets, std::span<const double> whole, double* own, Payload kind = Payload::slice) {
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
        std::copy_n(whole.data() + k * whole_ + firsts_[client], sizes_[client], to + k * sizes_[client]);
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
/// Where the paper broadcasts q and r whole, a client gets its own slice: c times fewer bytes, and memory for a slice.
class Star final : public Topology {
 public:
  explicit Star(const TopologyContext& context)
      : problem_(context.problem),
        norm_(context.options.norm),
        everyone_(context.clients),
        rows_(everyone_, problem_.rows.slices),
        columns_(everyone_, problem_.columns.slices) {
    if (is_server()) kernel_.emplace(problem_.block(), context.block, compute_);
  }

  [[nodiscard]] const Collectives& clients() const override { return everyone_; }

  void absorb(std::span<const double> phi, std::span<const double> psi) override {
    const std::vector<double> all_phi = rows_.collected(1, phi.data(), Payload::potential);
    const std::vector<double> all_psi = columns_.collected(1, psi.data(), Payload::potential);
    if (is_server()) kernel_->absorb(all_phi, all_psi);
    u_.clear();
    images_.forget();
  }

  void set_epsilon(double epsilon) override {
    if (is_server()) kernel_->set_epsilon(epsilon);
  }

  void mix(std::size_t slot, const Mixture& mixture, std::span<double> own) override {
    const Stopwatch::Scope timed(compute_);
    const std::size_t size = is_server() ? columns_.whole_size() : own.size();
    double* v = v_.data() + slot * size;
    images_.mix(slot, mixture, {v, size});
    std::copy_n(v, own.size(), own.begin());  // the server's slice comes first
  }

  void share(std::size_t targets, const double* v, std::span<Note> notes) override {
    const std::size_t extra = numbers_in(notes);
    NoteReader reader(norm_, notes);
    std::vector<double> own(targets * columns_.own_size() + extra);
    std::copy_n(v, targets * columns_.own_size(), own.begin());
    write_notes(notes, own.data() + targets * columns_.own_size());
    v_.resize(targets * (is_server() ? columns_.whole_size() : columns_.own_size()));
    if (!is_server()) std::copy_n(v, v_.size(), v_.begin());
    columns_.collect(targets, own, extra, [&](std::size_t client, Range slice, const double* values) {
      for (std::size_t k = 0; k < targets; ++k, values += slice.size()) {
        std::copy_n(values, slice.size(), v_.data() + k * columns_.whole_size() + slice.first);
      }
      reader.take(from_peer(everyone_, client), values);
    });
    std::vector<double> verdict(extra);
    write_notes(notes, verdict.data());
    everyone_.of(Payload::note).broadcast(std::as_writable_bytes(std::span(verdict)), kServer);
    NoteReader(norm_, notes).take(from_peer(everyone_, kServer), verdict.data());
  }

  void rows(std::size_t targets, double* q, double* u) override {
    std::vector<double> all(is_server() ? targets * rows_.whole_size() : 0);
    if (is_server()) kernel_->apply(targets, v_.data(), all.data());
    rows_.deal_out(targets, all, q);
    divide_by(targets, problem_.a, q, u, compute_);
  }

  void columns(std::size_t targets, const double* u, double* r) override {
    u_.resize(is_server() ? targets * rows_.whole_size() : 0);
    collect_and_apply(targets, u, u_.data(), r);
    exchanges_ += exchanges_each_round();
  }

  // Only the server has a kernel to take steps with; what the others would compute is what they have.
  double local_step(std::size_t targets, Masses b, double* u, double* v) override {
    if (!is_server() || u_.size() != targets * rows_.whole_size()) return 0;
    double change = 0;
    const std::size_t n = problem_.n();
    const std::size_t m = problem_.m();
    std::vector<double> q(targets * rows_.whole_size());
    std::vector<double> r(targets * columns_.whole_size());
    std::vector<double> all_u(targets * rows_.whole_size());
    kernel_->apply(targets, v_.data(), q.data());
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        const double next = problem_.a[i] / q[k * rows_.whole_size() + i];
        if (!(next > 0 && std::isfinite(next))) continue;
        change = std::max(change, relative_change(u[k * n + i], next));
        u[k * n + i] = next;
        u_[k * n + i] = next;  // the server's slice comes first
      }
      copy_target(targets, k, all_u);
    }
    kernel_->apply_transposed(targets, all_u.data(), r.data());
    for (std::size_t k = 0; k < targets; ++k) {
      for (std::size_t j = 0; j < m; ++j) {
        const double next = b[k][j] / r[k * columns_.whole_size() + j];
        if (!(b[k][j] > 0 && next > 0 && std::isfinite(next))) continue;
        change = std::max(change, relative_change(v[k * m + j], next));
        v[k * m + j] = next;
        v_[k * columns_.whole_size() + j] = next;
      }
    }
    return change;
  }

  void remove(std::size_t slot) override {
    u_.clear();  // one client after the other; the next exchange brings it anew
    images_.remove(slot);
    if (v_.empty()) return;  // nothing shared yet
    const auto size = static_cast<std::ptrdiff_t>(is_server() ? columns_.whole_size() : columns_.own_size());
    const auto first = v_.begin() + static_cast<std::ptrdiff_t>(slot) * size;
    v_.erase(first, first + size);
  }

  void row_products(std::size_t targets, const double* v, double* q) override {
    const std::vector<double> all_v = columns_.collected(targets, v);
    std::vector<double> all_q(is_server() ? targets * rows_.whole_size() : 0);
    if (is_server()) kernel_->apply(targets, all_v.data(), all_q.data());
    rows_.deal_out(targets, all_q, q);
  }

  void column_products(std::size_t targets, const double* u, double* r) override {
    std::vector<double> slices(is_server() ? targets * rows_.whole_size() : 0);
    collect_and_apply(targets, u, slices.data(), r);
  }

  void row_log_sums(std::span<const double> psi, std::span<double> sums) override {
    const std::vector<double> all_psi = columns_.collected(1, psi.data(), Payload::potential);
    std::vector<double> all(is_server() ? rows_.whole_size() : 0);
    if (is_server()) kernel_->row_log_sums(all_psi, all);
    rows_.deal_out(1, all, sums.data(), Payload::potential);
  }

  void column_log_sums(std::span<const double> phi, std::span<const double> log_weights,
                       std::span<double> sums) override {
    const std::vector<double> all_phi = rows_.collected(1, phi.data(), Payload::potential);
    const std::vector<double> all_weights = rows_.collected(1, log_weights.data(), Payload::potential);
    std::vector<double> all(is_server() ? columns_.whole_size() : 0);
    if (is_server()) kernel_->column_log_sums(all_phi, all_weights, all);
    columns_.deal_out(1, all, sums.data(), Payload::potential);
  }

  [[nodiscard]] std::vector<PlanSums> plan_sums(std::span<const double> phi, std::span<const double> psi,
                                                std::size_t targets, const double* u, const double* v) override {
    const std::vector<double> all_phi = rows_.collected(1, phi.data(), Payload::potential);
    const std::vector<double> all_psi = columns_.collected(1, psi.data(), Payload::potential);
    const std::vector<double> all_u = rows_.collected(targets, u);
    const std::vector<double> all_v = columns_.collected(targets, v);
    std::vector<PlanSums> all(targets);
    if (is_server()) all = kernel_->plan_sums(all_phi, all_psi, targets, all_u.data(), all_v.data());
    std::vector<PlanSums> own(targets);
    for (std::size_t k = 0; k < targets; ++k) {
      own[k].rows.resize(rows_.own_size());
      own[k].columns.resize(columns_.own_size());
      rows_.deal_out(1, all[k].rows, own[k].rows.data());
      columns_.deal_out(1, all[k].columns, own[k].columns.data());
      own[k].logarithm = all[k].logarithm;  // these are 0 but at the server
      own[k].cost = all[k].cost;
      own[k].divergence = all[k].divergence;
    }
    return own;
  }

  [[nodiscard]] Passes passes() const override { return Passes::two; }
  [[nodiscard]] double compute_seconds() const override { return compute_.seconds(); }
  /// To the server and back, for v and for u.
  [[nodiscard]] std::uint64_t exchanges_each_round() const override { return everyone_.size() > 1 ? 2 : 0; }
  [[nodiscard]] std::uint64_t exchanges() const override { return exchanges_; }

 private:
  [[nodiscard]] bool is_server() const { return everyone_.rank() == kServer; }

  // r = K' u, the rows of a client added as its slice comes in. slices, at the server: u, one client after the other.
  void collect_and_apply(std::size_t targets, const double* u, double* slices, double* r) {
    std::vector<double> all_r(is_server() ? targets * columns_.whole_size() : 0);
    if (is_server()) kernel_->begin_transposed(targets);
    rows_.collect(targets, {u, targets * rows_.own_size()}, 0, [&](std::size_t, Range slice, const double* values) {
      std::copy_n(values, targets * slice.size(), slices + targets * slice.first);
      kernel_->add_transposed(targets, slice, values);
    });
    if (is_server()) kernel_->end_transposed(targets, all_r.data());
    columns_.deal_out(targets, all_r, r);
  }

  // From one client after the other to one target after the other.
  void copy_target(std::size_t targets, std::size_t target, std::vector<double>& all) const {
    for (const Range& slice : problem_.rows.slices) {
      std::copy_n(u_.data() + targets * slice.first + target * slice.size(), slice.size(),
                  all.data() + target * rows_.whole_size() + slice.first);
    }
  }

  const CheckedProblem& problem_;
  const Norm norm_;
  Collectives everyone_;
  Spokes rows_, columns_;
  Stopwatch compute_{everyone_.communicator()};
  std::optional<HeldBlock> kernel_;  // all of K, at the server
  std::uint64_t exchanges_ = 0;
  std::vector<double> v_;  // targets x all columns at the server, x own ones elsewhere
  ImageHistory images_;    // of v_
  std::vector<double> u_;  // server: one client after the other, each targets x its rows
};

}  // namespace

Layout star_layout(std::size_t client, std::size_t clients, const Options& /*options*/) {
  Layout layout = own_rows(client, clients);
  layout.row_slices = client == kServer ? Range{0, clients} : Range{};
  layout.column_slices = client == kServer ? Range{0, clients} : Range{};
  layout.takes_parts = false;
  return layout;
}

std::unique_ptr<Topology> make_star(const TopologyContext& context) { return std::make_unique<Star>(context); }

}  // namespace fedsinkhorn
