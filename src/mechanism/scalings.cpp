// Mechanism scalings: the paper's. Log-scalings are clipped and get noise before they are sent.
//
//   L_u = clip(log a_I - log(K[I,:] e^{L_v})) + noise        released
//   L_v = clip(log b_J - log(K[:,J]' e^{L_u})) + noise       released
//
// The noise goes into the client's own slices, too: every later value is computed from what was released, and from the
// client's own a_I and b_J. So given what was released before, row i of L_u depends on a_i alone.
#include "mechanism/scalings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/marginal_error.hpp"
#include "core/names.hpp"
#include "core/special_numbers.hpp"
#include "fedsinkhorn/error.hpp"
#include "mechanism/clip.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::string_view kPapers = "paper";
/// Iterations between two looks at whether somebody wants to stop.
constexpr std::int64_t kBetweenLooks = 16;

std::size_t largest_slice(const Side& side) {
  std::size_t largest = 0;
  for (const Range& slice : side.slices) largest = std::max(largest, slice.size());
  return largest;
}

/// `rows_moved` as a number; 0: all.
std::size_t rows_moved(const Options& options) {
  if (options.rows_moved == "all") return 0;
  if (options.rows_moved == kPapers) return 1;
  std::size_t rows = 0;
  const char* end = options.rows_moved.data() + options.rows_moved.size();
  const auto [stopped_at, error] = std::from_chars(options.rows_moved.data(), end, rows);
  if (error != std::errc{} || stopped_at != end || rows == 0) {
    throw InputError("`rows_moved`", fmt::format("'{}' is no number of rows", options.rows_moved),
                     "give all, paper, or a number of 1 or more");
  }
  return rows;
}

/// By how much one record can move all slices of a side together.
double sensitivity_of(const Options& options, const Side& side) {
  switch (options.clip_kind) {
    case ClipKind::none: return kInfinity;
    case ClipKind::slice: return 2 * options.clip;
    case ClipKind::rows: break;
  }
  const std::size_t k = rows_moved(options);
  const std::size_t moved = k == 0 ? largest_slice(side) : std::min(k, side.given);
  return 2 * options.clip * std::sqrt(static_cast<double>(moved));
}

/// lines: whose rounding counts, times targets.
double calibrated(const Options& options, double of_u, double of_v, std::size_t lines) {
  const Budget budget = budget_of(options);
  const auto iterations = static_cast<double>(options.releases);
  const double pairs = std::ceil(iterations / static_cast<double>(options.release_every));
  const double sigma = calibrated_sigma(budget.epsilon, budget.delta, std::hypot(of_u, of_v), pairs);
  return GridNoise::with_room(sigma, std::min(of_u, of_v), lines);
}

}  // namespace

Scalings::Scalings(const MechanismContext& context)
    : context_(context),
      problem_(context.problem),
      targets_(problem_.targets),
      u_(side(problem_.rows, "log u of its rows", context.topology.rows_known())),
      v_(side(problem_.columns, "log v of its columns", context.topology.columns_known())),
      noise_(checked_sigma(context.options,
                           context.options.noise > 0 ? context.options.noise
                                                     : calibrated(context.options, u_.sensitivity, v_.sensitivity,
                                                                  std::max(u_.rounded, v_.rounded) * targets_),
                           context.options.clip)),
      ledger_(budget_of(context.options)) {
  for (std::size_t i = 0; i < u_.size; ++i) u_.log_masses.push_back(std::log(problem_.a[i]));
  for (std::size_t k = 1; k < targets_; ++k) {
    for (std::size_t i = 0; i < u_.size; ++i) u_.log_masses.push_back(u_.log_masses[i]);
  }
  for (const double b : problem_.b) v_.log_masses.push_back(std::log(b));
}

Scalings::Half Scalings::side(const Side& of_problem, const char* what, Exchanges::Known known) const {
  Half half;
  half.what = what;
  half.size = of_problem.slices[problem_.client].size();
  half.known_size = known.size;
  half.place = known.own;
  half.own.assign(targets_ * half.size, 0.0);
  half.told = half.own;  // all clients start from 0
  half.known.assign(targets_ * half.known_size, 0.0);
  half.centres.assign(targets_, 0.0);
  half.largest = largest_slice(of_problem);
  half.sensitivity = sensitivity_of(context_.options, of_problem);
  const std::size_t k = rows_moved(context_.options);
  half.rounded = k == 0 ? half.largest : std::min(k, of_problem.given);
  return half;
}

LedgerLine Scalings::line_of(const Half& half) const {
  return {"each client", half.what, half.sensitivity + noise_.rounding(half.rounded * targets_), noise_.sigma(), 1};
}

