// From files to a problem.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/number_table.hpp"
#include "cli/plan_flow.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// Whether the path contains "{client}": each client then has its own.
[[nodiscard]] bool is_part(const std::string& path);
/// The path for that client.
[[nodiscard]] std::string of_client(std::string path, std::size_t client);

/// As typed. "{client}" in a name stands for the client's number: each client then has its own file.
struct InputFiles {
  std::vector<std::string> parts;  // what else is a client's own: some of C, X, Y, a, b, initial_g
  std::string cost;
  std::vector<std::string> points;
  std::vector<std::string> images;
  std::string metric;  // empty: the default
  std::string a;
  std::string b;
  std::string initial_g;
  double epsilon = 0;

  /// Whether each client has its own version of some file, or of that one of C, X, Y, a, b and initial_g.
  [[nodiscard]] bool in_parts() const;
  [[nodiscard]] bool is_own(std::string_view input) const;
  /// The names of all files for that client.
  [[nodiscard]] std::vector<std::string> paths(std::size_t client) const;
};

/// Files stay mapped as long as the problem that refers to them. Not movable: members refer to each other.
struct Inputs {
  std::vector<NumberTable> tables;  // costs or points
  std::vector<double> x;            // centres of pixels
  std::vector<double> y;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> initial_g;
  std::optional<ImageShapes> images;
  Problem problem;
};

/// Opens that client's files; without costs unless with_cost (clients of a star need none). Throws InputError.
[[nodiscard]] std::unique_ptr<Inputs> open_inputs(const InputFiles& files, std::size_t client, bool with_cost);

}  // namespace fedsinkhorn
