#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/secure_sums.hpp"
#include "core/stopwatch.hpp"
#include "costmodel/calibrate.hpp"
#include "costmodel/fit.hpp"
#include "registry/registry.hpp"
#include "topology/note.hpp"

namespace fedsinkhorn {
namespace {

constexpr std::array<std::size_t, 6> kNumbers = {64, 512, 4096, 16384, 65536, 262144};  ///< of the vectors exchanged
constexpr int kBatches = 9;

/// Before every exchange, as in an iteration: whoever waits has stopped expecting an answer at once, and not all are
/// done at the same time.
constexpr double kWork = 100e-6;
void work() {
  const Timer timer;
  while (timer.seconds() < kWork) {
  }
}

/// Times batches of the same exchange; the slowest client counts.
class ExchangeMeter {
 public:
  explicit ExchangeMeter(Communicator& group) : clients_(group) {}

  /// Points of seconds over bytes, one for each batch.
  template <class Verb>
  void measure(double bytes, const Verb& verb, std::vector<TimedBytes>& points) {
    const int repeats = bytes > 1e5 ? 4 : bytes > 1e4 ? 16 : 40;
    for (int batch = -1; batch < kBatches; ++batch) {
      clients_.barrier();
      const Timer timer;
      for (int k = 0; k < repeats; ++k) {
        work();
        verb();
      }
      const std::vector<double> all = clients_.of(Payload::control).allgather_numbers(std::array{timer.seconds()});
      if (batch >= 0) points.push_back({bytes, std::max(*std::ranges::max_element(all) / repeats - kWork, 1e-8)});
    }
  }

 private:
  Collectives clients_;
};

/// What exchanges need to know of a problem.
CheckedProblem stand_in(const TopologyEntry& topology, const Communicator& group, std::size_t lines) {
  CheckedProblem problem;
  problem.client = group.rank();
  problem.clients = group.size();
  problem.layout = topology.layout(group.rank(), group.size(), {});
  for (Side* side : {&problem.rows, &problem.columns}) {
    side->given = side->hidden = lines;
    for (std::size_t k = 0; k < group.size(); ++k) side->slices.push_back(chunk_range(lines, group.size(), k));
    side->given_slices = side->slices;
  }
  problem.a.resize(problem.own_rows().size(), 1.0);
  return problem;
}

/// One topology's exchanges of vectors of one size.
class ExchangeCase {
 public:
  ExchangeCase(const char* topology, Communicator& group, SecureSums* sums, std::size_t lines)
      : entry_(topologies().find(topology, "`topology`")),
        problem_(stand_in(entry_, group, lines)),
        clients_(group, entry_.route, std::nullopt, sums),
        exchanges_(entry_.exchanges({problem_, options_, clients_, settings_})),
        own_(lines, 1.0),
        known_(lines, 1.0),
        v_(lines, 1.0 / static_cast<double>(lines)) {}

  void columns_in() { exchanges_->columns_in(Payload::slice, 1, own_.data(), known_.data(), {}); }
  void rows_in() { exchanges_->rows_in(Payload::slice, 1, own_.data(), known_.data()); }
  void rows_out() { exchanges_->rows_out(Payload::slice, 1, known_.data(), own_.data()); }
  void columns_out() { exchanges_->columns_out(Payload::slice, 1, known_.data(), v_.data(), own_.data()); }

 private:
  const Options options_{};
  const BlockSettings settings_{{}, cpu::simd("auto"), nullptr, nullptr};
  const TopologyEntry& entry_;
  const CheckedProblem problem_;
  const Collectives clients_;
  const std::unique_ptr<Exchanges> exchanges_;
  std::vector<double> own_, known_, v_;
};

class ExchangeMeasurement {
 public:
  ExchangeMeasurement(Communicator& group, const std::function<void(const std::string& what)>& step,
                      std::vector<ExchangeTime>& times)
      : group_(group), step_(step), times_(times), meter_(group) {}

