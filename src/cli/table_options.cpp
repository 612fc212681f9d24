#include "cli/table_options.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/choices.hpp"
#include "cli/number_option.hpp"
#include "cli/word_option.hpp"
#include "fedsinkhorn/error.hpp"
#include "options/option_table.hpp"
#include "registry/option_names.hpp"

namespace fedsinkhorn {
namespace {

/// The choices as an option's type, "{a,b,c}": shown by --help, completed by shells.
std::string choices_text(const OptionEntry& option) {
  return "{" + CLI::detail::join(names_of_option(option), ",") + "}";
}

/// Adds one flag according to the type of its field.
struct FlagMaker {
  CLI::App& command;
  const OptionEntry& option;
  SolveArguments& arguments;

  CLI::Option* operator()(double Problem::* /*epsilon*/) const {
    return add(arguments.files.epsilon)->transform(real())->required();
  }
  CLI::Option* operator()(double Options::*member) const {
    const double most = option.range.most_typed > 0 ? option.range.most_typed : OptionRange::kFinite;
    return add(arguments.options.*member)->transform(real(most))->capture_default_str();
  }
  CLI::Option* operator()(std::int64_t Options::*member) const { return whole_number(member); }
  CLI::Option* operator()(int Options::*member) const { return whole_number(member); }
  CLI::Option* operator()(std::size_t Options::* /*member*/) const {
    const IntegerRange range = read_range(std::numeric_limits<std::int64_t>::max());
    const auto read = option.default_text == "auto" ? integer_or_auto(range) : integer(range);
    return add(arguments.counts[option.field])->transform(read);
  }
  CLI::Option* operator()(bool Options::*member) const {
    return command.add_flag(std::string(option.flags), arguments.options.*member, std::string(option.help));
  }
  CLI::Option* operator()(std::string Options::*member) const {
    if (option.field == "transport") {  // whether it was given matters
      return add(arguments.transport)->type_name(choices_text(option))->check(not_empty());
    }
    return add(arguments.options.*member)->type_name(choices_text(option))->capture_default_str();
  }
  CLI::Option* operator()(std::vector<int> Options::*member) const {
    return add_integer_list(command, std::string(option.flags), arguments.options.*member,
                            read_range(std::numeric_limits<int>::max()), std::string(option.help));
  }
  CLI::Option* operator()(std::vector<double> Options::*member) const {
    return add_real_list(command, std::string(option.flags), arguments.options.*member, std::string(option.help));
  }
  CLI::Option* operator()(GridShape Options::* /*member*/) const {
    return add(arguments.words[option.field])->type_name("ROWSxCOLUMNS")->check(not_empty());
  }
  template <class Choice>
  CLI::Option* operator()(Choice Options::*member) const {
    std::string& word = arguments.words[option.field];
    word = name_of(arguments.options.*member);
    return add(word)->type_name(choices_text(option))->capture_default_str();
  }

 private:
  template <class Value>
  CLI::Option* add(Value& value) const {
    return command.add_option(std::string(option.flags), value, std::string(option.help));
  }
  template <class Number>
  [[nodiscard]] CLI::Option* whole_number(Number Options::*member) const {
    return add(arguments.options.*member)
        ->transform(integer(read_range(std::numeric_limits<Number>::max())))
        ->capture_default_str();
  }
  [[nodiscard]] IntegerRange read_range(std::uint64_t most) const {
    const OptionRange& range = option.range;
    return {static_cast<std::uint64_t>(range.least),
            range.most_typed > 0 ? static_cast<std::uint64_t>(range.most_typed) : most};
  }
};

GridShape grid_named(const std::string& text) {
  const std::size_t cross = std::min(text.find('x'), text.size());
  std::string rows = text.substr(0, cross);
  std::string columns = cross < text.size() ? text.substr(cross + 1) : "";
  constexpr IntegerRange range{1, 4096};  // the largest number of clients
  if (!normalize_integer(rows, range).empty() || !normalize_integer(columns, range).empty()) {
    throw InputError("--grid", "'" + text + "' is not a shape", "give rows x columns of clients, such as 2x3");
  }
  return {std::stoul(rows), std::stoul(columns)};
}

/// Reads one word according to the type of its field. Numbers and strings are already set.
struct WordReader {
  const OptionEntry& option;
  const SolveArguments& arguments;
  Options& options;

  void operator()(std::size_t Options::*member) const {
    options.*member = static_cast<std::size_t>(arguments.counts.at(option.field).value_or(0));
  }
  void operator()(GridShape Options::*member) const {
    const std::string& word = arguments.words.at(option.field);
    if (!word.empty()) options.*member = grid_named(word);
  }
  void operator()(KernelName Options::*member) const { options.*member = arguments.words.at(option.field); }
  template <class Struct, class Value>
  void operator()(Value Struct::*member) const {
    if constexpr (std::is_enum_v<Value>) {
      options.*member = choice<Value>(option.main_flag(), arguments.words.at(option.field));
    }
  }
};

}  // namespace

void add_table_options(CLI::App& command, std::string_view group, SolveArguments& arguments) {
  for (const OptionEntry& option : option_table()) {
    if (option.group != group) continue;
    arguments.offered.push_back(option.field);
    CLI::Option* flag = std::visit(FlagMaker{command, option, arguments}, option.member);
    flag->group(std::string(group));
    if (option.used_by.field == "topology" && option.used_by.are_named("async")) {
      flag->each(note_in(arguments.asynchronous_flags, option.main_flag()));
    }
  }
}

Options read_table_options(const SolveArguments& arguments) {
  Options options = arguments.options;
  for (const OptionEntry& option : option_table()) {
    if (std::ranges::find(arguments.offered, option.field) == arguments.offered.end()) continue;
    std::visit(WordReader{option, arguments, options}, option.member);
  }
  return options;
}

}  // namespace fedsinkhorn
