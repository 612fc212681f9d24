// The inner loops of the CPU backend, as tables of function pointers: one table per instruction set and precision.
//
// Conventions
// - Rows are padded: `columns` is a multiple of kRowPadding<S> and the padding of K is zero, so loops have no tail.
// - The order in which the terms of one output element are added depends only on `columns` (dots) or on the order of
//   the rows (updates), never on how many rows share the call. Splitting rows differently gives the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/exact_sum.hpp"

namespace fedsinkhorn::cpu {

/// Rows handled together: each load of v serves eight dot products, each load and store of r eight updates, and eight
/// rows stay in the second-level cache between the two.
inline constexpr std::size_t kRowBlock = 8;

/// Columns of a packed panel of points (see PairwiseOps).
inline constexpr std::size_t kPanel = 16;

/// Below this share of the norms, a squared distance computed from them has lost more than two digits to cancellation.
/// Few pairs are that close, which matters: recomputing them is slow.
inline constexpr double kCancelled = 1.0 / 256;

/// Row length granularity: one cache line of the stored type.
template <class S>
inline constexpr std::size_t kRowPadding = 64 / sizeof(S);

template <class S>
constexpr std::size_t padded(std::size_t columns) {
  return (columns + kRowPadding<S> - 1) / kRowPadding<S> * kRowPadding<S>;
}

/// Loops over stored rows. S: type of the stored kernel. V: type the dot products are formed in. Long sums are always
/// float64: row sums every so many columns, column sums throughout.
template <class S, class V>
struct RowLoops {
  /// q_k = sum_j K_kj v_j for k < count.
  void (*dot_rows)(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const V* v, double* q);

  /// r_j += sum_k u_k K_kj, adding the rows in order.
  void (*add_rows)(const S* rows, std::size_t stride, std::size_t count, std::size_t columns, const double* u,
                   double* r);
};

/// Variants of the same loops that prefetch in different ways: the best depends on the processor; same bits.
enum class Asking : std::size_t {
  spread,        ///< half of the following rows during the products, the others during the additions
  spread_pairs,  ///< every other line of them: some processors fetch lines in pairs
  late,          ///< all following rows during the additions, and a little ahead during the products
  late_pairs,
  none,  ///< nothing: some processors prefetch faster by themselves
};
inline constexpr std::array kAskings = {Asking::spread, Asking::spread_pairs, Asking::late, Asking::late_pairs,
                                        Asking::none};

template <class S, class V>
struct ProductOps {
  std::array<RowLoops<S, V>, kAskings.size()> loops;
  [[nodiscard]] const RowLoops<S, V>& asking(Asking asking) const { return loops[static_cast<std::size_t>(asking)]; }
  /// For rows that are read once.
  [[nodiscard]] const RowLoops<S, V>& streaming() const { return asking(Asking::late); }
};

/// exp of a block of costs.
template <class S>
struct GibbsOps {
  /// K_kj = exp(((phi_k + psi_j) - C_kj) / eps); values too small for a normal S become 0.
  void (*gibbs_rows)(const double* cost, std::size_t cost_stride, std::size_t count, std::size_t columns,
                     const double* phi, const double* psi, double inverse_epsilon, S* out, std::size_t out_stride);
};

/// Rows of values, all with the same stride.
struct PlanRows {
  double* kernel;      ///< K = e^t
  double* logarithm;   ///< K t, 0 where K vanishes
  double* cost;        ///< K C, 0 where K vanishes; may overwrite the costs
  double* divergence;  ///< K t - K + 1, a term of the Kullback-Leibler divergence: about t^2 / 2 if K is near 1
  std::size_t stride;
};

/// For one row of a plan: the dot products of the values above with v.
struct PlanDots {
  double kernel, logarithm, cost, divergence;
};

/// Log-domain sums, and what the final evaluation needs. Always float64. Costs need no padding; psi, v and outputs per
/// column are padded to whole panels, psi with -inf and v with 0.
struct LogOps {
  /// Returns max_j (psi_j - C_j).
  double (*row_maximum)(const double* cost, std::size_t columns, const double* psi);

  /// Returns log sum_j exp((psi_j - C_j) / eps); -inf when every term vanishes.
  double (*row_log_sum_exp)(const double* cost, std::size_t columns, const double* psi, double inverse_epsilon);

  /// Streams one row into column sums: with x_j = log_weight + (phi - C_j) / eps, keeps maximum_j and
  /// sum_j = sum exp(x_j - maximum_j).
  void (*column_log_sum_exp)(const double* cost, std::size_t columns, double phi, double log_weight,
                             double inverse_epsilon, double* maximum, double* sum);

  /// The terms of sums over a plan, with t = ((phi_k + psi_j) - C_kj) / eps.
  void (*plan_rows)(const double* cost, std::size_t cost_stride, std::size_t count, std::size_t columns,
                    const double* phi, const double* psi, double inverse_epsilon, const PlanRows& out);

