// Options of policy private. Which goes with which is checked by mechanisms (src/mechanism).
#include "options/option_entries.hpp"

namespace fedsinkhorn {
namespace {

constexpr double kMostReleases = 1e9;
constexpr double kBelowOne = 1 - 0x1p-53;

}  // namespace

std::vector<OptionEntry> noise_options() {
  return {
      {.field = "mechanism",
       .flags = "--mechanism",
       .member = &Options::mechanism,
       .group = "Policy private",
       .help = "What gets noise; marginal: the columns' plan mass (row-reduce); scalings: u and v, as in the paper",
       .is_common = true},
      {.field = "noise",
       .flags = "--noise",
       .member = &Options::noise,
       .group = "Policy private",
       .help = "Standard deviation of the noise of a release; default: calibrated to --budget",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .wrong = "{} is no standard deviation",
                 .right = "give a number above 0, or a budget to calibrate it to"},
       .default_text = "calibrated to `--budget`",
       .is_common = true},
      {.field = "budget",
       .flags = "--budget",
       .member = &Options::budget,
       .group = "Policy private",
       .help = "epsilon,delta that all releases together may cost, such as 1,1e-6",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .is_open = true,
                 .wrong = "{} is no budget",
                 .right = "give epsilon above 0 and delta between 0 and 1, such as 1,1e-6"},
       .default_text = "none",
       .is_common = true},
      {.field = "delta",
       .flags = "--delta",
       .member = &Options::delta,
       .group = "Policy private",
       .help = "delta at which epsilon is reported; with --budget, its delta counts",
       .range = {.least = 0,
                 .most = kBelowOne,
                 .is_open = true,
                 .wrong = "{} is no delta",
                 .right = "give a number between 0 and 1, such as 1e-6"},
       .is_common = true},
      {.field = "releases",
       .flags = "--releases",
       .member = &Options::releases,
       .group = "Policy private",
       .help = "Iterations, each with a release (scalings: of u and of v); auto: what suits the budget best (marginal)",
       .range = {.least = 1,
                 .most = kMostReleases,
                 .wrong = "{} releases were asked for",
                 .right = "give 1 to 10^9",
                 .most_typed = kMostReleases},
       .default_text = "auto",
       .is_common = true},
  };
}

/// Of mechanism marginal.
std::vector<OptionEntry> marginal_options() {
  return {
      {.field = "colluding",
       .flags = "--colluding",
       .member = &Options::colluding,
       .group = "Policy private",
       .help = "Mechanism marginal: clients assumed to pool what they know; the others' noise alone must suffice",
       .range = {.least = 0,
                 .most = kMostClients,
                 .wrong = "{} are too many",
                 .right = "give less than the number of clients"},
       .default_text = "0",
       .is_common = true},
      {.field = "record_mass",
       .flags = "--record-mass",
       .member = &Options::record_mass,
       .group = "Policy private",
       .help = "Mechanism marginal: the largest mass a record may have; default: of a, if every client has all of it",
       .range =
           {.least = 0, .most = 1, .wrong = "{} is no mass of a record", .right = "give a number above 0, up to 1"},
       .default_text = "the largest, if a is not in parts",
       .is_common = true},
      {.field = "cost_bound",
       .flags = "--cost-bound",
       .member = &Options::cost_bound,
       .group = "Policy private",
       .help = "Mechanism marginal: release the cost as well, once, with costs above this counted as this",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .wrong = "{} is no bound on costs",
                 .right = "give a number above 0"},
       .default_text = "the cost is not released",
       .is_common = true},
  };
}

/// Of mechanism scalings.
std::vector<OptionEntry> clip_options() {
  return {
      {.field = "clip",
       .flags = "--clip",
       .member = &Options::clip,
       .group = "Policy private",
       .help = "Mechanism scalings: S, the norm to which log-scalings are clipped",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .wrong = "{} is no norm to clip to",
                 .right = "give a number above 0"},
       .default_text = "required, unless `--clip-kind none`",
       .is_common = true},
      {.field = "clip_kind",
       .flags = "--clip-kind",
       .member = &Options::clip_kind,
       .group = "Policy private",
       .help = "Mechanism scalings: clip each row of a slice, the slice as a whole, or (no guarantee) nothing",
       .is_common = true},
      {.field = "rows_moved",
       .flags = "--rows-moved",
       .member = &Options::rows_moved,
       .group = "Policy private",
       .help =
           "Mechanism scalings: rows that one record can move: all (of a slice), a number, or paper (which claims 1)",
       .names = "all,paper",
       .is_common = true},
      {.field = "centre",
       .flags = "--centre",
       .member = &Options::centre,
       .group = "Policy private",
       .help = "Mechanism scalings: clip the distance from the mean released before",
       .is_common = true},
      {.field = "release_every",
       .flags = "--release-every",
       .member = &Options::release_every,
       .group = "Policy private",
       .help = "Mechanism scalings: iterations from one release to the next",
       .range = kOneOrMore,
       .is_common = true},
      {.field = "noise_seed",
       .flags = "--noise-seed",
       .member = &Options::noise_seed,
       .group = "Policy private",
       .help = "For experiments: noise from this seed, which makes the run NOT private",
       .range = {.least = 1, .wrong = "{} is no seed", .right = "give 1 or more"},
       .default_text = "none: the system's generator",
       .is_common = true},
  };
}

}  // namespace fedsinkhorn
