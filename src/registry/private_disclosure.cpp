// What leaves a client of a private run.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/disclosure_parts.hpp"

namespace fedsinkhorn {
namespace {

using enum Phase;
using enum Form;

constexpr std::string_view kReveals = "What (epsilon, delta) allows: the summary says how much, and of what.";

constexpr Remark kEverythingSeen = {
    "Everything seen",
    "Whoever reads all messages, g, the trace and the summary learns no more about a record than the summary's epsilon "
    "and delta allow. Besides, it sees options, sizes, the number of releases and their timing, and whether a client "
    "refused its input. Files that a client writes for itself, f and the plan, are its own data."};

constexpr Remark kHonest = {
    "Honest but curious",
    "Clients follow the program and look at what they get. Count one that adds no noise among those that collude "
    "(`colluding`). One that lies can spoil the result."};

Disclosures of_marginal(const TopologyEntry& /*topology*/, bool has_server) {
  constexpr std::string_view kOptionsAndDigests =
      "client 0's options; to be compared, digests of b, of the points of the columns and, without `record_mass`, of "
      "the "
      "largest mass, keyed with what only clients know";
  Disclosures all{
      has_server ? served_setup({setup, rounds, results}, kOptionsAndDigests) : setup_among_clients(kOptionsAndDigests),
      {}};
  all.messages.push_back({{rounds},
                          Payload::release,
                          masked,
                          "all clients: the sum",
                          "its rows' share of the columns' plan mass (with `cost_bound` of the cost, too), plus its "
                          "share of the noise",
                          kReveals});
  all.remarks = {
      kEverythingSeen,
      {"Two clients",
       "Each subtracts its own part, noise included, and has the other's with only that one's noise: "
       "the summary says what epsilon that is. `colluding` 1 makes up for it."},
      {"Collusion",
       "Clients that pool what they know take their own noise off the sum. With `colluding` t, the noise of any "
       "clients - t of them is as much as the budget asks for."},
      kHonest};
  return all;
}

Disclosures of_scalings(const TopologyEntry& topology, bool /*has_server*/) {
  const bool is_star = topology.route == Route::through_root;
  Disclosures all{quiet_setup("client 0's options; a random number of client 0, from which digests of this solve begin",
                              "sizes of its part, how much memory it needs, a digest of its machine's name",
                              "How large each client's part is, who shares a machine, and the name of a machine to "
                              "those who guess it."),
                  {}};
  all.messages.push_back(
      {{rounds},
       Payload::release,
       plain,
       is_star ? "client 0, the server; the owner of a slice" : "all clients",
       is_star ? "its log u and log v, clipped and with noise, to the server; log(K v) and log(K' u) from the server, "
                 "which are computed from them and the costs"
               : "its log u and log v, clipped and with noise",
       kReveals});
  all.messages.push_back({{rounds},
                          Payload::control,
                          plain,
                          "all clients",
                          "whether it wants to stop",
                          "That somebody has interrupted it."});
  all.remarks = {
      kEverythingSeen,
      {"Costs", is_star ? "They are the server's. What it tells clients are products with them: to clients they are "
                          "not a secret."
                        : "Every client holds the rows and columns of the costs that are its own, and so rows of "
                          "others': costs are not a secret. Noise protects the masses."},
      {"Two clients", "As with more: every release has all its noise."},
      {"Collusion",
       "None is needed to see releases, and it does not help: every client's noise protects its own data."},
      {"Honest but curious",
       "Clients follow the program and look at what they get. One that lies can spoil the result, but does not see "
       "more than releases."}};
  return all;
}

struct MechanismDisclosures {
  std::string_view mechanism;
  Disclosures (*of)(const TopologyEntry& topology, bool has_server);
};
constexpr std::array<MechanismDisclosures, 2> kMechanisms = {{{"marginal", of_marginal}, {"scalings", of_scalings}}};

}  // namespace

Disclosures disclosures(const TopologyEntry& topology, const MechanismEntry& mechanism, bool has_server) {
  if (std::ranges::find(mechanism.topologies, topology.name) == mechanism.topologies.end()) {
    throw InputError("`mechanism`", fmt::format("{} is not for topology {}", mechanism.name, topology.name),
                     fmt::format("use {}", alternatives(mechanism.topologies)));
  }
  if (has_server) require_use_for_server(mechanism.policy);
  if (!topology.several_clients) return lonely_disclosures(has_server);
  const auto found = std::ranges::find(kMechanisms, mechanism.name, &MechanismDisclosures::mechanism);
  if (found == kMechanisms.end()) {
    throw InputError("`mechanism`", fmt::format("nobody has written down what leaves a client of {}", mechanism.name),
                     "add it to src/registry/private_disclosure.cpp");
  }
  Disclosures all = found->of(topology, has_server);
  sort_by_phase(all);
  return all;
}

}  // namespace fedsinkhorn
