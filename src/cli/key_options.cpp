#include "cli/key_options.hpp"

#include "cli/word_option.hpp"

namespace fedsinkhorn {

void add_key_options(CLI::App& command, SolveArguments& arguments) {
  command
      .add_option(
          "--key", arguments.options.keys.own,
          "With policy sums: this client's key, by which others know it; {client} in it: a file of each client's own")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Clients");
  command
      .add_option("--fingerprints", arguments.options.keys.fingerprints,
                  "With policy sums: the keys' fingerprints of all clients, a line each, in order")
      ->type_name("FILE")
      ->check(not_empty())
      ->group("Clients");
}

}  // namespace fedsinkhorn
