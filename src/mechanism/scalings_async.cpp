// Mechanism scalings without waiting: clients use the newest slices of the others, within a limit on their age.
#include <algorithm>

#include "mechanism/scalings.hpp"
#include "topology/bulletin.hpp"
#include "topology/delays.hpp"

namespace fedsinkhorn {
namespace {

bool has_nothing(const CheckedProblem& problem, std::size_t client) {
  return problem.rows.slices[client].empty() && problem.columns.slices[client].empty();
}

Bulletin::Shape shape_of_messages(const CheckedProblem& problem, const Options& options) {
  Bulletin::Shape shape;
  shape.payload = Payload::release;
  shape.max_staleness = static_cast<std::size_t>(options.max_staleness);
  for (std::size_t client = 0; client < problem.clients; ++client) {
    for (const std::size_t kind : {0U, 1U}) {
      const std::size_t lines = (kind == 0 ? problem.rows : problem.columns).slices[client].size();
      shape.numbers[kind].push_back(problem.targets * lines);
      shape.has_slice[kind].push_back(lines > 0);
    }
  }
  return shape;
}

}  // namespace

// As in topology async, but for a fixed number of iterations: the first client that has made them ends it for all.
void Scalings::run_apart() {
  const Options& options = context_.options;
  const auto releases = static_cast<std::int64_t>(options.releases);
  const Bulletin::Apply hear = [this](SliceKind kind, std::size_t from, std::span<const double> values) {
    Half& half = kind == SliceKind::u ? u_ : v_;
    const Range slice = (kind == SliceKind::u ? problem_.rows : problem_.columns).slices[from];
    for (std::size_t k = 0; k < targets_; ++k) {
      std::copy_n(values.data() + k * slice.size(), slice.size(),
                  half.known.data() + k * half.known_size + slice.first);
    }
  };
  DelayTable delays(problem_.clients);
  Bulletin bulletin(context_.topology.clients().communicator(), shape_of_messages(problem_, options), hear, delays);
  const auto half_step = [&](SliceKind uses, Half& half, bool tells) {
    bulletin.await_answers(uses);
    if (!bulletin.await_fresh(uses, uses == SliceKind::v)) return false;
    if (uses == SliceKind::v) bulletin.begin_iteration();
    bulletin.note_use(uses);
    const std::vector<double> products = uses == SliceKind::v ? row_logs() : column_logs();
    if (uses == SliceKind::v && iterations_ > 0) note_error(products);
    update(half, products);
    if (tells) release(half);
    place_own(half);
    const SliceKind kind = uses == SliceKind::v ? SliceKind::u : SliceKind::v;
    if (tells && !half.own.empty()) bulletin.publish(kind, iterations_ + 1, half.own);
    bulletin.take();
    return true;
  };
  while (has_nothing(problem_, problem_.client) && !bulletin.is_called()) bulletin.await_anything();
  while (iterations_ < releases && !bulletin.is_called()) {
    const bool tells = (iterations_ + 1) % options.release_every == 0 || iterations_ + 1 == releases;
    if (tells && !affords_releases()) break;
    if (context_.stop.is_made()) break;
    bulletin.take();
    // With iterations of its own to tell of, a client does not wait for others to tell theirs.
    if (options.release_every == 1) bulletin.await_news();
    if (!half_step(SliceKind::v, u_, tells) || !half_step(SliceKind::u, v_, tells)) break;
    ++iterations_;
    context_.on_release(iterations_, releases, std::numeric_limits<double>::quiet_NaN());
  }
  most_releases_ = bulletin.part(u_.releases, releases);
  if (wants_to_stop(context_.topology.clients(), context_.stop)) status_ = Status::interrupted;
}

}  // namespace fedsinkhorn
