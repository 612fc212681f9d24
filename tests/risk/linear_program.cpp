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

}  // namespace

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
