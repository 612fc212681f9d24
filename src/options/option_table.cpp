#include "options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"

namespace fedsinkhorn {
namespace {

constexpr OptionRange kOneOrMore{.least = 1, .wrong = "must be at least 1"};
constexpr double kMostClients = 4096;
constexpr double kMostStale = 4096;
constexpr double kMostReleases = 1e9;
constexpr double kBelowOne = 1 - 0x1p-53;
constexpr double kLongestTimeout = 1e9;  // seconds; clocks count nanoseconds in 63 bits

const OptionUsers kAsynchronous{"topology", {"async"}};

std::vector<OptionEntry> problem_options() {
  return {
      {.field = "normalize",
       .flags = "--normalize",
       .member = &Options::normalize,
       .group = "Problem",
       .help = "Scale a and each target of b to total 1 first",
       .is_common = true,
       .in_summary = true},
      {.field = "epsilon",
       .flags = "--epsilon,--eps,--reg",
       .member = &Problem::epsilon,
       .group = "Problem",
       .help = "Regularisation, absolute, in units of the cost",
       .range = {.least = 0, .is_open = true},
       .default_text = "required",
       .is_common = true,
       .in_summary = true},
  };
}

std::vector<OptionEntry> stopping_options() {
  return {
      {.field = "tolerance",
       .flags = "--tolerance,--tol",
       .member = &Options::tolerance,
       .group = "Stopping",
       .help = "Marginal error to reach, a share of the total mass; 0 runs the whole budget",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .wrong = "{} is not a tolerance",
                 .right = "give 0 (run the whole budget) or a positive number"},
       .is_common = true,
       .in_summary = true},
      {.field = "norm",
       .flags = "--norm",
       .member = &Options::norm,
       .group = "Stopping",
       .help = "Norm of the marginal errors",
       .is_common = true},
      {.field = "max_iterations",
       .flags = "--max-iterations,--max-iter",
       .member = &Options::max_iterations,
       .group = "Stopping",
       .help = "Iterations at most",
       .range = kOneOrMore,
       .is_common = true},
      {.field = "check_every",
       .flags = "--check-every",
       .member = &Options::check_every,
       .group = "Stopping",
       .help = "Iterations between checks of the error",
       .range = kOneOrMore,
       .is_common = true},
  };
}

std::vector<OptionEntry> arithmetic_options() {
  return {
      {.field = "kernel",
       .flags = "--kernel",
       .member = &Options::kernel,
       .group = "How",
       .help = "dense: stored; online: never stored, computed when needed",
       .is_common = true,
       .in_summary = true},
      {.field = "precision",
       .flags = "--precision",
       .member = &Options::precision,
       .group = "How",
       .help = "Arithmetic; 50: decimal digits",
       .is_common = true,
       .in_summary = true},
      {.field = "passes",
       .flags = "--passes",
       .member = &Options::passes,
       .group = "How",
       .help = "Reads of the kernel per iteration: fused one, two two",
       .is_common = true,
       .in_summary = true},
      {.field = "stabilization",
       .flags = "--stabilization",
       .member = &Options::stabilization,
       .group = "How",
       .help = "absorption, or log: the slow reference in the log domain",
       .is_common = true,
       .in_summary = true},
      {.field = "feasibility",
       .flags = "--feasibility",
       .member = &Options::feasibility,
       .group = "How",
       .help = "With forbidden pairs: check that a plan exists, or skip that",
       .is_common = true},
  };
}

std::vector<OptionEntry> machinery_options() {
  return {
      {.field = "method",
       .flags = "--method",
       .member = &Options::method,
       .group = "How",
       .help = "sinkhorn: plain; anderson: accelerated; overrelaxed; auto: anderson, in levels of epsilon where needed",
       .is_common = true,
       .in_summary = true},
      {.field = "history",
       .flags = "--history",
       .member = &Options::history,
       .group = "How",
       .help = "Differences of earlier rounds anderson and auto keep, 1 to 64; default 24, fewer for many targets",
       .range = {.least = 1,
                 .most = kMostHistory,
                 .wrong = "{} differences were asked for",
                 .right = "give 1 to 64",
                 .most_typed = kMostHistory},
       .default_text = "24; 8 above 8 targets, 4 above 64",
       .is_common = true,
       .used_by = {"method", {"auto", "anderson"}},
       .old_flag = "--memory"},
      {.field = "backend",
       .flags = "--backend",
       .member = &Options::backend,
       .group = "How",
       .help = "cpu, cuda (NVIDIA GPUs), or auto: cuda for large problems where there is a device",
       .is_common = true,
       .in_summary = true},
      {.field = "devices",
       .flags = "--devices",
       .member = &Options::devices,
       .group = "How",
       .help = "Numbers of the GPUs the clients on this machine use in turn, such as 0,1; default all there are",
       .range = {.least = 0},
       .default_text = "all there are",
       .is_common = true},
      {.field = "threads",
       .flags = "--threads",
       .member = &Options::threads,
       .group = "How",
       .help = "Threads of each client; 0: cores / clients on this machine",
       .range =
           {.least = 0, .most = 4096, .wrong = "{} is out of range", .right = "give 1 to 4096, or 0 for all cores"},
       .in_summary = true},
      {.field = "simd",
       .flags = "--simd",
       .member = &Options::simd,
       .group = "How",
       .help = "Instruction set",
       .names = "auto,avx512,avx2,sse4,baseline",
       .in_summary = true},
  };
}

std::vector<OptionEntry> client_options() {
  return {
      {.field = "topology",
       .flags = "--topology",
       .member = &Options::topology,
       .group = "Clients",
       .help = "Who holds what; auto: centralized for one client, row-reduce for several",
       .is_common = true,
       .in_summary = true},
      {.field = "clients",
       .flags = "--clients",
       .member = &Options::clients,
       .group = "Clients",
       .help = "Clients in this process; under mpirun every rank is one (default 1)",
       .range = {.least = 1, .most = kMostClients, .wrong = "{} clients were asked for", .right = "give 1 to 4096"},
       .default_text = "1; under mpirun the ranks"},
      {.field = "row_weights",
       .flags = "--rows",
       .member = &Options::row_weights,
       .group = "Clients",
       .help = "Shares of the rows the clients own, such as 1,1,2; default even",
       .range = {.least = 0,
                 .most = OptionRange::kFinite,
                 .wrong = "{} is not a weight",
                 .right = "give numbers of 0 or more"},
       .default_text = "even",
       .is_common = true},
      {.field = "grid",
       .flags = "--grid",
       .member = &Options::grid,
       .group = "Clients",
       .help = "Shape of the grid, such as 2x3; default as square as it gets",
       .default_text = "as square as it gets",
       .is_common = true,
       .used_by = {"topology", {"grid"}}},
      {.field = "local_steps",
       .flags = "--local-steps",
       .member = &Options::local_steps,
       .group = "Clients",
       .help = "Iterations from one exchange to the next",
       .range = kOneOrMore,
       .is_common = true,
       .in_summary = true},
      {.field = "transport",
       .flags = "--transport",
       .member = &Options::transport,
       .group = "Clients",
       .help = "How clients talk; default mpi under mpirun, else threads",
       .default_text = "`threads`, under mpirun `mpi`",
       .in_summary = true},
      {.field = "policy",
       .flags = "--policy",
       .member = &Options::policy,
       .group = "Clients",
       .help = "What may leave a client; open: everything, in plain; sums: sums over all clients alone; "
               "private: releases with noise alone",
       .is_common = true,
       .in_summary = true},
      {.field = "server",
       .flags = "--server",
       .member = &Options::server,
       .group = "Clients",
       .help =
           "With policies sums and private: who adds up; none: the clients; sums: one process more, which sees masked "
           "numbers alone",
       .is_common = true,
       .in_summary = true},
      {.field = "timeout",
       .flags = "--timeout",
       .member = &Options::timeout,
       .group = "Clients",
       .help = "Seconds to wait for another client",
       .range = {.least = 0,
                 .is_open = true,
                 .wrong = "{} is no time to wait",
                 .right = "give seconds above 0",
                 .most_typed = kLongestTimeout}},
  };
}

std::vector<OptionEntry> asynchronous_options() {
  return {
      {.field = "max_staleness",
       .flags = "--max-staleness",
       .member = &Options::max_staleness,
       .group = "Topology async",
       .help = "Iterations after which a client waits for a newer slice instead of using it",
       .range = {.least = 1, .most = kMostStale, .wrong = "{} is out of range", .right = "give 1 to 4096 iterations"},
       .is_common = true,
       .in_summary = true,
       .used_by = kAsynchronous},
      {.field = "damping",
       .flags = "--damping",
       .member = &Options::damping,
       .group = "Topology async",
       .help = "Share of an update that is made, in (0, 1]",
       .range = {.least = 0,
                 .most = 1,
                 .is_open = true,
                 .wrong = "{} is no share of an update",
                 .right = "give a number above 0, up to 1 (no damping)"},
       .is_common = true,
       .in_summary = true,
       .used_by = kAsynchronous},
      {.field = "damping_kind",
       .flags = "--damping-kind",
       .member = &Options::damping_kind,
       .group = "Topology async",
       .help = "How old and new are mixed",
       .is_common = true,
       .in_summary = true,
       .used_by = kAsynchronous},
  };
}

/// Of policy private. Which goes with which is checked by mechanisms (src/mechanism).
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

std::vector<OptionEntry> output_options() {
  return {
      {.field = "keep_local",
       .flags = "--keep-local",
       .member = &Options::keep_local,
       .group = "Output",
       .help = "f is not gathered: every client writes its rows alone, f-0.npy, f-1.npy, ...",
       .is_common = true},
  };
}

/// The text of a value by its type.
struct TextOf {
  std::string operator()(const KernelName& kernel) const { return kernel.text(); }
  std::string operator()(GridShape shape) const { return fmt::format("{}x{}", shape.rows, shape.columns); }
  template <class Number>
  std::string operator()(const std::vector<Number>& numbers) const {
    std::string text;
    for (const Number number : numbers) text += fmt::format("{},", number);
    return text;
  }
  template <class Value>
  std::string operator()(const Value& value) const {
    if constexpr (std::is_enum_v<Value>) {
      return std::string(name_of(value));
    } else {
      return fmt::format("{}", value);
    }
  }
};

template <class Value>
constexpr bool kIsNumber = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;

/// Checks a value by its type; only numbers have a range.
struct RangeCheck {
  const OptionEntry& option;

