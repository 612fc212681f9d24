// The paper's Algorithm 3, made to converge: see docs/async.md.
#include <algorithm>
#include <cmath>

#include "core/special_numbers.hpp"
#include "topology/bulletin.hpp"
#include "topology/scalings.hpp"
#include "topology/topologies.hpp"

namespace fedsinkhorn {
namespace {

/// Rounds are those of all-to-all. Between rounds, clients iterate on their own rows and columns with the newest slices
/// of the others, until one wants a round: because it believes the problem is solved, scalings must be absorbed, or the
/// limit is reached. The round then measures the true marginals.
class Asynchronous final : public Topology {
 public:
  Asynchronous(const TopologyContext& context, std::unique_ptr<Exchanges> exchanges)
      : Topology(context, std::move(exchanges)),
        damping_(context.options.damping),
        damping_kind_(context.options.damping_kind),
        max_staleness_(static_cast<std::size_t>(context.options.max_staleness)),
        delays_(everyone_.size()) {}

  [[nodiscard]] Ahead run_ahead(const Stretch& stretch) override {
    if (everyone_.size() == 1 || stretch.iteration >= stretch.last) return {};
    if (u_.empty()) share_u(stretch.targets, stretch.u);
    is_ahead_ = true;
    ++stretches_;
    make_room(stretch.targets);
    const Bulletin::Apply apply = [&](SliceKind kind, std::size_t from, std::span<const double> values) {
      kind == SliceKind::u ? hear_u(stretch.targets, from, values) : hear_v(stretch.targets, from, values);
    };
    Bulletin bulletin(everyone_.communicator(), shape_of_messages(stretch.targets, stretch.iteration), apply, delays_);
    while (has_nothing(me()) && !bulletin.is_called()) bulletin.await_anything();
    std::int64_t made = 0;
    for (Step step = Step::made; step == Step::made && !bulletin.is_called();) {
      step = iterate(stretch, stretch.iteration + made + 1, bulletin);
      if (step != Step::left) ++made;
    }
    const std::int64_t most = bulletin.part(made, stretch.last - stretch.iteration);
    exchanges_made_ += bulletin.waits() + 1;
    exchange().columns_in(Payload::slice, stretch.targets, stretch.v, v_.data(), {});
    settle();
    return {most, made};
  }
  void settle() override {
    is_ahead_ = false;
    settled_.clear();
    if (everyone_.size() == 1) return;  // no client to lose
    for (std::size_t slot = 0; slot * columns() < v_.size(); ++slot) settled_.push_back(heard(slot));
  }
  void remove(std::size_t slot) override {
    Topology::remove(slot);
    if (slot < settled_.size()) settled_.erase(settled_.begin() + static_cast<std::ptrdiff_t>(slot));
  }

  // During a round slices may be of mixed origin or unusable, so the state before the round is used.
  [[nodiscard]] std::optional<KnownPotentials> known(std::size_t slot) const override {
    if (is_ahead_) return heard(slot);
    if (slot < settled_.size()) return settled_[slot];
    return std::nullopt;
  }
  [[nodiscard]] const DelayTable* delays() const override { return &delays_; }

 private:
  /// The iteration was made; it was made and a round is wanted; it was abandoned because another client wants a round.
  enum class Step : char { made, made_last, left };

  [[nodiscard]] Step iterate(const Stretch& stretch, std::int64_t number, Bulletin& bulletin) {
    const std::size_t targets = stretch.targets;
    bool wants_round = number >= stretch.last;
    bulletin.take();
    bulletin.await_news();
    bulletin.await_answers(SliceKind::v);
    if (!bulletin.await_fresh(SliceKind::v, true)) return Step::left;
    bulletin.begin_iteration();

    // q = K[I,:] v, u_I = a_I / q
    bulletin.note_use(SliceKind::v);
    apply(targets, q_.data());
    const std::vector<const double*> masses_a(targets, problem_.a.data());
    if (!update(stretch, problem_.n(), masses_a, q_, stretch.u, &Note::error_a, wants_round)) return Step::made_last;
    place(targets, problem_.rows, me(), stretch.u, u_);
    tell(bulletin, SliceKind::u, stretch, number, {stretch.u, targets * problem_.n()});
    bulletin.take();
    bulletin.await_answers(SliceKind::u);
    if (!bulletin.await_fresh(SliceKind::u, false)) return Step::left;

    // r = K[:,J]' u, v_J = b_J / r
    bulletin.note_use(SliceKind::u);
    apply_transposed(targets, r_.data());
    if (!update(stretch, problem_.m(), stretch.b, r_, stretch.v, &Note::error_b, wants_round)) return Step::made_last;
    place(targets, problem_.columns, me(), stretch.v, v_);
    tell(bulletin, SliceKind::v, stretch, number, message_v(stretch));
    wants_round |= stretch.observe(number, estimate(&Note::error_a), estimate(&Note::error_b));
    return wants_round ? Step::made_last : Step::made;
  }

  /// scalings = masses / products, damped, for all targets. Stores the errors before the update in this client's notes.
  /// Returns false and leaves the scalings unchanged if some would be zero or infinite.
  [[nodiscard]] bool update(const Stretch& stretch, std::size_t size, Masses masses,
                            const std::vector<double>& products, double* scalings, ErrorPart Note::*error,
                            bool& wants_round) {
    next_.resize(stretch.targets * size);
    for (std::size_t k = 0; k < stretch.targets; ++k) {
      const HalfStep step{{masses[k], size}, problem_.rule, 1, damping_, damping_kind_};
      const std::span<const double> product{products.data() + k * size, size};
      const std::span<const double> old{scalings + k * size, size};
      const std::span<double> next{next_.data() + k * size, size};
      notes_[me()][k].*error = error_part(norm_, old.data(), product.data(), masses[k], size);
      step.scale(product, next);
      const Judgement judgement = judge_scalings(product, next, masses[k], stretch.safe_scaling);
      if (!judgement.usable) return false;
      wants_round |= judgement.stretched;
      step.shorten(old, next);
    }
    std::copy(next_.begin(), next_.end(), scalings);
    return true;
  }