  /// The same for one target, combined with dot_rows and add_rows: dots_k, and r_j += u_k K_kj, the rows in order.
  /// costs: one pointer per row.
  void (*plan_dots)(const double* const* costs, std::size_t count, std::size_t columns, const double* phi,
                    const double* psi, double inverse_epsilon, const double* v, const double* u, PlanDots* dots,
                    double* r);
};

/// For one row, with excess costs e_j = C_j - least and weights w_j = exp((l_j - lambda e_j - shift) / eps): the sums
/// of w, w e, w e^2, w l and w e l.
struct TiltedSums {
  double weight, excess, squared_excess, loss, product;
};

/// A tilted value l_j - lambda e_j reaches the cut if it is at least `value`.
struct TiltedCut {
  double lambda, value;
};

struct TiltedChoice {
  std::size_t count;      ///< of columns that reach a cut
  double largest_excess;  ///< of all columns that are not forbidden
};

/// Rows of costs tilted by losses l. No array needs padding. Infinite costs forbid, also if lambda is 0.
struct TiltOps {
  /// Returns max_j (l_j - lambda e_j).
  double (*maximum)(const double* cost, double least, std::size_t columns, const double* loss, double lambda);
  /// shift: about the maximum.
  TiltedSums (*sums)(const double* cost, double least, std::size_t columns, const double* loss, double lambda,
                     double shift, double inverse_epsilon, double* weights);
  /// Writes the columns that reach one cut or the other to `chosen`, ascending. It has room for all.
  TiltedChoice (*choose)(const double* cost, double least, std::size_t columns, const double* loss,
                         const TiltedCut& one, const TiltedCut& other, std::uint32_t* chosen);
};

/// Blocks of pairwise costs between points. `x` holds `count` rows of `dimension` numbers. `panels` holds the other
/// cloud in panels of kPanel points: panel p, coordinate k, point j at panels[(p * dimension + k) * kPanel + j]. Writes
/// `panel_count * kPanel` columns per row.
struct PairwiseOps {
  /// sum_k (x_k - y_k)^2: exact up to rounding of the result, two operations per coordinate.
  void (*squared_distance)(const double* x, std::size_t count, std::size_t dimension, const double* panels,
                           std::size_t panel_count, double* out, std::size_t out_stride);
  /// sum_k x_k y_k: one operation per coordinate.
  void (*inner_product)(const double* x, std::size_t count, std::size_t dimension, const double* panels,
                        std::size_t panel_count, double* out, std::size_t out_stride);
  /// out_j = max(0, x_norm + y_norm_j - 2 out_j), in place. Returns whether any result is below kCancelled times x_norm
  /// + y_norm_j: it has lost digits and should be computed directly.
  bool (*distance_from_product)(double x_norm, const double* y_norm, std::size_t columns, double* out);
  /// out_j = sqrt(out_j), in place.
  void (*square_root)(std::size_t columns, double* out);
  /// out_j = out_j / 2, in place. Returns whether any result is below `close`.
  bool (*halve)(double close, std::size_t columns, double* out);
};

/// Vectors whose dot product is wanted.
struct DotPair {
  const double* x;
  const double* y;
};

/// Sums that keep the rounding error.
struct SumOps {
  /// sums_k = sum_j x_j y_j of pair k, j < count. Term j goes to sum j % 4 of four independent sums, which are then
  /// added up in order. The bits are the same for every variant.
  void (*exact_dots)(const DotPair* pairs, std::size_t pair_count, std::size_t count, ExactSum* sums);
};

/// The largest |x|; NaN if any x is not finite.
struct MagnitudeOps {
  double (*largest64)(const double* values, std::size_t count);
  double (*largest32)(const float* values, std::size_t count);
};

/// Plain reading, for benchmarks: the lower bound for any pass over a stored kernel.
struct ReadOps {
  double (*sum)(const double* data, std::size_t count);
  /// Sum of exp(x) over `count` numbers, `repeats` times: exponential throughput without memory traffic.
  double (*exp_sum)(const double* data, std::size_t count, std::size_t repeats);
};

struct Simd {
  const char* name;
  ProductOps<double, double> float64;
  ProductOps<float, double> mixed;
  ProductOps<float, float> float32;
  GibbsOps<double> gibbs64;
  GibbsOps<float> gibbs32;
  LogOps log;
  TiltOps tilts;
  PairwiseOps pairwise;
  SumOps sums;
  MagnitudeOps magnitudes;
  ReadOps read;
};

/// Names of the variants this machine can run, best first.
std::vector<std::string> simd_variants();

/// The environment variable that sets what "auto" means: the name of a variant. Tests use it to run every variant.
inline constexpr const char* kForcedSimd = "FEDSINKHORN_SIMD";

/// The table with that name. "auto" is the one the environment forces, else the best for this machine. Throws
/// InputError if the name is unknown or this machine cannot run it.
const Simd& simd(std::string_view name);

}  // namespace fedsinkhorn::cpu
