#include "registry/disclosure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "fedsinkhorn/error.hpp"
#include "registry/disclosure_parts.hpp"

namespace fedsinkhorn {
namespace {

using enum Phase;
using enum Form;

void append(std::vector<Disclosure>& messages, std::vector<Disclosure> more) {
  for (Disclosure& message : more) messages.push_back(std::move(message));
}

/// What differs between topologies during set-up.
struct OpenSetup {
  std::string_view note;
  std::string_view note_reveals;
  std::string_view slice;
  std::string_view slice_reveals;
};

constexpr std::string_view kLargest = "its least mass, its largest cost or longest point, whether it forbids pairs";
constexpr std::string_view kLargestReveals = "These numbers of every client.";
constexpr std::string_view kPrints =
    "its least mass, its largest cost or longest point, whether it forbids pairs; for square costs, fingerprints of "
    "its rows (do the costs equal their transpose?)";
constexpr std::string_view kPrintsReveals =
    "Whoever reads all messages, and knows all but one entry of a client's rows, computes that entry from the "
    "fingerprints, exactly.";
constexpr std::string_view kPairs =
    "where pairs are forbidden: to client 0 its allowed pairs and, unless given in parts, its masses";
constexpr std::string_view kPairsReveals = "Client 0 knows which pairs are allowed, and the masses.";
constexpr std::string_view kPairsAndPoints =
    "where pairs are forbidden: to client 0 its allowed pairs and, unless given in parts, its masses; points y given "
    "in parts: to all clients";
constexpr std::string_view kPairsAndPointsReveals =
    "Client 0 knows which pairs are allowed, and the masses; all clients know all points y.";

std::vector<Disclosure> open_setup(const OpenSetup& own) {
  return {
      {{setup},
       Payload::options,
       plain,
       kAll,
       "client 0's options; a random number of client 0, from which digests and fingerprints of this solve begin; of "
       "clients in processes of their own, to be compared, digests of the inputs that are not in parts",
       "The options of the run."},
      {{setup},
       Payload::shape,
       plain,
       kAll,
       "sizes of its part, which of its rows and columns have mass, how much memory it needs, digests of the names of "
       "its machine and, if it may use one, its device",
       "How large each client's part is, which of its masses are 0, who shares a machine or a device, and the name of "
       "a "
       "machine to those who guess it."},
      {{setup},
       Payload::text,
       plain,
       kAll,
       "whether its input is good; if not, why not",
       "Names of files and offending values, if its input is refused."},
      {{setup}, Payload::sum, plain, kAll, "the totals of its masses", "Each client's share of the mass."},
      {{setup}, Payload::note, plain, kAll, own.note, own.note_reveals},
      {{setup}, Payload::slice, plain, "client 0; all clients", own.slice, own.slice_reveals},
  };
}

std::vector<Disclosure> open_results(std::string_view of_potentials) {
  return {
      {{results},
       Payload::result,
       plain,
       "client 0; all clients",
       of_potentials,
       "f, g and costs give the plan; the parts say what each client's rows cost."},
      {{results},
       Payload::note,
       plain,
       kAll,
       "the largest of its potentials and of their rests",
       "max |f| of each client, with `keep_local`, too."},
      {{results}, Payload::control, plain, kAll, "that it has finished", "When each client has finished."},
  };
}

constexpr std::string_view kResultsOfAll =
    "f to client 0 (not with `keep_local`), g to all; its parts of costs and errors, and the u, v and potentials to "
    "compute them; times, memory and bytes to client 0";
constexpr std::string_view kResultsOfRowReduce =
    "f to client 0 (not with `keep_local`), g to all; its parts of costs and errors, and the v, psi and sums over its "
    "rows of the plan to compute them; times, memory and bytes to client 0";

constexpr std::string_view kPartialSums =
    "its parts of the plan's mass, of the gain of a level of epsilon, of <f, a> - <g, b>; with Newton's method its "
    "sum of p p' / a over the rows p of its part of the plan, or these rows (few rows, above 1024 columns)";
constexpr std::string_view kPartialSumsReveal =
    "With Newton's method, a client with few rows shows its rows of the plan.";
constexpr std::string_view kNotes = "largest potentials, and its parts of the marginal errors where these are measured";
constexpr std::string_view kNotesReveal = "How large its potentials are, and how far its rows are from their masses.";

constexpr Remark kOpenRemark = {
    "Everything seen",
    "Policy open hides nothing. Whoever reads all messages can reconstruct rows of costs, masses and the plan, with "
    "least squares and the program's own formulas (tests/privacy does). Use it with clients that may know each "
    "other's data, and over connections that nobody else reads."};

std::vector<Remark> open_remarks(std::string_view of_topology) {
  return {kOpenRemark,
          {"Two clients", of_topology},
          {"Collusion", "None is needed: what a client sends to others, they can read."},
          {"Honest but curious",
           "The attacks only need clients that follow the program and keep what they receive. A client that lies can "
           "spoil the result as well."}};
}

Disclosures open_all_to_all() {
  Disclosures all{open_setup({kPrints, kPrintsReveals, kPairsAndPoints, kPairsAndPointsReveals}),
                  open_remarks("As with more: every client has all slices of u and v.")};
  append(all.messages,
         {{{rounds, rebuilds},
           Payload::slice,
           plain,
           kAll,
           "its u and v; with them its parts of the marginal errors and of the sums of acceleration",
           "(K v)_i = a_i / u_i is one equation per round for a private row of K: a 4 x 4 block of costs was "
           "reconstructed to 4e-9 from 60 rounds."},
          {{rounds, rebuilds},
           Payload::potential,
           plain,
           kAll,
           "absorbed potentials and log a (in rounds: with `stabilization` log)",
           "f and g up to what u and v add, and a."},
          {{rounds, rebuilds}, Payload::sum, plain, kAll, kPartialSums, kPartialSumsReveal},
          {{rounds, rebuilds}, Payload::note, plain, kAll, kNotes, kNotesReveal}});
  append(all.messages, open_results(kResultsOfAll));
  return all;
}

Disclosures open_async() {
  Disclosures all{open_setup({kPrints, kPrintsReveals, kPairsAndPoints, kPairsAndPointsReveals}),
                  open_remarks("As with more: every client has the newest slices of u and v.")};
  append(all.messages,
         {{{rounds, rebuilds},
           Payload::slice,
           plain,
           kAll,
           "its u and v whenever they change; with v its parts of the marginal errors",
           "As with all-to-all, (K v)_i = a_i / u_i is an equation for a private row of K, whenever slices answer each "
           "other."},
          {{rounds}, Payload::control, plain, kAll, "that it wants to synchronise", "When each client asks for it."},
          {{rebuilds},
           Payload::potential,
           plain,
           kAll,
           "absorbed potentials and log a",
           "f and g up to what u and v add, and a."},
          {{rebuilds},
           Payload::sum,
           plain,
           kAll,
           "its part of the plan's mass",
           "How much mass its rows have in the first plan."},
          {{rounds, rebuilds}, Payload::note, plain, kAll, kNotes, kNotesReveal}});
  append(all.messages, open_results(kResultsOfAll));
  return all;
}

Disclosures open_star() {
  Disclosures all{
      open_setup({kLargest, kLargestReveals, kPairs, kPairsReveals}),
      open_remarks("The server sees all. The other one sees what concerns its own rows and columns, and g.")};
  append(all.messages,
         {{{rounds, rebuilds},
           Payload::slice,
           plain,
           "client 0, the server; the owner of a slice",
           "its u and v to the server, with its parts of the errors and of the sums of acceleration; K v and K' u from "
           "the server to the owners of rows and columns (with Newton's method v to all)",
           "The server holds all costs; it learns all masses and the plan."},
          {{rounds, rebuilds},
           Payload::potential,
           plain,
           "client 0, the server; the owner of a slice",
           "absorbed potentials, log a, log-domain products (in rounds: with `stabilization` log)",
           "The server learns f and g, and a."},
          {{rounds, rebuilds},
           Payload::sum,
           plain,
           kAll,
           kPartialSums,
           "Each client's parts; those of Newton's method are the server's, which holds all rows."},
          {{rounds, rebuilds},
           Payload::note,
           plain,
           kAll,
           "from the server: errors and sums of all clients together; from each: its largest potentials",
           kNotesReveal}});
  append(all.messages, open_results(kResultsOfAll));
  return all;
}

Disclosures open_grid() {
  Disclosures all{open_setup({kLargest, kLargestReveals, kPairs, kPairsReveals}),
                  open_remarks("They are a row or a column of the grid: each sees the other's summands.")};
  append(all.messages,
         {{{rounds, rebuilds},
           Payload::slice,
           plain,
           "the same row or column of the grid",
           "its u along the row, its v along the column of the grid, with its parts of the errors and of the sums of "
           "acceleration",
           "u and v of the clients in the same row and column."},
          {{rounds, rebuilds},
           Payload::sum,
           plain,
           "the same row or column of the grid; all clients",
           "its summands of K v and of K' u, to the owners of these rows and columns; to all clients its parts of the "
           "plan's mass, of the gain of a level of epsilon, of <f, a> - <g, b>",
           "A summand is a product with the client's block of K: rows of small blocks follow as with row-reduce."},
          {{rounds, rebuilds},
           Payload::potential,
           plain,
           "the same row or column of the grid",
           "absorbed potentials, log a, summands of log-domain products (in rounds: with `stabilization` log)",
           "f and g up to what u and v add, and a."},
          {{rounds, rebuilds}, Payload::note, plain, kAll, kNotes, kNotesReveal}});
  append(all.messages, open_results(kResultsOfAll));
  return all;
}

Disclosures open_row_reduce() {
  Disclosures all{open_setup({kLargest, kLargestReveals, kPairsAndPoints, kPairsAndPointsReveals}),
                  open_remarks("Each sees the other's summands for its own columns.")};
  append(all.messages,
         {{{rounds, rebuilds},
           Payload::slice,
           plain,
           kAll,
           "its v; with it its parts of the marginal errors and of the sums of acceleration, one of which is "
           "sum a log(u / a)",
           "v is known to all, and so is b."},
          {{rounds, rebuilds},
           Payload::sum,
           plain,
           "owner of the column; all clients",
           "its summand of K' u, to the owners of the columns; to all clients its parts of the plan's mass and of "
           "<f, a> - <g, b>, with Newton's method its sum of p p' / a over its rows p of the plan, or these rows (few "
           "rows, "
           "above 1024 columns)",
           "One message of a client with one row gives that row of costs up to a constant, to 3e-16; two rows follow "
           "from 30 rounds, to 1e-11."},
          {{rounds, rebuilds},
           Payload::potential,
           plain,
           "owner of the column; all clients",
           "psi to all; its summand of K' u by its logarithm, to the owners of the columns (in rounds: with "
           "`stabilization` log)",
           "The same as the summand itself."},
          {{rounds, rebuilds}, Payload::note, plain, kAll, kNotes, kNotesReveal}});
  append(all.messages, open_results(kResultsOfRowReduce));
  return all;
}

}  // namespace

void require_use_for_server(const PolicyEntry& policy) {
  if (policy.adds_securely) return;
  throw InputError("`server`", fmt::format("adds up masked sums, and with policy {} there are none", policy.name),
                   "add `policy` sums");
}

void sort_by_phase(Disclosures& all) {
  std::ranges::stable_sort(all.messages, {}, [](const Disclosure& message) { return message.phases.front(); });
}

namespace {

struct OpenEntry {
  std::string_view topology;
  Disclosures (*of)();
};
constexpr std::array<OpenEntry, 5> kOpenTopologies = {{{"all-to-all", open_all_to_all},
                                                       {"star", open_star},
                                                       {"grid", open_grid},
                                                       {"row-reduce", open_row_reduce},
                                                       {"async", open_async}}};

void require_pair(const TopologyEntry& topology, const PolicyEntry& policy, bool has_server) {
  if (policy.adds_securely && !topology.only_open.empty()) {
    throw InputError("`policy`",
                     fmt::format("{} is not for topology {}: {}", policy.name, topology.name, topology.only_open),
                     "use row-reduce, or policy open");
  }
  if (has_server) require_use_for_server(policy);
}

Disclosures unordered(const TopologyEntry& topology, const PolicyEntry& policy, bool has_server) {
  if (!topology.several_clients) return lonely_disclosures(has_server);
  if (policy.adds_securely && topology.name == "row-reduce") return sums_row_reduce(has_server);
  for (const OpenEntry& entry : kOpenTopologies) {
    if (!policy.adds_securely && entry.topology == topology.name) return entry.of();
  }
  throw InputError("`topology`", fmt::format("nobody has written down what leaves a client of {}", topology.name),
                   "add it to src/registry/disclosure.cpp");
}

}  // namespace

Disclosures disclosures(const TopologyEntry& topology, const PolicyEntry& policy, bool has_server) {
  require_pair(topology, policy, has_server);
  Disclosures all = unordered(topology, policy, has_server);
  sort_by_phase(all);
  return all;
}

}  // namespace fedsinkhorn
