// How to get to the solution in fewer rounds than plain Sinkhorn, and never much later: what a round from x to its
// image G(x) tells, and which point to try next.
//
// Decisions are made on numbers that all clients share (sums and maxima over their slices, which travel with v), so all
// take the same ones. Points are mixtures of earlier images, which every holder of v can form by itself.
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

/// What a round did to one target: this client's slices.
struct RoundOfTarget {
  std::span<const double> a, b;
  std::span<const double> u_before;  ///< of the round that was accepted last
  std::span<const double> u;         ///< after the first half-step
  std::span<const double> x;         ///< the v it started from
  std::span<const double> r;         ///< K' u
  std::span<const double> v;         ///< after the second half-step: the image of x
};

/// What a method may ask, between rounds, about the plan that stands: P_ij = u_i K_ij v_j of one target. Every verb is
/// collective: all clients call the same ones in the same order.
class PlanAccess {
 public:
  virtual ~PlanAccess() = default;
  PlanAccess() = default;
  PlanAccess(const PlanAccess&) = delete;
  PlanAccess& operator=(const PlanAccess&) = delete;

  /// (P y)_I, y being given for the own columns; and (P' x)_J, x for the own rows.
  virtual void rows(std::span<const double> y, std::span<double> products) = 0;
  virtual void columns(std::span<const double> x, std::span<double> products) = 0;
  /// Every client gets the sums over all clients of what each has: of vectors, or of the entries of a matrix.
  virtual void add_up(std::span<double> values) = 0;
};

/// Of one target.
class Acceleration {
 public:
  virtual ~Acceleration() = default;
  Acceleration() = default;
  Acceleration(const Acceleration&) = delete;
  Acceleration& operator=(const Acceleration&) = delete;

  /// omega: the half-steps of the next round are u^(1-omega) (a/q)^omega, and likewise for v.
  [[nodiscard]] virtual double relaxation() const { return 1; }
  /// This client's part of what is to be known of a round goes into the note.
  virtual void describe(const RoundOfTarget& round, Note& note) = 0;
  /// The notes of all clients being combined: the next point. keep_newest is false if the round is rejected: u and v
  /// are then those of the last accepted one.
  [[nodiscard]] virtual Mixture decide(const Note& note) = 0;
  /// Whether it wants to choose the point after this one by itself. The same answer at all clients.
  [[nodiscard]] virtual bool wants_plan() const { return false; }
  /// If so: x is the mixture decided on, and may be changed. Points are v, 0 where there is no mass. Collective.
  virtual void propose(PlanAccess& /*plan*/, std::span<double> /*x*/) {}
  /// What is remembered is no longer of use: the scalings are about to be relative to other potentials, or epsilon
  /// changes. The next point is the image of the last one, as in plain Sinkhorn.
  virtual void restart() = 0;
  /// Whether the next round starts from anywhere but the last image, so that it may have to be rejected.
  [[nodiscard]] virtual bool is_proposal() const = 0;

  /// KL(b || columns of the plan) in the last accepted round: what its second half-step added to the dual value, in
  /// units of epsilon.
  [[nodiscard]] virtual double gain() const = 0;
  /// Differences of earlier rounds the next point rests on.
  [[nodiscard]] virtual std::size_t history() const { return 0; }
  [[nodiscard]] virtual std::int64_t rejected() const = 0;
};

/// What a method starts from.
struct MethodSettings {
  std::size_t history = 0;  ///< differences kept
  double reach = 0;         ///< the largest change of log v, in one step, that the kernel's precision can take
  double mass = 1;          ///< the total of b
  const cpu::SumOps& ops;   ///< outlives it
};

[[nodiscard]] std::unique_ptr<Acceleration> make_anderson(const MethodSettings& settings);
[[nodiscard]] std::unique_ptr<Acceleration> make_overrelaxation(const MethodSettings& settings);

/// A method by name.
struct MethodEntry {
  std::string_view name;
  std::unique_ptr<Acceleration> (*make)(const MethodSettings& settings) = nullptr;  ///< none: plain Sinkhorn
  bool anneals = false;                                                             ///< epsilon comes down in levels
  bool relaxes = false;    ///< u is changed between the half-steps, so that one pass over K cannot do both
  bool on_device = false;  ///< devices can make whole rounds of it by themselves
};

}  // namespace fedsinkhorn