bool Scalings::affords_releases() const {
  const std::array lines = {line_of(u_), line_of(v_)};
  return ledger_.affords(lines);
}

// Masses over products, in logs.
void Scalings::update(Half& half, std::span<const double> log_products) const {
  for (std::size_t i = 0; i < half.own.size(); ++i) {
    half.own[i] = half.log_masses[i] - log_products[i];
    // Neither mass nor an allowed pair.
    if (std::isnan(half.own[i])) half.own[i] = -kInfinity;
  }
}

// Clips the own slice and adds noise. Afterwards it may be sent.
void Scalings::release(Half& half) {
  std::vector<double> clean = half.own;
  for (std::size_t k = 0; k < targets_; ++k) {
    for (std::size_t i = 0; i < half.size; ++i) clean[k * half.size + i] -= half.centres[k];
  }
  clip(context_.options.clip_kind, context_.options.clip, targets_, clean);
  ledger_.enter(line_of(half));
  for (std::size_t i = 0; i < clean.size(); ++i) {
    half.own[i] = noise_.number(noise_.blur(clean[i], context_.random));
  }
  if (context_.tap != nullptr) context_.tap->at_release(clean, half.own);
  for (std::size_t k = 0; k < targets_; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < half.size; ++i) sum += half.own[k * half.size + i] += half.centres[k];
    if (context_.options.centre && half.size > 0) half.centres[k] = sum / static_cast<double>(half.size);
  }
  half.told = half.own;
  told_at_ = iterations_ + 1;
  ++half.releases;
}

// The own slice in its place among those known here.
void Scalings::place_own(Half& half) const {
  if (half.place.size() != half.size) return;  // this client only knows what it is told
  for (std::size_t k = 0; k < targets_; ++k) {
    std::copy_n(half.own.data() + k * half.size, half.size, half.known.data() + k * half.known_size + half.place.first);
  }
}

std::vector<double> Scalings::potentials(const std::vector<double>& logs) const {
  std::vector<double> scaled(logs.size());
  std::ranges::transform(logs, scaled.begin(), [this](double log) { return problem_.epsilon * log; });
  return scaled;
}

std::vector<double> Scalings::row_logs() const {
  const std::vector<double> psi = potentials(v_.known);
  std::vector<double> sums(targets_ * u_.size);
  for (std::size_t k = 0; k < targets_; ++k) {
    context_.topology.row_logs_of_released({psi.data() + k * v_.known_size, v_.known_size},
                                           {sums.data() + k * u_.size, u_.size});
  }
  return sums;
}

std::vector<double> Scalings::column_logs() const {
  const std::vector<double> phi = potentials(u_.known);
  std::vector<double> sums(targets_ * v_.size);
  for (std::size_t k = 0; k < targets_; ++k) {
    context_.topology.column_logs_of_released({phi.data() + k * u_.known_size, u_.known_size},
                                              {sums.data() + k * v_.size, v_.size});
  }
  return sums;
}

