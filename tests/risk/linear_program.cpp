#include "risk/linear_program.hpp"

#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

namespace fedsinkhorn::testing {
namespace {

struct Deleter {
  void operator()(glp_prob* program) const { glp_delete_prob(program); }
};

/// Columns are added one by one, each with its few coefficients.
class Program {
 public:
  Program() : program_(glp_create_prob()) { glp_set_obj_dir(program_.get(), GLP_MAX); }

  int add_row(int kind, double bound) {
    const int row = glp_add_rows(program_.get(), 1);
    glp_set_row_bnds(program_.get(), row, kind, bound, bound);
    return row;
  }
  void add_column(double gain, std::vector<int> rows, std::vector<double> coefficients) {
    const int column = glp_add_cols(program_.get(), 1);
    glp_set_col_bnds(program_.get(), column, GLP_LO, 0, 0);
    glp_set_obj_coef(program_.get(), column, gain);
    const auto count = static_cast<int>(rows.size());
    rows.insert(rows.begin(), 0);  // GLPK counts from 1
    coefficients.insert(coefficients.begin(), 0);
    glp_set_mat_col(program_.get(), column, count, rows.data(), coefficients.data());
  }
  [[nodiscard]] double solve() {
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_ERR;
    how.tol_bnd = how.tol_dj = 1e-10;
    if (glp_simplex(program_.get(), &how) != 0 || glp_get_status(program_.get()) != GLP_OPT) {
      throw std::runtime_error("the linear program has not been solved");
    }
    return glp_get_obj_val(program_.get());
  }

 private:
  std::unique_ptr<glp_prob, Deleter> program_;
};

/// The dual at lambda, and whether it falls there.
struct DualValue {
  Wide value = 0;
  bool falls = false;
};

DualValue dual_at(const WideProblem& problem, Wide radius, Wide lambda) {
  DualValue at{lambda * radius};
  Wide spent = 0;
  for (std::size_t i = 0; i < problem.n; ++i) {
    if (problem.a[i] == 0) continue;
    Wide most = -INFINITY;
    Wide cost = 0;
    for (std::size_t k = i * problem.m; k < (i + 1) * problem.m; ++k) {
      if (!std::isfinite(problem.costs[k])) continue;
      const Wide tilted = problem.losses[k] - lambda * problem.costs[k];
      if (tilted < most || (tilted == most && problem.costs[k] >= cost)) continue;
      most = tilted;
      cost = problem.costs[k];
    }
    at.value += problem.a[i] * most;
    spent += problem.a[i] * cost;
  }
  at.falls = spent > radius;
  return at;
}

}  // namespace

double dual_program(const WideProblem& problem) {
  const Wide radius = std::max(problem.radius, least_radius(problem) * (1 + 1e-15L));  // it must leave a plan
  const DualValue free = dual_at(problem, radius, 0);
  Wide least = free.value;
  Wide low = free.falls ? -200 : 200;
  Wide high = 200;
  while (low < (low + high) / 2 && (low + high) / 2 < high) {
    const Wide middle = (low + high) / 2;
    const DualValue at = dual_at(problem, radius, std::exp(middle));
    least = std::min(least, at.value);
    (at.falls ? low : high) = middle;
  }
  return static_cast<double>(least);
}

double linear_program(const WideProblem& problem) {
  const auto kept = static_cast<double>(1 - problem.level);
  Program program;
  const int spent = program.add_row(GLP_UP, static_cast<double>(problem.radius));
  const int tail = program.add_row(GLP_FX, 1);
  for (std::size_t i = 0; i < problem.n; ++i) {
    const int day = program.add_row(GLP_FX, static_cast<double>(problem.a[i]));
    double least = INFINITY;
    for (std::size_t j = 0; j < problem.m; ++j) {
      const auto cost = static_cast<double>(problem.costs[i * problem.m + j]);
      least = std::min(least, cost);
      if (!std::isfinite(cost)) continue;
      const auto loss = static_cast<double>(problem.losses[i * problem.m + j]);
      program.add_column(loss, {day, spent, tail}, {kept, kept * cost, 1});  // Q; P = kept Q + the rest
    }
    // What is not in the tail goes where it costs least.
    if (problem.level > 0) program.add_column(0, {day, spent}, {1, least});
  }
  return program.solve();
}

}  // namespace fedsinkhorn::testing
