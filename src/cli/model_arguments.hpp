// The options that `predict` and `plan` share: a profile and a solve that is not run.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

#include "fedsinkhorn/cost_model.hpp"

namespace fedsinkhorn {

struct ModelArguments {
  std::string profile;
  std::size_t rows = 0;
  std::size_t columns = 0;  ///< 0: as many as rows
  std::size_t targets = 1;
  std::size_t clients = 1;
  std::size_t dimension = 2;
  std::size_t per_machine = 0;
  std::int64_t iterations = 0;
  double tolerance = 1e-9;
  double relative_epsilon = 0.01;
  std::string policy = "open";
  std::string server = "none";
  std::string mechanism = "marginal";
  std::string method = "auto";
  int threads = 0;
  bool is_matrix = false;
  std::string format = "table";
};

void add_model_options(CLI::App& command, ModelArguments& arguments);
/// Without topology, kernel and precision. Throws InputError naming the flag.
[[nodiscard]] SolveShape shape_of(const ModelArguments& arguments);

/// "1.2 GB", of bytes in a prediction.
[[nodiscard]] std::string predicted_bytes(double bytes);

}  // namespace fedsinkhorn
