// What leaves a client whose data are added up, by secure sums alone.
#include <utility>

#include "registry/disclosure_parts.hpp"

namespace fedsinkhorn {
namespace {

using enum Phase;
using enum Form;

constexpr std::string_view kOwnersOfSums = "all clients: the sum";
constexpr std::string_view kSummed = "all clients: what it says";

/// What is added up, or is known to all clients, whoever adds.
std::vector<Disclosure> masked_data() {
  return {
      {{setup},
       Payload::sum,
       masked,
       kOwnersOfSums,
       "the totals of its masses; how many of its rows have mass",
       "The total mass, and the number of rows with mass in all."},
      {{setup},
       Payload::note,
       masked,
       kOwnersOfSums,
       "its least mass and largest cost, as powers of two; whether it forbids pairs; which columns its pairs reach",
       "The least mass and the largest cost of all clients to a power of two, whether any pair is forbidden, and which "
       "columns no row reaches; not whose."},
      {{setup},
       Payload::slice,
       masked,
       kSummed,
       "which of its columns have mass; points y given in parts",
       "All clients know which columns have mass, and all points y, with any policy; nobody else does."},
      {{rounds, rebuilds},
       Payload::slice,
       masked,
       "all clients: v and sums",
       "its v; its shares of the columns' plan mass; its parts of the errors, of the dual value and of the products of "
       "acceleration",
       "In every round: v, the columns' plan mass, and so b; the errors and the dual value; not whose part is how "
       "large."},
      {{rounds},
       Payload::sum,
       masked,
       kOwnersOfSums,
       "with Newton's method its parts of the diagonal of K' diag(u^2 / a) K, and of products of that matrix with "
       "vectors all know; with `share_matrices` of the matrix",
       "These sums, a number for every column each. Two of the matrices give every client the rows and masses of all "
       "others."},
      {{rebuilds},
       Payload::sum,
       masked,
       kOwnersOfSums,
       "its parts of the plan's mass, of the gain of a level of epsilon, of <f, a> - <g, b>",
       "These sums."},
      {{rounds, rebuilds},
       Payload::potential,
       masked,
       "all clients: psi and sums",
       "psi; its summands of the columns' log-domain products (in rounds: with `stabilization` log)",
       "psi, which g follows from, and the columns' products over all rows."},
      {{rounds, rebuilds},
       Payload::note,
       masked,
       kOwnersOfSums,
       "its largest potentials as powers of two, its parts of the marginal errors, flags",
       "The largest of all to a power of two, the errors, and whether any client raised a flag; not which."},
      {{results},
       Payload::result,
       masked,
       "all clients: g and sums",
       "g; its parts of costs and errors, and of the columns of the plan",
       "g, the costs and the errors; f stays with its owner, and so do times and memory."},
      {{results},
       Payload::note,
       masked,
       kOwnersOfSums,
       "the largest of its potentials and of their rests, as powers of two",
       "The largest of all, to a power of two."},
  };
}

constexpr std::string_view kOptions = "The options of the run.";
constexpr std::string_view kSharedShape =
    "sizes of its part, how much memory it needs, its limit of sums, if any, digests of the names of its machine and, "
    "if it may use one, its device, keyed with what only clients know";
constexpr std::string_view kSharedShapeReveals =
    "How large each client's part is, and who shares a machine or a device.";
constexpr std::string_view kKeys =
    "its public keys and a random number; with `key` its signature of all that clients have said about themselves, "
    "else zeros; from client 0 a common key, enciphered for each client";
constexpr std::string_view kVerdict = "whether its input is good; if not, that it is not";
constexpr std::string_view kVerdictReveals = "Which client refused its input; the reason stays with it.";

Disclosure requests(std::vector<Phase> phases) {
  return {std::move(phases),
          Payload::control,
          plain,
          "the server",
          "the kind, number and length of the words that follow; in the end, that it leaves",
          "The size of the problem, the number of rounds and of sums, and their timing."};
}

Disclosure keys_by_server() {
  return {
      {setup},
      Payload::keys,
      plain,
      "the server; all clients",
      kKeys,
      "With `key`, who it is. Nothing else to a server that passes them on; one that replaces them can read sums and "
      "summands, unless clients have each other's `fingerprints`."};
}

}  // namespace

std::vector<Disclosure> quiet_setup(std::string_view options, std::string_view shape, std::string_view shape_reveals) {
  return {
      {{setup}, Payload::options, plain, kAll, options, kOptions},
      {{setup}, Payload::shape, plain, kAll, shape, shape_reveals},
      {{setup}, Payload::text, plain, kAll, kVerdict, kVerdictReveals},
      {{results}, Payload::control, plain, kAll, "that it has finished", "When each client has finished."},
  };
}

std::vector<Disclosure> setup_among_clients(std::string_view options) {
  std::vector<Disclosure> messages = quiet_setup(options, kSharedShape, kSharedShapeReveals);
  messages.push_back({{setup},
                      Payload::keys,
                      plain,
                      kAll,
                      kKeys,
                      "With `key`, who it is. Nothing else, unless somebody replaces keys on their way and clients do "
                      "not have each other's `fingerprints`."});
  return messages;
}

std::vector<Disclosure> served_setup(std::vector<Phase> phases, std::string_view options) {
  return {
      requests(std::move(phases)),
      keys_by_server(),
      {{setup}, Payload::options, masked, kSummed, options, kOptions},
      {{setup}, Payload::shape, masked, kSummed, kSharedShape, kSharedShapeReveals},
      {{setup}, Payload::text, masked, kSummed, kVerdict, kVerdictReveals},
      {{results}, Payload::control, masked, kSummed, "that it has finished", "Nothing else."},
  };
}

namespace {

std::vector<Remark> sums_remarks(bool has_server) {
  return {
      {"Everything seen",
       has_server ? "Whoever reads all messages, the server included, sees sizes, the number of rounds and timing. "
                    "Masked words are uniformly random to it, their sum as well."
                  : "Whoever reads all messages without being a client sees options, sizes, the number of rounds and "
                    "timing. Masked words are uniformly random to it, their sum as well."},
      {"Every client",
       "learns the sums above, in every round. Each number is an equation about the others' rows: once there are as "
       "many as these rows have numbers, the rows are determined in principle. The summary counts both, `most_sums` "
       "limits them. Sums are exact: digits below those of the largest summand are those of smaller ones."},
      {"Two clients", "Each subtracts its own summand from the sum and has the other's. Masks cannot help."},
      {"Collusion",
       has_server
           ? "All clients but one that join their summands have that one's. Fewer have the sum over the rest, which "
             "has fewer unknown numbers for them. A server that joins them adds nothing to that."
           : "All clients but one that join their summands have that one's. Fewer have the sum over the rest, which "
             "has fewer unknown numbers for them."},
      {"Honest but curious",
       has_server ? "Clients and server follow the program and look at what they get. A client that lies can spoil the "
                    "result, and choose the v of its columns, but still sees only sums. A server that replaces public "
                    "keys can read, unless clients know each other's fingerprints (`key`, `fingerprints`)."
                  : "Clients follow the program and look at what they get. One that lies can spoil the result, and "
                    "choose the v of its columns, but still sees only sums."},
  };
}

}  // namespace

Disclosures sums_row_reduce(bool has_server) {
  constexpr std::string_view kOptionsAndInputs =
      "client 0's options; of clients in processes of their own, to be compared, digests of the inputs that are not in "
      "parts, keyed with what only clients know";
  Disclosures all{has_server ? served_setup({setup, rounds, rebuilds, results}, kOptionsAndInputs)
                             : setup_among_clients(kOptionsAndInputs),
                  sums_remarks(has_server)};
  for (Disclosure& message : masked_data()) all.messages.push_back(std::move(message));
  return all;
}

Disclosures lonely_disclosures(bool has_server) {
  constexpr Remark alone = {"One client", "It has nobody to send data to: nothing that it holds leaves it."};
  if (!has_server) return {{}, {alone}};
  return {{requests({setup, results}), keys_by_server()}, {alone}};
}

}  // namespace fedsinkhorn