  /// Copies a client's slices, one target after the other, to their place in `known`.
  static void place(std::size_t targets, const Side& side, std::size_t client, const double* values,
                    std::vector<double>& known) {
    const Range slice = side.slices[client];
    for (std::size_t k = 0; k < targets; ++k) {
      std::copy_n(values + k * slice.size(), slice.size(), known.data() + k * side.size() + slice.first);
    }
  }

  // Publishes every local_steps iterations, and in time for clients that wait for any message.
  static void tell(Bulletin& bulletin, SliceKind kind, const Stretch& stretch, std::int64_t number,
                   std::span<const double> message) {
    if (message.empty()) return;
    if (number % stretch.local_steps == 0 || bulletin.is_overdue(kind)) {
      bulletin.publish(kind, number, message);
    } else {
      bulletin.keep(kind, number, message);
    }
  }

  /// v_J, then the notes.
  [[nodiscard]] std::span<const double> message_v(const Stretch& stretch) {
    std::copy_n(stretch.v, stretch.targets * problem_.m(), message_v_.begin());
    write_notes(notes_[me()], message_v_.data() + stretch.targets * problem_.m());
    return message_v_;
  }
  void hear_u(std::size_t targets, std::size_t from, std::span<const double> values) {
    place(targets, problem_.rows, from, values.data(), u_);
  }
  void hear_v(std::size_t targets, std::size_t from, std::span<const double> values) {
    place(targets, problem_.columns, from, values.data(), v_);
    const double* notes = values.data() + targets * problem_.columns.slices[from].size();
    for (std::size_t k = 0; k < targets; ++k) {
      notes_[from][k] = read_note(from_peer(everyone_, from), notes + k * kNoteNumbers);
    }
  }

  /// The total error as far as this client knows, for the worst target.
  [[nodiscard]] double estimate(ErrorPart Note::*error) const {
    double worst = 0;
    for (std::size_t k = 0; k < notes_[me()].size(); ++k) {
      ErrorPart all = notes_[0][k].*error;
      for (std::size_t client = 1; client < notes_.size(); ++client) {
        all = combined(norm_, all, notes_[client][k].*error);
      }
      worst = worse(worst, error_of(norm_, all));
    }
    return worst;
  }

  void make_room(std::size_t targets) {
    q_.resize(targets * problem_.n());
    r_.resize(targets * problem_.m());
    message_v_.resize(targets * (problem_.m() + kNoteNumbers));
    notes_.resize(everyone_.size());
    for (std::size_t k = 0; k < notes_.size(); ++k) {
      // A client without data has no error; the others' errors are unknown.
      const double error = has_nothing(k) ? 0 : kInfinity;
      notes_[k].assign(targets, Note{0, {error, 0}, {error, 0}});
    }
  }

  [[nodiscard]] Bulletin::Shape shape_of_messages(std::size_t targets, std::int64_t iteration) const {
    Bulletin::Shape shape;
    shape.stretch = static_cast<double>(stretches_);
    shape.iteration = iteration;
    shape.max_staleness = max_staleness_;
    for (std::size_t k = 0; k < everyone_.size(); ++k) {
      shape.numbers[0].push_back(targets * problem_.rows.slices[k].size());
      shape.numbers[1].push_back(has_nothing(k) ? 0 : targets * (problem_.columns.slices[k].size() + kNoteNumbers));
      shape.has_slice[0].push_back(!problem_.rows.slices[k].empty());
      shape.has_slice[1].push_back(!problem_.columns.slices[k].empty());
    }
    return shape;
  }

  [[nodiscard]] KnownPotentials heard(std::size_t slot) const {
    const auto of = [slot](const std::vector<double>& values, std::size_t size) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(slot * size);
      return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(size));
    };
    return {phi_, psi_, of(u_, problem_.rows.size()), of(v_, columns())};
  }

  [[nodiscard]] bool has_nothing(std::size_t client) const {
    return problem_.rows.slices[client].empty() && problem_.columns.slices[client].empty();
  }
  [[nodiscard]] std::size_t columns() const { return problem_.columns.size(); }
  [[nodiscard]] std::size_t me() const { return everyone_.rank(); }

  const double damping_;
  const DampingKind damping_kind_;
  const std::size_t max_staleness_;
  DelayTable delays_;
  std::int64_t stretches_ = 0;
  bool is_ahead_ = false;
  std::vector<std::vector<Note>> notes_;  // by client, by target
  std::vector<double> q_, r_, next_, message_v_;
  std::vector<KnownPotentials> settled_;  // by slot, after the last stretch or round
};

}  // namespace

// u and v of every iteration, to everybody; each message has a stamp.
Round asynchronous_round(const RoundShape& shape) {
  Round round;
  for (const std::vector<std::size_t>* sizes : {&shape.rows, &shape.columns}) {
    RoundExchange news = gather_exchange(*sizes, shape.client, shape.targets, kStampNumbers);
    news.exchange = Exchange::news;
    round.exchanges.push_back(std::move(news));
  }
  round.work = work_of(shape, all_to_all_layout(shape.client, shape.clients(), {}), false);
  return round;
}

std::unique_ptr<Topology> make_asynchronous(const TopologyContext& context) {
  return std::make_unique<Asynchronous>(context, all_to_all_exchanges(context));
}

}  // namespace fedsinkhorn
