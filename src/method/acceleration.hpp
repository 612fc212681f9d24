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

/// memory: differences kept. reach: the largest change of log v, in one step, that the kernel's precision can take.
/// mass: the total of b. ops must outlive it.
[[nodiscard]] std::unique_ptr<Acceleration> make_anderson(std::size_t memory, double reach, double mass,
                                                          const cpu::SumOps& ops);
[[nodiscard]] std::unique_ptr<Acceleration> make_overrelaxation(std::size_t memory, double reach, double mass,
                                                                const cpu::SumOps& ops);

/// A method by name.
struct MethodEntry {
  std::string_view name;
  /// None: plain Sinkhorn.
  std::unique_ptr<Acceleration> (*make)(std::size_t memory, double reach, double mass,
                                        const cpu::SumOps& ops) = nullptr;
  bool anneals = false;  ///< epsilon comes down in levels
  bool relaxes = false;  ///< u is changed between the half-steps, so that one pass over K cannot do both
};
}  // namespace fedsinkhorn