  template <class Number>
  void number(Number value) const {
    if (option.range.has(static_cast<double>(value))) return;
    throw InputError(fmt::format("`{}`", option.field), fmt::format(fmt::runtime(option.range.wrong), value),
                     std::string(option.range.right));
  }
  void operator()(std::size_t count) const {
    if (count != 0) number(count);
  }
  template <class Number>
  void operator()(const std::vector<Number>& numbers) const {
    for (const Number value : numbers) number(value);
  }
  template <class Value>
  void operator()(const Value& value) const {
    if constexpr (kIsNumber<Value>) number(value);
  }
};

}  // namespace

bool OptionUsers::are_named(std::string_view name) const {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::span<const OptionEntry> option_table() {
  static const std::vector<OptionEntry> table = [] {
    std::vector<OptionEntry> all;
    for (const auto& part :
         {problem_options(), stopping_options(), arithmetic_options(), machinery_options(), client_options(),
          asynchronous_options(), noise_options(), marginal_options(), clip_options(), output_options()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

const OptionEntry* find_option(std::string_view field) {
  const std::span<const OptionEntry> table = option_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const OptionEntry& option) { return option.field == field; });
  return found == table.end() ? nullptr : &*found;
}

std::string value_text(const OptionEntry& option, const Problem& problem, const Options& options) {
  return visit_value(option, problem, options, TextOf{});
}

std::string range_text(const OptionEntry& option) {
  const OptionRange& range = option.range;
  if (!(range.least > -OptionRange::kFinite)) return "";
  const bool has_most = range.most < OptionRange::kFinite;
  if (range.is_open)
    return fmt::format("above {}{}", range.least, has_most ? fmt::format(", up to {}", range.most) : "");
  return has_most ? fmt::format("{} to {}", range.least, range.most) : fmt::format("{} or more", range.least);
}

void check_range(const OptionEntry& option, const Options& options) {
  if (!option.range.wrong.empty()) visit_value(option, Problem{}, options, RangeCheck{option});
}

}  // namespace fedsinkhorn
