// Methods that need fewer rounds than plain Sinkhorn, and never many more: what a round from x to its image G(x) tells,
// and which point to try next.
//
// Decisions use numbers that all clients share (sums and maxima over their slices, sent along with v), so all clients
// make the same ones. Points are mixtures of earlier images, which every holder of v can form by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fedsinkhorn/options.hpp"
#include "simd/simd.hpp"
#include "topology/mixture.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {

/// A round of one target: this client's slices.
struct RoundOfTarget {
  std::span<const double> a, b;
  std::span<const double> u_before;  ///< from the last accepted round
  std::span<const double> u;         ///< after the first half-step
  std::span<const double> x;         ///< the v that the round started from
  std::span<const double> r;         ///< K' u
  std::span<const double> v;         ///< after the second half-step: the image of x
};

struct SparseEntry {
  std::uint64_t position;
  double value;
};

/// What a method may ask between rounds about the kernel. Vectors are this client's slices. Every verb is collective,
/// except copy_rows and those that return a size: all clients call the same ones in the same order.
class KernelAccess {
 public:
  virtual ~KernelAccess() = default;
  KernelAccess() = default;
  KernelAccess(const KernelAccess&) = delete;
  KernelAccess& operator=(const KernelAccess&) = delete;

  /// (K y)_I and (K' x)_J.
  virtual void rows(std::span<const double> y, std::span<double> products) = 0;
  virtual void columns(std::span<const double> x, std::span<double> products) = 0;
  /// (K' (w . (K y)))_J: one pass over K, and the messages of one round. To be called only while some are left.
  [[nodiscard]] virtual std::int64_t products_left() const = 0;
  virtual void weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) = 0;
  /// The part of that which the rows held here contribute; y and products are over all columns. Not collective, but to
  /// be called by all, who then add up their parts: that is a product, too.
  virtual void own_weighted(std::span<const double> w, std::span<const double> y, std::span<double> products) = 0;

  /// Whether clients add up so that none sees another's summand (comm/secure_sums.hpp).
  [[nodiscard]] virtual bool sums_are_secure() const = 0;
  /// Whether sums over clients may be larger than a vector over the columns. Two matrices K' D K give every client the
  /// rows of all others, so secure sums do not add them up unless the user asks for it.
  [[nodiscard]] virtual bool may_add_up_matrices() const = 0;
  /// Adds up the values of all clients; every client gets the sums.
  virtual void add_up(std::span<double> values) = 0;
  /// The same for numbers up to 1 in absolute value, such as the entries of a matrix.
  virtual void add_up_shares(std::span<double> values) = 0;
  /// The same for a vector of `positions` numbers of which few are not zero. Entries are sorted by position, each
  /// position at most once; so is the result.
  [[nodiscard]] virtual std::vector<SparseEntry> add_up_sparse(std::vector<SparseEntry> own,
                                                               std::uint64_t positions) = 0;
  /// The clients' vectors, one after the other, of that many values in total: they leave as they are. Not where sums
  /// are secure.
  [[nodiscard]] virtual std::vector<double> gather(std::vector<double> own, std::size_t total) = 0;
  /// The greatest of the clients' values, each of which all clients may know.
  [[nodiscard]] virtual double greatest(double value) = 0;
  /// All clients' slices of a vector over the columns, and where the own one begins.
  [[nodiscard]] virtual std::vector<double> all_columns(std::span<const double> own) = 0;
  [[nodiscard]] virtual std::size_t first_column() const = 0;
  [[nodiscard]] virtual std::size_t clients() const = 0;

  /// Whether each row of K is held whole by one client; the same at all clients. If so: how many rows are held here,
  /// what the clients that own them know about them, and these rows, over all columns.
  [[nodiscard]] virtual bool holds_whole_rows() const = 0;
  [[nodiscard]] virtual std::size_t held_rows() const = 0;
  /// Of all clients.
  [[nodiscard]] virtual std::size_t all_rows() const = 0;
  /// Rows that the client with most of them does not have, at most those with mass.
  [[nodiscard]] virtual std::size_t fewest_rows_of_others() const = 0;
  [[nodiscard]] virtual std::vector<double> held(std::span<const double> own) = 0;
  virtual void copy_rows(std::size_t first, std::size_t count, double* to) = 0;
};

