// From files to a problem.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fedsinkhorn/npy.hpp"
#include "fedsinkhorn/problem.hpp"

namespace fedsinkhorn {

/// Whether "{client}" is in a path as it was typed: each client has one of its own.
[[nodiscard]] bool is_part(const std::string& path);
/// That client's.
[[nodiscard]] std::string of_client(std::string path, std::size_t client);

/// As they were typed. "{client}" in a name stands for the number of the client: each has a file of its own.
struct InputFiles {
  std::string cost;
  std::vector<std::string> points;
  std::string metric;  // empty: the default
  std::string a;
  std::string b;
  std::string initial_g;
  double epsilon = 0;

  /// Whether some file is a client's own.
  [[nodiscard]] bool in_parts() const;
  /// Names of all files, that client's where each has one.
  [[nodiscard]] std::vector<std::string> paths(std::size_t client) const;
};

/// Files stay mapped as long as the problem that refers to them. Not movable: parts refer to each other.
struct Inputs {
  std::vector<NpyFile> files;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> initial_g;
  Problem problem;
};

/// Opens that client's files. with_cost: else the costs stay out (a client of a star needs none). Throws InputError.
[[nodiscard]] std::unique_ptr<Inputs> open_inputs(const InputFiles& files, std::size_t client, bool with_cost);

}  // namespace fedsinkhorn
