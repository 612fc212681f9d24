#include "io/sums_report.hpp"

#include <fmt/format.h>

#include "core/printable.hpp"

namespace fedsinkhorn {

bool are_rows_determined(const SumsSeen& seen) { return seen.sums.unknown > 0 && seen.sums.seen >= seen.sums.unknown; }

std::string sums_sentence(const SumsSeen& seen) {
  const std::uint64_t unknown = seen.sums.unknown;
  std::string text = fmt::format("{} numbers seen, {} unknown", grouped(seen.sums.seen), grouped(unknown));
  if (are_rows_determined(seen)) {
    text += ": the others' rows are determined in principle";
  } else if (unknown > 0) {
    text += ": too few to determine the others' rows by counting, which is no guarantee";
  }
  if (seen.sums.matrices > 0) {
    text += fmt::format("; {} of the sums were matrices, {} give the others' rows away", seen.sums.matrices,
                        seen.sums.matrices == 1 ? "two of which would" : "any two of which");
  }
  return text;
}

OrderedJson sums_json(const SumsSeen& seen, const std::string& sentence) {
  OrderedJson json = {{"sentence", sentence},
                      {"sums_seen", seen.sums.seen},
                      {"unknown", seen.sums.unknown},
                      {"rows_are_determined", are_rows_determined(seen)},
                      {"matrices_summed", seen.sums.matrices}};
  if (seen.sums.limit > 0) json["most_sums"] = seen.sums.limit;
  return json;
}

std::string privacy_sentence(const SumsSeen& seen, const Options& options) {
  if (seen.client_count < 2) return "";
  if (options.policy == "open") {
    return "not private: from what they were sent, clients can work out costs and masses of others";
  }
  if (options.policy != "sums") return "";
  std::string text = "clients have seen only sums over all clients";
  if (options.server == Server::sums) text += ", and the server only masked numbers";
  if (options.server == Server::sums && options.keys.fingerprints.empty()) {
    text += ", if the server has passed on their keys unchanged";
  }
  text += "; " + sums_sentence(seen);
  if (seen.client_count == 2) text += "; of two clients, each can subtract its own part and has the other's";
  return text;
}

}  // namespace fedsinkhorn