/// The acceleration of one target.
class Acceleration {
 public:
  virtual ~Acceleration() = default;
  Acceleration() = default;
  Acceleration(const Acceleration&) = delete;
  Acceleration& operator=(const Acceleration&) = delete;

  /// omega: the half-steps of the next round are u^(1-omega) (a/q)^omega, and likewise for v.
  [[nodiscard]] virtual double relaxation() const { return 1; }
  /// Writes this client's part of the statistics of a round into the note.
  virtual void describe(const RoundOfTarget& round, Note& note) = 0;
  /// Chooses the next point from the combined notes of all clients. keep_newest is false if the round is rejected: u
  /// and v are then those of the last accepted one.
  [[nodiscard]] virtual Mixture decide(const Note& note) = 0;
  /// Whether it will choose the next point in propose(). Same answer at all clients.
  [[nodiscard]] virtual bool wants_plan() const { return false; }
  /// x is the mixture decided on and may be changed. Like v, it is 0 where there is no mass. Collective.
  virtual void propose(KernelAccess& /*kernel*/, std::span<double> /*x*/) {}
  /// Drops the history: the scalings are about to be relative to other potentials, or epsilon changes. The next point
  /// is the image of the last one, as in plain Sinkhorn.
  virtual void restart() = 0;
  /// Whether the next round starts anywhere but at the last image, so that it may have to be rejected.
  [[nodiscard]] virtual bool is_proposal() const = 0;

  /// KL(b || columns of the plan) in the last accepted round: the increase of the dual value by its second half-step,
  /// in units of epsilon.
  [[nodiscard]] virtual double gain() const = 0;
  /// The L1 error of that round, if the method knows it.
  [[nodiscard]] virtual double error() const { return 0; }
  /// Number of differences of earlier rounds that the next point uses.
  [[nodiscard]] virtual std::size_t history() const { return 0; }
  [[nodiscard]] virtual std::int64_t rejected() const = 0;
  /// Newton steps proposed so far.
  [[nodiscard]] virtual std::int64_t newton_steps() const { return 0; }
  /// Products with the plan made by propose() so far, each a pass over K and the messages of a round.
  [[nodiscard]] virtual std::int64_t products() const { return 0; }
};

/// Parameters of a method.
struct MethodSettings {
  std::size_t history = 0;       ///< differences kept
  std::size_t most_history = 0;  ///< the most to be kept where they turn out to be too few
  double reach = 0;              ///< largest change of log v in one step that the kernel's precision allows
  double mass = 1;               ///< total of b
  const cpu::SumOps& ops;        ///< must outlive the method
  int threads = 1;               ///< for propose()
  bool is_one_of_many = false;   ///< so many targets that none may keep much memory between rounds
};

[[nodiscard]] std::unique_ptr<Acceleration> make_anderson(const MethodSettings& settings);
[[nodiscard]] std::unique_ptr<Acceleration> make_overrelaxation(const MethodSettings& settings);
[[nodiscard]] std::unique_ptr<Acceleration> make_newton(const MethodSettings& settings);

/// A method by name.
struct MethodEntry {
  std::string_view name;
  std::unique_ptr<Acceleration> (*make)(const MethodSettings& settings) = nullptr;  ///< none: plain Sinkhorn
  bool anneals = false;                                                             ///< epsilon decreases in levels
  bool is_thorough = false;                                                         ///< starts with the first level
  /// For targets that `make` is slow with; none: they stay with it.
  std::unique_ptr<Acceleration> (*make_if_slow)(const MethodSettings& settings) = nullptr;
  bool needs_whole_rows = false;  ///< each held by one client
  bool relaxes = false;           ///< changes u between the half-steps, so one pass over K cannot do both
  bool on_device = false;         ///< plain or Anderson's: devices can make whole rounds by themselves
};

}  // namespace fedsinkhorn
