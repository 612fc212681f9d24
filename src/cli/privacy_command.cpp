// fedsinkhorn privacy: what leaves a client. What noise guarantees is in privacy_account_command.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.hpp"
#include "cli/flag_names.hpp"
#include "cli/privacy_account_command.hpp"
#include "cli/speaker.hpp"
#include "cli/suggestion.hpp"
#include "cli/word_option.hpp"
#include "comm/identity.hpp"
#include "core/names.hpp"
#include "fedsinkhorn/error.hpp"
#include "registry/disclosure.hpp"
#include "registry/registry.hpp"

namespace fedsinkhorn {
namespace {

struct ExplainArguments {
  std::string topology = "row-reduce";
  std::string policy = "open";
  std::string mechanism = Options{}.mechanism;
  std::string server = "none";
  std::string format = "table";
};

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

std::string disclosures_table(const Disclosures& all) {
  constexpr std::size_t kWidth = 100;
  std::string text;
  if (all.messages.empty()) text += "Nothing leaves.\n";
  if (!all.messages.empty()) text += table_row({"when", "message", "who reads it", "what a client sends"});
  for (const Disclosure& message : all.messages) {
    text += "\n" + table_row({phases_of(message), fmt::format("{} {}", name_of(message.form), name_of(message.kind)),
                              std::string(message.seen_by),
                              with_flags(fmt::format("{}\nReveals: {}", message.what, message.reveals))});
  }
  for (const Remark& remark : all.remarks) {
    text += "\n";
    for (const std::string& line : wrapped(with_flags(fmt::format("{}: {}", remark.about, remark.text)), kWidth)) {
      text += line + "\n";
    }
  }
  return text;
}

std::string disclosures_json(const ExplainArguments& arguments, const Disclosures& all) {
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
  if (speaks_for_all())
    fmt::print("{}", arguments.format == "json" ? disclosures_json(arguments, all) : disclosures_table(all));
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
