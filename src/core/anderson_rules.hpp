// The numbers Anderson acceleration goes by, wherever it runs (see method/anderson.cpp for what they are for).
#pragma once

namespace fedsinkhorn::anderson {

/// A rejected step is tried again at a quarter of its length.
inline constexpr double kShrink = 0.25;
/// One that was cut short and accepted may be followed by one twice as long.
inline constexpr double kGrow = 2;
/// What rounding may do to F, of the mass; larger noise shows, and is learnt, when a plain step falls short.
inline constexpr double kRounding = 1e-12;
/// Where F cannot tell points apart, the residual must not grow more than tenfold.
inline constexpr double kResidualGrowth = 100;
/// Once there is noise, gains up to this many times the slack may be nothing else.
inline constexpr double kNoiseAlone = 4;
/// Tikhonov's parameter, relative to the mean of the diagonal.
inline constexpr double kRegularization = 1e-12;
/// Rejected rounds may not outnumber the accepted ones by more than this.
inline constexpr int kRejectionsForFree = 10;
/// Differences that survive a rejection.
inline constexpr int kKeptAfterRejection = 1;

}  // namespace fedsinkhorn::anderson
