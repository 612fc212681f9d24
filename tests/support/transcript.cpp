#include "support/transcript.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "comm/numbering.hpp"
#include "comm/sum_server.hpp"
#include "comm/transports.hpp"
#include "solve/client_solve.hpp"
#include "solve/link.hpp"
#include "support/repeatable_random.hpp"

namespace fedsinkhorn::testing {
namespace {

template <class Wanted>
Transcript those(const Transcript& messages, const Wanted& is_wanted) {
  Transcript chosen;
  std::ranges::copy_if(messages, std::back_inserter(chosen), is_wanted);
  return chosen;
}

}  // namespace

Transcript between(const Transcript& messages, std::size_t from, std::size_t to) {
  return those(messages, [&](const Message& message) { return message.from == from && message.to == to; });
}

Transcript sent_by(const Transcript& messages, std::size_t from) {
  return those(messages, [&](const Message& message) { return message.from == from; });
}

std::unique_ptr<Pending> RecordingCommunicator::start_send(std::span<const std::byte> data, std::size_t to,
                                                           Label label) {
  const auto payload = data.subspan(std::min(header_bytes_, data.size()));
  into_.push_back({rank(), to, into_.size(), label.tag, label.kind, label.form, {payload.begin(), payload.end()}});
  return inner().start_send(data, to, label);
}

Recording record_solve(std::span<const Problem> problems, const Options& options) {
  std::vector<Transcript> transcripts(problems.size());
  Recording recording;
  recording.results.resize(problems.size());
  const bool is_served = has_server(options);
  run_on_threads(problems.size() + (is_served ? 1 : 0), Seconds(options.timeout), [&](Communicator& communicator) {
    const std::size_t me = communicator.rank();
    if (me == problems.size()) return serve_sums(communicator);
    draw_as_client(me);
    RecordingCommunicator recorder(communicator, transcripts[me], is_served ? 0 : sizeof(MessageHeader));
    std::optional<ServerLease> lease;
    if (is_served) lease.emplace(recorder);
    recording.results[me] = solve_as_client(problems[me], options, recorder);
  });
  for (const Transcript& of_client : transcripts) {
    recording.messages.insert(recording.messages.end(), of_client.begin(), of_client.end());
  }
  return recording;
}

}  // namespace fedsinkhorn::testing
