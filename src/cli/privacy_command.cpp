// fedsinkhorn privacy: what leaves a client. What noise guarantees is in privacy_account_command.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flag_names.hpp"
#include "cli/number_option.hpp"
#include "cli/privacy_account_command.hpp"
#include "cli/speaker.hpp"
#include "cli/suggestion.hpp"
#include "cli/word_option.hpp"
#include "comm/identity.hpp"
#include "core/names.hpp"
#include "core/printable.hpp"
#include "fedsinkhorn/error.hpp"
#include "problem/shapes.hpp"
#include "problem/sums_account.hpp"
#include "registry/disclosure.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

/// Sizes to count for; no rows: none were given.
struct CountArguments {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t targets = 1;
  std::size_t dimension = 0;
  std::size_t clients = 0;
  bool are_masses_uniform = false;
};

struct ExplainArguments {
  std::string topology = "row-reduce";
  std::string policy = "open";
  std::string mechanism = Options{}.mechanism;
  std::string server = "none";
  std::string format = "table";
  CountArguments count;
};

/// What policy sums shows and leaves unknown, for sizes given.
struct SumsCount {
  std::uint64_t each_iteration = 0;
  std::uint64_t each_plain_iteration = 0;
  std::uint64_t unknown = 0;
  /// By then, at the latest, as many numbers have been seen.
  [[nodiscard]] std::uint64_t determined_after() const {
    return (unknown + each_plain_iteration - 1) / each_plain_iteration;
  }
};

std::optional<SumsCount> sums_count(const ExplainArguments& arguments) {
  const CountArguments& count = arguments.count;
  if (count.rows == 0) return std::nullopt;
  if (arguments.policy != "sums") {
    throw InputError("--rows", "numbers are counted for policy sums", "add --policy sums, or leave out --rows");
  }
  if (count.clients < 2) throw InputError("--clients", "is needed to count", "give 2 or more");
  SumsShape shape;
  for (const Range& slice : deal(count.rows, count.clients, {})) shape.rows.push_back(slice.size());
  shape.columns = count.columns > 0 ? count.columns : count.rows;
  shape.targets = count.targets;
  shape.numbers_of_a_row = (count.dimension > 0 ? count.dimension : shape.columns) + (count.are_masses_uniform ? 0 : 1);
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(shape.rows) - shape.rows.begin());
  return SumsCount{numbers_each_iteration(shape, true), numbers_each_iteration(shape, false),
                   numbers_unknown(shape, largest)};
}

std::string in_words(const SumsCount& count) {
  return fmt::format(
      "Counted: each iteration shows up to {} numbers to every client (as many as columns are shown by each Newton "
      "step and each of its products). {} numbers of the others' rows are unknown to a client. After {} iterations at "
      "the "
      "latest the others' rows are determined in principle; `most_sums` ends a run earlier.",
      grouped(count.each_iteration), grouped(count.unknown), grouped(count.determined_after()));
}

/// Lines of at most `width` letters, except for longer words. A line break stays one.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
    if (end < text.size() && text[end] == '\n') lines.emplace_back();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

using Cells = std::array<std::string, 4>;
constexpr std::array<std::size_t, 4> kWidths = {9, 16, 16, 53};  // 100 with two blanks between them