  /// Measures verb(case) for vectors of all sizes.
  template <class Verb>
  void over_sizes(Exchange exchange, const char* topology, SecureSums* sums, const Verb& verb) {
    step_(fmt::format("{} among {} clients", name_of(exchange), group_.size()));
    std::vector<TimedBytes> points;
    for (const std::size_t numbers : kNumbers) {
      ExchangeCase one(topology, group_, sums, numbers);
      const std::size_t unit = sums != nullptr ? sizeof(Word) : sizeof(double);
      meter_.measure(
          static_cast<double>(numbers * unit), [&] { verb(one); }, points);
    }
    keep(exchange, points);
  }

  void broadcasts() {
    step_(fmt::format("broadcast among {} clients", group_.size()));
    std::vector<TimedBytes> points;
    const Collectives clients = Collectives(group_, Route::through_root).of(Payload::note);
    for (const std::size_t numbers : {std::size_t{8}, std::size_t{64}, std::size_t{512}, std::size_t{4096}}) {
      std::vector<double> data(numbers);
      meter_.measure(
          static_cast<double>(numbers * sizeof(double)),
          [&] { clients.broadcast(std::as_writable_bytes(std::span(data)), 0); }, points);
    }
    keep(Exchange::broadcast, points);
  }

  /// A message from client 0 to client 1 and back; half of that is a link.
  LinkModel links() {
    step_("a link");
    std::vector<TimedBytes> points;
    const Label label{Tag::slice, Payload::slice};
    for (const std::size_t numbers : kNumbers) {
      std::vector<double> data(numbers);
      const auto bytes = std::as_writable_bytes(std::span(data));
      const auto there_and_back = [&] {
        if (group_.rank() > 1) return;
        if (group_.rank() == 0) group_.send(bytes, 1, label);
        group_.receive(bytes, 1 - group_.rank(), label);
        if (group_.rank() == 1) group_.send(bytes, 0, label);
      };
      std::vector<TimedBytes> both;
      meter_.measure(static_cast<double>(bytes.size()), there_and_back, both);
      for (const TimedBytes& point : both) points.push_back({point.bytes, point.seconds / 2});
    }
    const LineFit fit = fit_line(points);
    LinkModel links;
    links.latency = fit.alpha;
    links.bandwidth = 1 / std::max(fit.beta, 1e-14);
    return links;
  }

 private:
  void keep(Exchange exchange, const std::vector<TimedBytes>& points) {
    const LineFit fit = fit_line(points);
    times_.push_back({std::string(name_of(exchange)), group_.size(), fit.alpha, fit.beta, fit.r_squared,
                      fit.alpha_error, fit.beta_error, points.size(), points.back().bytes});
  }

  Communicator& group_;
  const std::function<void(const std::string& what)>& step_;
  std::vector<ExchangeTime>& times_;
  ExchangeMeter meter_;
};

}  // namespace

void measure_exchanges(Communicator& group, const CalibrationPlan& plan,
                       const std::function<void(const std::string& what)>& step, std::vector<ExchangeTime>& times,
                       LinkModel& links) {
  ExchangeMeasurement measurement(group, step, times);
  measurement.over_sizes(Exchange::gather, "all-to-all", nullptr, [](ExchangeCase& one) { one.rows_in(); });
  measurement.over_sizes(Exchange::sum, "row-reduce", nullptr, [](ExchangeCase& one) { one.columns_out(); });
  measurement.over_sizes(Exchange::collect, "star", nullptr, [](ExchangeCase& one) { one.rows_in(); });
  measurement.over_sizes(Exchange::deal, "star", nullptr, [](ExchangeCase& one) { one.rows_out(); });
  measurement.broadcasts();
  if (group.size() == 2) links = measurement.links();
  if (!plan.with_secure_sums) return;
  SecureSums sums(make_peer_summing(group));
  measurement.over_sizes(Exchange::secure_sum, "row-reduce", &sums, [](ExchangeCase& one) { one.columns_out(); });
}

}  // namespace fedsinkhorn
