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

/// What a method may ask between rounds about the current plan P_ij = u_i K_ij v_j of one target. Every verb is
/// collective: all clients call the same ones in the same order.
class PlanAccess {
 public:
  virtual ~PlanAccess() = default;
  PlanAccess() = default;
  PlanAccess(const PlanAccess&) = delete;
  PlanAccess& operator=(const PlanAccess&) = delete;

  /// (P y)_I, with y given for the own columns; (P' x)_J, with x given for the own rows.
  virtual void rows(std::span<const double> y, std::span<double> products) = 0;
  virtual void columns(std::span<const double> x, std::span<double> products) = 0;
  /// Adds up the values of all clients (vectors, or entries of a matrix); every client gets the sums.
  virtual void add_up(std::span<double> values) = 0;
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
  virtual void propose(PlanAccess& /*plan*/, std::span<double> /*x*/) {}
  /// Drops the history: the scalings are about to be relative to other potentials, or epsilon changes. The next point
  /// is the image of the last one, as in plain Sinkhorn.
  virtual void restart() = 0;
  /// Whether the next round starts anywhere but at the last image, so that it may have to be rejected.
  [[nodiscard]] virtual bool is_proposal() const = 0;

  /// KL(b || columns of the plan) in the last accepted round: the increase of the dual value by its second half-step,
  /// in units of epsilon.
  [[nodiscard]] virtual double gain() const = 0;
  /// Number of differences of earlier rounds that the next point uses.
  [[nodiscard]] virtual std::size_t history() const { return 0; }
  [[nodiscard]] virtual std::int64_t rejected() const = 0;
};

/// Parameters of a method.
struct MethodSettings {
  std::size_t history = 0;  ///< differences kept
  double reach = 0;         ///< largest change of log v in one step that the kernel's precision allows
  double mass = 1;          ///< total of b
  const cpu::SumOps& ops;   ///< must outlive the method
};

[[nodiscard]] std::unique_ptr<Acceleration> make_anderson(const MethodSettings& settings);
[[nodiscard]] std::unique_ptr<Acceleration> make_overrelaxation(const MethodSettings& settings);

/// A method by name.
struct MethodEntry {
  std::string_view name;
  std::unique_ptr<Acceleration> (*make)(const MethodSettings& settings) = nullptr;  ///< none: plain Sinkhorn
  bool anneals = false;                                                             ///< epsilon decreases in levels
  bool relaxes = false;    ///< changes u between the half-steps, so one pass over K cannot do both
  bool on_device = false;  ///< plain or Anderson's: devices can make whole rounds by themselves
};

}  // namespace fedsinkhorn
