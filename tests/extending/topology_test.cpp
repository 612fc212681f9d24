// A topology in one file: every client holds its rows, and every client learns the whole of K' u.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "fedsinkhorn/solve.hpp"
#include "support/problems.hpp"
#include "support/stated.hpp"
#include "topology/slice_group.hpp"

namespace fedsinkhorn {
namespace {

class EverybodyAdds final : public Exchanges {
 public:
  explicit EverybodyAdds(const TopologyContext& context)
      : norm_(context.options.norm),
        clients_(context.clients),
        own_rows_(context.problem.n()),
        columns_(clients_, sizes_of(context.problem.columns.slices)) {}

  [[nodiscard]] Known rows() const override { return {own_rows_, {0, own_rows_}}; }
  [[nodiscard]] Known columns() const override { return {columns_.whole_size(), columns_.own_slice()}; }

  void columns_in(Payload kind, std::size_t targets, const double* own, double* known, std::span<Note> notes) override {
    columns_.gather(kind, targets, own, known, norm_, notes);
  }
  void rows_in(Payload /*kind*/, std::size_t targets, const double* own, double* known) override {
    std::copy_n(own, targets * own_rows_, known);
  }
  void rows_out(Payload /*kind*/, std::size_t targets, const double* part, double* own) override {
    std::copy_n(part, targets * own_rows_, own);
  }
  void columns_out(Payload kind, std::size_t targets, const double* part, const double* /*v*/, double* own) override {
    std::vector<double> sums(part, part + targets * columns_.whole_size());
    clients_.of(kind).allreduce(sums);
    const Range slice = columns_.own_slice();
    for (std::size_t k = 0; k < targets; ++k) {
      std::copy_n(sums.data() + k * columns_.whole_size() + slice.first, slice.size(), own + k * slice.size());
    }
  }
  [[nodiscard]] std::optional<std::vector<double>> column_summands(Payload kind, std::size_t targets,
                                                                   const double* part) override {
    return columns_.summands(kind, targets, part);
  }
  [[nodiscard]] bool rows_stay() const override { return true; }
  [[nodiscard]] std::uint64_t each_round() const override { return clients_.size() > 1 ? 1 : 0; }

 private:
  const Norm norm_;
  Collectives clients_;
  std::size_t own_rows_;
  SliceGroup columns_;
};

// An allreduce is a sum over even parts, each of which is then gathered.
Round round(const RoundShape& shape) {
  const std::size_t columns = std::accumulate(shape.columns.begin(), shape.columns.end(), std::size_t{0});
  std::vector<std::size_t> parts(shape.clients(), shape.targets * columns / shape.clients());
  for (std::size_t k = 0; k < shape.targets * columns % shape.clients(); ++k) ++parts[k];
  Round round;
  round.exchanges = {sum_exchange(parts, shape.client, 1), gather_exchange(parts, shape.client, 1)};
  add_gather(round.exchanges, shape.columns, shape.client, shape.targets, shape.targets * shape.note_numbers);
  round.work = work_of(shape, own_rows(shape.client, shape.clients()), true);
  return round;
}

[[maybe_unused]] const bool kIsRegistered = [] {
  topologies().add(
      {.name = "everybody-adds",
       .layout = [](std::size_t client, std::size_t clients, const Options&) { return own_rows(client, clients); },
       .exchanges = [](const TopologyContext& context) -> std::unique_ptr<Exchanges> {
         return std::make_unique<EverybodyAdds>(context);
       },
       .round = round});
  return true;
}();

TEST(AToyTopology, SolvesAsOneClientDoes) {
  for (const char* method : {"auto", "sinkhorn", "overrelaxed"}) {
    for (const std::size_t clients : {1, 3, 7}) {
      SCOPED_TRACE(std::string(method) + ", " + std::to_string(clients) + " clients");
      const testing::OwnedProblem owned = testing::point_problem(50, 31, 0.01, clients);
      Options options;
      options.method = method;
      const Result expected = solve(owned.view(), options);
      options.topology = "everybody-adds";
      options.clients = clients;
      const Result result = solve(owned.view(), options);
      EXPECT_EQ(result.status, Status::converged);
      EXPECT_EQ(result.topology, "everybody-adds");
      EXPECT_NEAR(result.cost.objective, expected.cost.objective, 1e-9);
    }
  }
}

TEST(AToyTopology, SendsWhatItStates) {
  for (const std::size_t columns : {2, 31}) {
    const testing::OwnedProblem owned = testing::point_problem(20, columns, 0.05, 6);
    for (const std::size_t clients : {1, 4, 7}) {
      Options options;
      options.topology = "everybody-adds";
      options.clients = clients;
      testing::expect_rounds_as_stated(owned.view(), options);
    }
  }
}

TEST(AToyTopology, TakesLocalSteps) {
  const testing::OwnedProblem owned = testing::point_problem(40, 40, 0.05, 5);
  Options options;
  options.topology = "everybody-adds";
  options.clients = 4;
  options.local_steps = 3;
  EXPECT_EQ(solve(owned.view(), options).status, Status::converged);
}

}  // namespace
}  // namespace fedsinkhorn
