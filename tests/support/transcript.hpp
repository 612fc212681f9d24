// What clients send in a solve, message by message.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "comm/forwarding.hpp"
#include "fedsinkhorn/options.hpp"
#include "fedsinkhorn/problem.hpp"
#include "fedsinkhorn/result.hpp"

namespace fedsinkhorn::testing {

template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

struct Message {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t order = 0;         ///< among all that the sender sends, from 0 on
  Tag tag = Tag::control;        ///< of a group of clients: more than kTags
  Payload kind = Payload::text;  ///< as sent
  Form form = Form::plain;       ///< as sent
  std::vector<std::byte> bytes;  ///< without the MessageHeader
};

/// Sender by sender, each in the order of sending. The same in every run of a topology whose clients wait for each
/// other, except for times and sizes of memory in reports.
using Transcript = std::vector<Message>;

/// Those sent by `from` to `to`.
[[nodiscard]] Transcript between(const Transcript& messages, std::size_t from, std::size_t to);
/// Those sent by `from` to anybody.
[[nodiscard]] Transcript sent_by(const Transcript& messages, std::size_t from);

/// Goes below a NumberingCommunicator, so it sees all that leaves. With a server, messages have no number: header_bytes
/// is 0 then.
///
/// Clients on threads count as separate processes here: that is the case where privacy matters, and some results stay
/// where they are only then (Options::keep_local).
class RecordingCommunicator final : public ForwardingCommunicator {
 public:
  /// Both must outlive this. Other clients write to other transcripts.
  RecordingCommunicator(Communicator& inner, Transcript& into, std::size_t header_bytes)
      : ForwardingCommunicator(inner), into_(into), header_bytes_(header_bytes) {}

  [[nodiscard]] bool shares_process() const override { return false; }
  [[nodiscard]] std::unique_ptr<Pending> start_send(std::span<const std::byte> data, std::size_t to,
                                                    Label label) override;

 private:
  Transcript& into_;
  const std::size_t header_bytes_;
};

struct Recording {
  Transcript messages;
  std::vector<Result> results;  ///< of each client
};

/// Solves on threads, one per client, with one problem per client, and one for the server if there is one. Throws what
/// the solve throws. What the server sends is not recorded: it has nothing of its own.
[[nodiscard]] Recording record_solve(std::span<const Problem> problems, const Options& options);

}  // namespace fedsinkhorn::testing
