#include "mechanism/tapped.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "comm/alone.hpp"
#include "problem/private_problem.hpp"
#include "registry/registry.hpp"
#include "solve/choose_backend.hpp"

namespace fedsinkhorn::testing {
namespace {

class Recorder final : public ReleaseTap {
 public:
  explicit Recorder(const Releases* past) : past_(past) {}

  void at_release(std::span<const double> clean, std::span<double> released) override {
    if (past_ != nullptr) std::ranges::copy(past_->at(seen_.size()).released, released.begin());
    seen_.push_back({{clean.begin(), clean.end()}, {released.begin(), released.end()}});
  }
  [[nodiscard]] const Releases& seen() const { return seen_; }

 private:
  const Releases* past_;
  Releases seen_;
};

// The steps of solve_privately (src/solve/private_solve.cpp), with a tap.
Tapped run(const Problem& problem, const Options& options, std::uint64_t seed, const Releases* past) {
  const MechanismEntry& mechanism = mechanisms().find(options.mechanism, "`mechanism`");
  const TopologyEntry& topology = topologies().find(options.topology, "`topology`");
  Alone communicator;
  const Collectives clients(communicator);
  const LayoutOf layout_of = [&](std::size_t client) { return topology.layout(client, 1, options); };
  const CheckedProblem checked =
      check_private_problem(problem, options, layout_of, clients, 1, mechanism.public_columns);
  Options effective = options;
  effective.kernel = KernelKind::online;
  effective.backend = "cpu";
  const KernelOnBackend* kernel = kernels().find("online", "`kernel`").on("cpu");
  const BlockSettings blocks{KernelSpec{.threads = 1}, cpu::simd(options.simd), kernel->make, kernel->make, -1,
                             checked.targets};
  const TopologyContext context{checked, effective, clients, blocks};
  Topology iteration(context, topology.exchanges(context));
  iteration.set_epsilon(checked.epsilon);
  const StopRequest stop(options.interrupt);
  SeededBits random(seed, 0);
  Recorder recorder(past);
  Tapped tapped;
  tapped.outcome = mechanism.run(
      {checked, options, iteration, false, stop, random, [](std::int64_t, std::int64_t, double) {}, &recorder});
  tapped.releases = recorder.seen();
  return tapped;
}

}  // namespace

Options alone_with(const std::string& mechanism, double noise, std::size_t releases) {
  Options options;
  options.policy = "private";
  options.mechanism = mechanism;
  options.topology = mechanism == "marginal" ? "centralized" : "all-to-all";
  options.noise = noise;
  options.releases = releases;
  options.threads = 1;
  options.tolerance = 0;
  return options;
}

Tapped record(const Problem& problem, const Options& options, std::uint64_t seed) {
  return run(problem, options, seed, nullptr);
}

Tapped replay(const Problem& problem, const Options& options, const Releases& past) {
  return run(problem, options, 1, &past);
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() != y.size()) throw std::logic_error("releases of different sizes");
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

}  // namespace fedsinkhorn::testing
