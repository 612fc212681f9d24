// A topology in one file: every client holds its rows, and every client learns the whole of K' u.
#include <gtest/gtest.h>

#include <algorithm>

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
  // An allreduce is a sum over even parts, each of which is then gathered.
  [[nodiscard]] Sent sent_each_round(std::size_t targets) const override {
    const std::size_t numbers = targets * columns_.whole_size();
    const std::size_t clients = clients_.size();
    Sent all = columns_.sent_to_gather(targets, targets * kNoteNumbers);
    for (std::size_t k = 0; k < clients; ++k) {
      const std::size_t part = numbers / clients + (k < numbers % clients ? 1 : 0);
      all = all + (k == clients_.rank() ? sent(clients - 1, part) : sent(1, part));
    }
    return all;
  }

 private:
  const Norm norm_;
  Collectives clients_;
  std::size_t own_rows_;
  SliceGroup columns_;
};

[[maybe_unused]] const bool kIsRegistered = [] {
  topologies().add(
      {.name = "everybody-adds",
       .layout = [](std::size_t client, std::size_t clients, const Options&) { return own_rows(client, clients); },
       .exchanges = [](const TopologyContext& context) -> std::unique_ptr<Exchanges> {
         return std::make_unique<EverybodyAdds>(context);
       }});
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