std::string table_row(const Cells& cells) {
  std::array<std::vector<std::string>, 4> columns;
  std::size_t height = 0;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    columns[k] = wrapped(cells[k], kWidths[k]);
    height = std::max(height, columns[k].size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      line += fmt::format("{:<{}}", i < columns[k].size() ? columns[k][i] : "", kWidths[k] + 2);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string phases_of(const Disclosure& message) {
  std::string text;
  for (const Phase phase : message.phases) {
    text += (text.empty() ? "" : ", ") + std::string(kPhaseNames[static_cast<std::size_t>(phase)]);
  }
  return text;
}

std::string disclosures_table(const Disclosures& all, const std::optional<SumsCount>& count) {
  constexpr std::size_t kWidth = 100;
  const auto paragraph = [](const std::string& words) {
    std::string lines = "\n";
    for (const std::string& line : wrapped(with_flags(words), kWidth)) lines += line + "\n";
    return lines;
  };
  std::string text;
  if (all.messages.empty()) text += "Nothing leaves.\n";
  if (!all.messages.empty()) text += table_row({"when", "message", "who reads it", "what a client sends"});
  for (const Disclosure& message : all.messages) {
    text += "\n" + table_row({phases_of(message), fmt::format("{} {}", name_of(message.form), name_of(message.kind)),
                              std::string(message.seen_by),
                              with_flags(fmt::format("{}\nReveals: {}", message.what, message.reveals))});
  }
  for (const Remark& remark : all.remarks) text += paragraph(fmt::format("{}: {}", remark.about, remark.text));
  if (count) text += paragraph(in_words(*count));
  return text;
}

std::string disclosures_json(const ExplainArguments& arguments, const Disclosures& all,
                             const std::optional<SumsCount>& count) {
  nlohmann::ordered_json json = {
      {"topology", arguments.topology}, {"policy", arguments.policy}, {"server", arguments.server}};
  if (arguments.policy == "private") json["mechanism"] = arguments.mechanism;
  json["messages"] = nlohmann::ordered_json::array();
  for (const Disclosure& message : all.messages) {
    nlohmann::ordered_json phases;
    for (const Phase phase : message.phases) phases.push_back(kPhaseNames[static_cast<std::size_t>(phase)]);
    json["messages"].push_back({{"phases", phases},
                                {"kind", name_of(message.kind)},
                                {"form", name_of(message.form)},
                                {"seen_by", message.seen_by},
                                {"what", with_flags(std::string(message.what))},
                                {"reveals", with_flags(std::string(message.reveals))}});
  }
  json["remarks"] = nlohmann::ordered_json::array();
  for (const Remark& remark : all.remarks) {
    json["remarks"].push_back({{"about", remark.about}, {"text", with_flags(std::string(remark.text))}});
  }
  if (count) {
    json["count"] = {{"numbers_each_iteration", count->each_iteration},
                     {"unknown", count->unknown},
                     {"determined_after_iterations", count->determined_after()}};
  }
  return json.dump(2) + "\n";
}

void require_name(const std::string& flag, const std::string& name, const std::vector<std::string>& known) {
  if (std::ranges::find(known, name) != known.end()) return;
  throw InputError(flag, "unknown name '" + name + "'",
                   did_you_mean(name, known, fmt::format("choose {}", fmt::join(known, ", "))));
}

template <class Entries>
std::vector<std::string> names_in(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> servers() {
  std::vector<std::string> names;
  for (const Server server : all_choices<Server>()) names.emplace_back(name_of(server));
  return names;
}
std::vector<std::string> formats() { return {"table", "json"}; }

void explain_disclosures(const ExplainArguments& arguments) {
  require_name("--topology", arguments.topology, names_in(topologies()));
  require_name("--policy", arguments.policy, names_in(policies()));
  require_name("--mechanism", arguments.mechanism, names_in(mechanisms()));
  require_name("--server", arguments.server, servers());
  require_name("--format", arguments.format, formats());
  const TopologyEntry& topology = topologies().find(arguments.topology, "`topology`");
  const PolicyEntry& policy = policies().find(arguments.policy, "`policy`");
  const bool has_server = choice_named<Server>(arguments.server) == Server::sums;
  const Disclosures all = policy.asks_mechanism
                              ? disclosures(topology, mechanisms().find(arguments.mechanism, "`mechanism`"), has_server)
                              : disclosures(topology, policy, has_server);
  const std::optional<SumsCount> count = sums_count(arguments);
  if (!speaks_for_all()) return;
  fmt::print("{}",
             arguments.format == "json" ? disclosures_json(arguments, all, count) : disclosures_table(all, count));
}

void add_count_options(CLI::App& command, CountArguments& count) {
  const auto number = [&](const char* flag, std::size_t& value, std::uint64_t least, const char* help,
                          std::uint64_t most = std::uint64_t{1} << 31U) {
    return command.add_option(flag, value, help)->transform(integer({least, most}));
  };
  CLI::Option* const rows = number("--rows", count.rows, 1, "With policy sums: count for n rows");
  number("--columns", count.columns, 1, "Columns m; default as many as rows")->needs(rows);
  number("--targets", count.targets, 1, "Targets N")->needs(rows)->capture_default_str();
  number("--dimension", count.dimension, 1, "Of the points that costs come from; left out: a matrix")->needs(rows);
  constexpr std::uint64_t kMostClients = 4096;  // of one process
  number("--clients", count.clients, 2, "Clients, each with as many rows", kMostClients)->needs(rows);
  command.add_flag("--uniform-masses", count.are_masses_uniform, "Masses of rows are no secret")->needs(rows);
}

void make_key(const std::string& path) {
  if (!speaks_for_all()) return;
  const Identity identity = new_identity();
  write_identity(path, identity);
  fmt::print("{}\n", fingerprint_of(identity.public_key));
}

}  // namespace

void add_privacy_command(CLI::App& app) {
  CLI::App* privacy =
      app.add_subcommand("privacy", "Show what leaves a client, what that reveals, and what noise guarantees");
  privacy->require_subcommand(1);

  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = privacy->add_subcommand("explain", "List the messages of a topology under a policy");
  const auto add = [&](const char* flag, std::string& value, const char* help, const std::vector<std::string>& names) {
    command->add_option(flag, value, help)
        ->type_name(fmt::format("{{{}}}", fmt::join(names, ",")))
        ->check(not_empty())
        ->capture_default_str();
  };
  add("--topology", arguments->topology, "Who holds what", names_in(topologies()));
  add("--policy", arguments->policy, "What may leave a client", names_in(policies()));
  add("--mechanism", arguments->mechanism, "With policy private: what gets noise", names_in(mechanisms()));
  add("--server", arguments->server, "With policy sums, or mechanism marginal: who adds up", servers());
  add("--format", arguments->format, "A table to read, or JSON", formats());
  add_count_options(*command, arguments->count);
  command->callback([arguments] { explain_disclosures(*arguments); });

  const auto path = std::make_shared<std::string>();
  CLI::App* key = privacy->add_subcommand(
      "key", "Make a secret key by which other clients recognise this one, and print its fingerprint for them");
  key->add_option("--output", *path, "A file that does not exist yet")
      ->type_name("FILE")
      ->check(not_empty())
      ->required();
  key->callback([path] { make_key(*path); });

  add_account_command(*privacy);
  add_calibrate_command(*privacy);
}

}  // namespace fedsinkhorn