// For experiments: the own part of the error of the rows, with u and v as they are.
void Scalings::note_error(std::span<const double> log_products) {
  if (context_.random.is_private()) return;
  std::vector<double> rows(u_.own.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::exp(u_.own[i] + log_products[i]);
  ErrorPart all{};
  for (std::size_t k = 0; k < targets_; ++k) {
    const ErrorPart part = error_part(context_.options.norm, rows.data() + k * u_.size, problem_.a.data(), u_.size);
    all = k == 0 ? part : combined(context_.options.norm, all, part);
  }
  own_errors_.push_back(all.total());
}

void Scalings::run_together() {
  const auto releases = static_cast<std::int64_t>(context_.options.releases);
  while (iterations_ < releases) {
    if (iterations_ % kBetweenLooks == 0 && wants_to_stop(context_.topology.clients(), context_.stop)) {
      status_ = Status::interrupted;
      return;
    }
    const bool tells = (iterations_ + 1) % context_.options.release_every == 0 || iterations_ + 1 == releases;
    if (tells && !affords_releases()) return;
    const std::vector<double> of_rows = row_logs();
    if (iterations_ > 0) note_error(of_rows);
    update(u_, of_rows);
    if (tells) {
      release(u_);
      u_.known = context_.topology.release_rows(targets_, u_.own.data());
    } else {
      place_own(u_);
    }
    update(v_, column_logs());
    if (tells) {
      release(v_);
      v_.known = context_.topology.release_columns(targets_, v_.own.data());
    } else {
      place_own(v_);
    }
    ++iterations_;
    context_.on_release(iterations_, releases, kUnknown);
  }
}

Released Scalings::run() {
  const std::array first = {line_of(u_), line_of(v_)};
  require_room_for(ledger_, first);
  if (context_.is_asynchronous && problem_.clients > 1) {
    run_apart();
  } else {
    run_together();
  }
  if (std::max(u_.releases, most_releases_) == 0 && status_ == Status::interrupted) throw Interrupted();
  // What was computed since the last release is not for others' eyes: it has no noise.
  for (Half* half : {&u_, &v_}) {
    half->own = half->told;
    place_own(*half);
  }
  if (!context_.random.is_private()) note_error(row_logs());  // in a star, these are messages
  Released released;
  released.status = status_;
  released.iterations = told_at_;
  released.f = potentials(u_.own);
  released.g = potentials(v_.known);
  const bool knows_all = v_.known_size == problem_.columns.size();
  released.columns = knows_all ? Range{0, v_.known_size} : problem_.own_columns();
  released.error_b = kUnknown;
  // The account is that of the client that has released most.
  for (const Half* half : {&u_, &v_}) {
    LedgerLine line = line_of(*half);
    line.count = most_releases_ - (half == &u_ ? u_.releases : v_.releases);
    if (line.count > 0) ledger_.enter(line);
  }
  ledger_.report(released.report);
  describe(released.report);
  return released;
}

void Scalings::describe(PrivacyReport& report) const {
  const Options& options = context_.options;
  report.mechanism = "scalings";
  judge(options, report.epsilon_exact, report);
  if (options.clip_kind == ClipKind::none) report.why_not = "nothing is clipped, so nothing bounds what a record moves";
  report.adjacency = "one record replaced by another";
  const std::size_t k = rows_moved(options);
  report.rows_moved = k == 0 ? std::max(u_.largest, v_.largest) : k;
  report.unit = options.clip_kind == ClipKind::slice
                    ? "a record behind a or b of one client, however many rows it moves: slices are clipped as a whole"
                : options.rows_moved == kPapers
                    ? "the paper's reading: a record moves one row of a slice (k = 1), which data must bear out"
                : k == 0 ? "a record behind a or b of one client; it may move every row of a slice"
                         : fmt::format("a record behind a or b that moves up to {} rows, of all clients together", k);
  report.collusion = "none is needed: every client sees all releases";
  report.clip = options.clip;
  report.clip_kind = name_of(options.clip_kind);
  report.protects = "the masses a and b of a client, record by record, against whoever sees its releases";
  report.does_not_protect =
      "the costs, which clients know in common (a star's server tells them products with its costs); sizes of slices; "
      "several records of one person, which cost accordingly more";
  report.released_cost = kUnknown;
  report.released_total = kUnknown;
  report.own_errors = own_errors_;
}

void check_scalings(const Options& options, std::size_t /*clients*/) {
  if (options.releases == 0) {
    throw InputError("`releases`", "auto is for mechanism marginal", "give the number of iterations");
  }
  if (options.clip_kind == ClipKind::none) {
    if (!options.budget.empty()) {
      throw InputError("`budget`", "without a clip nothing bounds what a record moves, so no budget can be kept",
                       "add `clip` S and `clip_kind` rows or slice");
    }
    if (options.clip > 0) throw InputError("`clip`", "does not go with `clip_kind` none", "leave one of them out");
  } else if (!(options.clip > 0)) {
    throw InputError("`clip`", "mechanism scalings clips to a norm S, and there is none", "give a number above 0");
  }
  if (options.colluding > 0 || options.record_mass > 0 || options.cost_bound > 0) {
    throw InputError(options.colluding > 0     ? "`colluding`"
                     : options.record_mass > 0 ? "`record_mass`"
                                               : "`cost_bound`",
                     "is for mechanism marginal", "leave it out");
  }
  const std::size_t k = rows_moved(options);
  if (k > 0 && options.clip_kind == ClipKind::slice) {
    throw InputError("`rows_moved`", "makes no difference where slices are clipped as a whole", "leave it out");
  }
  if (k > 0 && options.release_every > 1) {
    throw InputError("`rows_moved`", "between releases, rows of a slice move each other: one record moves all of them",
                     "use all, or `release_every` 1");
  }
  if (options.topology == "async" && options.release_every > options.max_staleness) {
    throw InputError("`release_every`",
                     fmt::format("{} iterations are more than `max_staleness` {}: clients would wait for each other",
                                 options.release_every, options.max_staleness),
                     "give less, or a larger `max_staleness`");
  }
  if (options.release_every > 1 && options.topology == "star") {
    throw InputError("`release_every`", "the clients of a star cannot iterate without its server", "use 1");
  }
}

Released run_scalings(const MechanismContext& context) { return Scalings(context).run(); }

}  // namespace fedsinkhorn
