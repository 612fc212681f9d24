// A program that has MPI before the library comes, and after it has gone. Run under mpirun:
//   comm-mpi-guest solve    starts MPI with room for threads: sessions solve, and leave it as it was
//   comm-mpi-guest single   starts it without: a session is refused, with one line
// Ends with status 0 if all was as it should be.
#include <fmt/format.h>
#include <mpi.h>

#include <cmath>
#include <memory>
#include <string_view>

#include "fedsinkhorn/error.hpp"
#include "fedsinkhorn/solve.hpp"
#include "registry/registry.hpp"
#include "support/problems.hpp"

namespace fedsinkhorn {
namespace {

void expect(bool is_so, const char* what) {
  if (is_so) return;
  fmt::print(stderr, "comm-mpi-guest: {}\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int rank_in_world() {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// A sum over all ranks, by MPI itself.
void expect_mpi_works() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int sum = 0;
  const int one = 1;
  expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size,
         "MPI does not work any more");
}

void solve_as_guest() {
  const auto owned = testing::random_problem(20, 30, 0.1, 1);
  Options options;
  options.threads = 1;
  options.tolerance = 1e-12;
  const Result alone = solve(owned.view(), options);
  for (const char* topology : {"row-reduce", "star", "async"}) {
    options.topology = topology;
    Session session("mpi", 60);
    expect(session.rank() == static_cast<std::size_t>(rank_in_world()), "a session has another rank than its process");
    expect_mpi_works();
    for (int time = 0; time < 2; ++time) {
      const Result result = solve(owned.view(), options, session);
      expect(result.status == Status::converged && result.transport == "mpi", "a session did not solve");
      expect(std::abs(result.cost.linear - alone.cost.linear) < 1e-9, "a session solved something else");
    }
  }
}

/// In a session of its own, with the class of that name.
void solve_by_its_old_name() {
  const auto owned = testing::random_problem(5, 5, 0.5, 2);
  MpiSession session;
  expect(solve(owned.view(), {}, session).status == Status::converged, "MpiSession did not solve");
}

class KeepsSlices final : public PayloadPolicy {
 public:
  void check(const Departure& message) override {
    if (message.kind == Payload::slice) throw InputError("--policy", "slices stay here");
  }
};

/// One client's policy ends the solve of all, at once. MPI goes on.
void end_by_a_policy() {
  policies().add({"one-sided", "the last client keeps its slices", []() -> std::unique_ptr<PayloadPolicy> {
                    if (rank_in_world() == 2) return std::make_unique<KeepsSlices>();
                    return std::make_unique<TablePolicy>("open", kOpen, true);
                  }});
  const auto owned = testing::random_problem(20, 30, 0.1, 1);
  Options options;
  options.policy = "one-sided";
  options.topology = "star";
  Session session("mpi", 60);
  const double start = MPI_Wtime();
  try {
    (void)solve(owned.view(), options, session);
  } catch (const InputError& error) {
    expect(std::string_view(error.what()) == "--policy: slices stay here", error.what());
    expect(MPI_Wtime() - start < 30, "the others have waited for a slice that was kept");
    return;
  }
  expect(false, "a slice left that was to be kept");
}

void be_refused() {
  int provided = MPI_THREAD_MULTIPLE;
  MPI_Query_thread(&provided);
  if (provided != MPI_THREAD_SINGLE) return;  // this MPI gives more than it is asked for
  try {
    const Session session("mpi", 60);
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    expect(line.find("MPI_THREAD_FUNNELED") != line.npos && line.find('\n') == line.npos, error.what());
    return;
  }
  expect(false, "a session was made without room for threads");
}

}  // namespace
}  // namespace fedsinkhorn

int main(int argc, char** argv) {
  const bool solves = argc == 2 && std::string_view(argv[1]) == "solve";
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, solves ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE, &provided);
  if (solves) {
    fedsinkhorn::solve_as_guest();
    fedsinkhorn::solve_by_its_old_name();
    fedsinkhorn::end_by_a_policy();
  } else {
    fedsinkhorn::be_refused();
  }
  fedsinkhorn::expect_mpi_works();
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}
